"""Rows of a log, as a file or an engine has them, as impressions: keys, and lists side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.ragged import lengths, offsets_of, with_entries
from ndcg_spark.arrays.xxhash import xxhash64
from ndcg_spark.clicks.dates_kernel import dates
from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Ints, rows_of
from ndcg_spark.tables import casts_kernel as casts

# what an impression may have, beside events and segment columns
KEYS = (
    "impression_id", "event_ts", "event_date", "query_id", "user_id", "arm", "is_bot", "propensity",
)  # fmt: skip
ITEMS = ("doc_id", "rank", "dwell_s", "team")
LISTS = ("ranks", "doc_ids", "dwell", "teams")  # of IMPRESSIONS, beside the events
NESTED, CLICKED = "results", "clicked_ids"
ALL_ARMS = "all"
KINDS = {
    "is_bot": "boolean",
    "bucket": "int",
    "user_id": "bigint",
    "propensity": "double",
}  # of keys that are no text
Where = Callable[[str], str]  # names a column of ours in an error
Convert = Callable[[pa.Array, str], pa.Array]


@dataclass(frozen=True)
class Shape:
    """How a log names things: our name -> its column; and what it is asked for.

    A log has either `results` (a list of structs with rank, doc_id and the events), or lists side
    by side (doc_id, rank, dwell_s and the events are lists; or `clicked_ids` lists the documents
    that were clicked), or one row a result (rank is a number).
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    gains: Gains = field(default_factory=Gains)
    segments: tuple[str, ...] = ()
    buckets: int = 1000
    timezone: str = "UTC"

    def own(self, name: str) -> str:
        """The log's name for one of our columns."""
        return self.columns.get(name, name)

    def with_segments(self, segments: tuple[str, ...]) -> Shape:
        """The same shape with these segment columns."""
        return dataclasses.replace(self, segments=segments)

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.gains.events)


@dataclass(frozen=True)
class Log:
    """What a task must know of a log.

    kind: results, lists, or long (one row a result)
    has: our names of the columns that it has, keys and segments; items: those of what was shown
    days: the only ones wanted, as 2026-11-29; none: all
    wanted: the columns of IMPRESSIONS to make
    """

    shape: Shape
    kind: str
    has: tuple[str, ...]
    items: tuple[str, ...]
    days: tuple[str, ...]
    wanted: tuple[str, ...]

    @property
    def read(self) -> tuple[str, ...]:
        """Our names of the columns that have to be read for what is wanted."""
        own = {
            "event_date": ("event_date",) if "event_date" in self.has else ("event_ts",),
            "bucket": ("user_id", "impression_id"), "ranks": ("rank",), "doc_ids": ("doc_id",),
            "dwell": ("dwell_s",), "teams": ("team",),
            "n_not_shown": (CLICKED, "doc_id") if self.by_ids else (),
            **({self.shape.events[0]: (CLICKED, "doc_id")} if self.by_ids else {}),
        }  # fmt: skip
        names = [
            name for column in ("event_date", *self.wanted) for name in own.get(column, (column,))
        ]
        return tuple(name for name in dict.fromkeys(names) if name in (*self.has, *self.items))

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists of IMPRESSIONS that patterns are read from."""
        known = {"ranks": "rank", "dwell": "dwell_s"}
        return (*self.shape.events, *(own for own, name in known.items() if name in self.items))

    @property
    def every(self) -> tuple[str, ...]:
        """All columns of IMPRESSIONS."""
        keys = ("event_date", "arm", "is_bot", "bucket", "query_id", "user_id")
        every = (*keys, *self.shape.segments, *self.lists, "doc_ids", "n_not_shown")
        return tuple(dict.fromkeys(every))

    @property
    def by_ids(self) -> bool:
        """Whether clicks are listed by the ids of what was clicked."""
        return CLICKED in self.items

    def schema(self) -> str:
        """IMPRESSIONS as the log has it, for an engine; of a long log with a number for a list."""
        kinds = {
            **KINDS, "n_not_shown": "bigint", "ranks": "bigint", "dwell": "double",
            **dict.fromkeys(self.shape.events, "double"),
        }  # fmt: skip
        lists = () if self.kind == "long" else (*LISTS, *self.shape.events)
        own = {name: kinds.get(name, "string") for name in self.wanted}
        return ", ".join(
            f"`{name}` {f'array<{kind}>' if name in lists else kind}" for name, kind in own.items()
        )


def impressions(rows: pa.RecordBatch, log: Log, where: Where) -> pa.RecordBatch:
    """IMPRESSIONS(…), the columns that the log wants, of its rows by our names.

    Raises:
        InputError: E112 for a column of the wrong type, or a value that does not fit; E140 for
            clicked_ids that are text where doc_id is a number, or the reverse.
    """
    day = dates(rows, log.shape.timezone, where)
    if log.days:
        kept = pc.is_in(day, value_set=pa.array(log.days, pa.string()))
        if not pc.all(kept).as_py():
            rows, day = rows.filter(kept), day.filter(kept)
    made = {"event_date": day, **_keys(rows, log, where), **_items(rows, log, where)}
    return pa.record_batch({name: made[name] for name in log.wanted})


def _keys(rows: pa.RecordBatch, log: Log, where: Where) -> dict[str, pa.Array]:
    """The wanted columns that are no lists."""
    wanted = set(log.wanted)

    def text(name: str, default: str | None = None) -> pa.Array:
        if name not in rows.schema.names:
            return pa.repeat(pa.scalar(default, pa.string()), len(rows))
        found = casts.text(rows.column(name), where(name))
        return found if default is None else found.fill_null(default)

    found = {name: text(name, "null") for name in log.shape.segments if name in wanted}
    found |= {name: text(name) for name in ("query_id", "impression_id") if name in wanted}
    if "arm" in wanted:
        found["arm"] = text("arm", ALL_ARMS)
    if "is_bot" in wanted:
        there = "is_bot" in rows.schema.names
        bot = casts.truth(rows.column("is_bot"), where("is_bot")) if there else _all(rows, False)
        found["is_bot"] = bot.fill_null(False)
    if "propensity" in wanted:
        found["propensity"] = casts.number(rows.column("propensity"), where("propensity"))
    if {"bucket", "user_id"} & wanted:
        user = text("user_id")
        hashes = xxhash64(pc.coalesce(user, text("impression_id"), pa.scalar("")))
        found["bucket"] = pa.array((hashes % log.shape.buckets).astype(np.int32))
        if "user_id" in wanted:
            found["user_id"] = pa.array(hashes, mask=user.is_null().to_numpy(False))
    return found


def _all(rows: pa.RecordBatch, value: object) -> pa.Array:
    return pa.repeat(value, len(rows))


def _items(rows: pa.RecordBatch, log: Log, where: Where) -> dict[str, pa.Array]:
    """The wanted lists, and n_not_shown."""
    every = _single if log.kind == "long" else listed
    kinds: dict[str, tuple[str, Convert]] = {
        "ranks": ("rank", casts.place), "doc_ids": ("doc_id", casts.whole_text),
        "dwell": ("dwell_s", casts.number), "teams": ("team", casts.text),
        **{name: (name, casts.number) for name in log.shape.events},
    }  # fmt: skip
    found = {
        own: every(rows.column(name), convert, where(name))
        for own, (name, convert) in kinds.items()
        if own in log.wanted and name in log.items
    }
    if "doc_ids" in log.wanted and "doc_ids" not in found:
        found["doc_ids"] = pa.nulls(
            len(rows), pa.string() if log.kind == "long" else pa.list_(pa.string())
        )
    first = log.shape.events[0]
    if not log.by_ids:
        found["n_not_shown"] = _all(rows, pa.scalar(0, pa.int64()))
    elif {first, "n_not_shown"} & set(log.wanted):
        found[first], found["n_not_shown"] = _clicked(rows, where)
    return found


def _single(column: pa.Array, convert: Convert, where: str) -> pa.Array:
    if casts.is_list(column.type):
        raise InputError("E112", f"{where} is a list, in a log with one row a result")
    return convert(column, where)


def listed(column: pa.Array, convert: Convert, where: str) -> pa.Array:
    """A list of any kind as a plain one, its entries converted; null stays null.

    Raises:
        InputError: E112 for what is no list.
    """
    if casts.is_nothing(column.type):
        return pa.nulls(len(column), pa.list_(convert(pa.nulls(0), where).type))
    if not casts.is_list(column.type):
        raise InputError("E112", f"{where} is {casts.type_name(column.type)}, not a list")
    return with_entries(column, convert(column.flatten(), where))


def _clicked(rows: pa.RecordBatch, where: Where) -> tuple[pa.Array, pa.Array]:
    """Per impression a list of 0 and 1, whether each document is among the clicked ones, and how
    many of those (an id that is null among them) were not shown."""
    docs = listed(rows.column("doc_id"), casts.whole_or_text, where("doc_id"))
    hits = listed(rows.column(CLICKED), casts.whole_or_text, where(CLICKED))
    shown, hit = docs.flatten(), hits.flatten()
    if len(shown) and len(hit) and shown.type != hit.type:
        names = [casts.type_name(kind) for kind in (hit.type, shown.type)]
        raise InputError(
            "E140",
            f"{where(CLICKED)} holds {names[0]}, but doc_id {names[1]}; both must have the same "
            "type (cast one of them, knowingly)",
        )
    row_of = [rows_of(offsets_of(lengths(lists))) for lists in (docs, hits)]
    keys = _keys_of(shown, hit, row_of)
    is_hit = np.isin(keys[0], keys[1])
    number = pc.if_else(shown.is_valid(), pa.array(is_hit.astype(np.float64)), None)
    own, first = np.unique(keys[1], return_index=True)
    missing = ~np.isin(own, keys[0])
    count = np.bincount(row_of[1][first[missing]], minlength=len(rows))
    return with_entries(docs, number), pa.array(count.astype(np.int64))


def _keys_of(shown: pa.Array, hit: pa.Array, row_of: list[Ints]) -> list[Ints]:
    """A number of every document that was shown and every one clicked: of its row and id."""
    if not len(shown):
        shown = shown.cast(hit.type)
    if not len(hit):
        hit = hit.cast(shown.type)
    ids = pa.concat_arrays([shown, hit]).dictionary_encode()
    code = ids.indices.fill_null(len(ids.dictionary)).to_numpy(zero_copy_only=False)
    row = np.concatenate(row_of)
    key = row * (len(ids.dictionary) + 1) + code
    return [key[: len(shown)], key[len(shown) :]]


@dataclass(frozen=True)
class FromTable:
    """What a kernel makes of a table's rows, which have our names."""

    log: Log
    kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = (impressions(rows, self.log, self._where) for rows in batches)
        yield from made if self.kernel is None else self.kernel(made)

    def _where(self, name: str) -> str:
        return f"impressions: {self.log.shape.own(name)}"
