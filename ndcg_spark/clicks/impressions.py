"""Impressions of any shape as one table: keys, and what was shown and clicked, as lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.errors import InputError, UsageError, nearest
from ndcg_spark.tables.segments import ALL, segment_text

# what an impression may have, beside events and segment columns
KEYS = ("impression_id", "event_ts", "event_date", "query_id", "user_id", "arm", "is_bot")
ITEMS = ("doc_id", "rank", "dwell_s", "propensity")
NESTED, CLICKED = "results", "clicked_ids"
ALL_ARMS = "all"
WITH_BOTS = "all+bots"  # the segment of all impressions, bots included


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

    def lists(self, columns: Sequence[str]) -> list[str]:
        """The lists of IMPRESSIONS that the kernel reads: events, and ranks and dwell if known."""
        events = [name for name, _ in self.gains.events]
        return [*events, *(name for name in ("ranks", "dwell") if name in columns)]


def impressions(log: DataFrame, shape: Shape, days: Sequence[str] = ()) -> DataFrame:
    """IMPRESSIONS(event_date, arm, is_bot, bucket, query_id, user_id, <segments>, ranks, doc_ids,
    <events>, dwell, n_not_shown); `ranks` and `dwell` only where the log knows them, since JVM
    Spark takes 8 us to send a list that is null.

    days: only these, as 2026-11-29

    `bucket` is a hash of the user (of the impression where there is none), the same on every
    engine, so that a user is in one bucket on all days; `user_id` is a hash too. Other ids come as
    text; a missing arm is `all`.
    A log with one row a result is gathered by impression_id: the only shape that is shuffled.

    Raises:
        InputError: E110 for missing columns, E112 for wrong types; all of them together.
    """
    names = {name.casefold(): name for name in log.columns}
    _check_columns(log, shape, names)
    kind = _kind(log, shape, names)
    date = _date(log, shape, names)
    if days:
        log = log.where(date.isin([F.lit(day).cast(_date_type(log, shape, names)) for day in days]))
    if kind == "long":
        log = _gathered(log, shape, names)
    items = _items(log, shape, kind, names)

    def text(name: str, default: str | None = None) -> Column:
        column = _column(shape.own(name), names)
        given = F.lit(None) if column is None else column
        return F.coalesce(given.cast("string"), F.lit(default).cast("string")).alias(name)

    user = F.coalesce(text("user_id"), text("impression_id"), F.lit(""))
    bot = _column(shape.own("is_bot"), names)
    return log.select(
        # a day is made into text for every row only where it is not known beforehand
        (F.lit(days[0]) if len(days) == 1 else date.cast("string")).alias("event_date"),
        text("arm", ALL_ARMS),
        (F.lit(False) if bot is None else F.coalesce(bot.cast("boolean"), F.lit(False))).alias(
            "is_bot"
        ),
        F.pmod(F.xxhash64(user), F.lit(shape.buckets)).cast("int").alias("bucket"),
        text("query_id"),
        F.when(text("user_id").isNotNull(), F.xxhash64(text("user_id")).cast("string")).alias(
            "user_id"
        ),
        *[text(name, "null") for name in shape.segments],
        *items,
    )


def narrowed(schema: T.StructType, shape: Shape, documents: bool) -> T.StructType:
    """The log's schema without the fields of a result that are not looked at.

    documents: whether the ids of what was shown are
    """
    names = [*(name for name, _ in shape.gains.events), "rank", "dwell_s"]
    wanted = {shape.own(name).casefold() for name in [*names, *(["doc_id"] if documents else [])]}

    def kept(field: T.StructField) -> T.StructField:
        kind = field.dataType
        whole = field.name.casefold() == shape.own(NESTED).casefold()
        if not (
            whole and isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType)
        ):
            return field
        inner = [own for own in kind.elementType.fields if own.name.casefold() in wanted]
        some = T.StructType(inner or kind.elementType.fields)
        return T.StructField(field.name, T.ArrayType(some, kind.containsNull), field.nullable)

    return T.StructType([kept(field) for field in schema.fields])


def _check_columns(log: DataFrame, shape: Shape, names: Mapping[str, str]) -> None:
    events = [name for name, _ in shape.gains.events]
    known = {*KEYS, *ITEMS, NESTED, CLICKED, *events, *shape.segments}
    for name in shape.columns:
        if name not in known:
            raise UsageError(f"impressions have no column {name!r} to map{nearest(name, known)}")
    mapped = [name for name in shape.columns.values() if name.casefold() not in names]
    wanted = [shape.own(name) for name in shape.segments if shape.own(name).casefold() not in names]
    if not {shape.own("event_ts").casefold(), shape.own("event_date").casefold()} & set(names):
        wanted.append("event_ts (or event_date)")
    missing = list(dict.fromkeys([*mapped, *wanted]))
    if missing:
        raise InputError(
            "E110",
            f"impressions: missing column(s) {', '.join(missing)}; the log has: "
            f"{', '.join(log.columns)}. Map them with --columns impressions.event_ts=NAME",
        )


def _kind(log: DataFrame, shape: Shape, names: Mapping[str, str]) -> str:
    """results, lists, or long."""
    types = {f.name.casefold(): f.dataType for f in log.schema.fields}
    if shape.own(NESTED).casefold() in names:
        kind = types[shape.own(NESTED).casefold()]
        if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType):
            return "results"
        raise InputError(
            "E112", f"impressions: results is {kind.simpleString()}, not a list of structs"
        )
    events = [shape.own(name).casefold() for name, _ in shape.gains.events]
    if shape.own(CLICKED).casefold() in names:
        return "lists"
    lacking = [name for name in events if name not in names]
    if lacking:
        raise InputError(
            "E110",
            f"impressions: missing column(s) {', '.join(lacking)} (or results, or clicked_ids); "
            f"the log has: {', '.join(log.columns)}",
        )
    if isinstance(types[events[0]], T.ArrayType):
        return "lists"
    needed = [shape.own(name) for name in ("impression_id", "rank")]
    lacking = [name for name in needed if name.casefold() not in names]
    if lacking:
        raise InputError(
            "E110",
            f"impressions with one row a result: missing column(s) {', '.join(lacking)}; "
            f"the log has: {', '.join(log.columns)}",
        )
    return "long"


def _column(name: str, names: Mapping[str, str]) -> Column | None:
    found = names.get(name.casefold())
    return None if found is None else F.col(f"`{found}`")


def _items(log: DataFrame, shape: Shape, kind: str, names: Mapping[str, str]) -> list[Column]:
    """ranks (if known), doc_ids, one list an event, dwell (if known), n_not_shown."""
    listed = _list_columns(log, shape, kind, names)
    ranks, docs, dwell = (listed.get(name) for name in ("rank", "doc_id", "dwell_s"))
    clicked = _column(shape.own(CLICKED), names) if kind == "lists" else None
    not_shown: Column = F.lit(0)
    if clicked is None:
        events = {n: listed[n].cast("array<double>") for n, _ in shape.gains.events if n in listed}
    else:
        if docs is None:
            raise InputError(
                "E110", "impressions with clicked_ids need the list doc_id of what was shown"
            )
        ids, hit = docs.cast("array<string>"), F.coalesce(clicked, F.array()).cast("array<string>")
        first = shape.gains.events[0][0]
        events = {first: F.transform(ids, lambda doc: F.array_contains(hit, doc).cast("double"))}
        not_shown = F.size(F.array_except(hit, ids))
    lacking = [name for name, _ in shape.gains.events if name not in events]
    if lacking:
        raise InputError("E110", f"impressions: no event column(s) {', '.join(lacking)}")
    return [
        *([] if ranks is None else [ranks.cast("array<bigint>").alias("ranks")]),
        (F.lit(None) if docs is None else docs).cast("array<string>").alias("doc_ids"),
        *[column.alias(name) for name, column in events.items()],
        *([] if dwell is None else [dwell.cast("array<double>").alias("dwell")]),
        not_shown.cast("bigint").alias("n_not_shown"),
    ]


def _list_columns(
    log: DataFrame, shape: Shape, kind: str, names: Mapping[str, str]
) -> dict[str, Column]:
    """The log's lists by our names: its columns, or the fields of its results."""
    wanted = [*ITEMS, *(name for name, _ in shape.gains.events)]
    if kind != "results":
        columns = {name: _column(shape.own(name), names) for name in wanted}
        return {name: column for name, column in columns.items() if column is not None}
    whole = names[shape.own(NESTED).casefold()]
    inner = log.schema[whole].dataType.elementType.names  # type: ignore[attr-defined]
    fields = {name.casefold(): name for name in inner}
    return {
        name: F.col(f"`{whole}`.`{fields[own]}`")
        for name in wanted
        if (own := shape.own(name).casefold()) in fields
    }


def _gathered(log: DataFrame, shape: Shape, names: Mapping[str, str]) -> DataFrame:
    """One row an impression of a log with one row a result.

    A result that comes more than once (an event a row) is one: events are added up, the longest
    dwell counts.
    """
    events = [shape.own(name) for name, _ in shape.gains.events]
    per_item = {shape.own(name) for name in ITEMS} | set(events)
    items = [names[name.casefold()] for name in per_item if name.casefold() in names]
    keys = [name for name in log.columns if name not in items]
    impression, rank = (names[shape.own(n).casefold()] for n in ("impression_id", "rank"))
    dwell = names.get(shape.own("dwell_s").casefold())
    adds = {names[name.casefold()] for name in events}
    # the same document at the same place is one result; at two places it stays two, to be refused
    doc = names.get(shape.own("doc_id").casefold())
    same = [name for name in (impression, rank, doc) if name]
    merged = log.groupBy(*same).agg(
        *[F.min(name).alias(name) for name in keys if name not in same],
        *[
            (F.sum(name) if name in adds else F.max(name)).alias(name)
            for name in items
            if name not in same
        ],
    )
    fields = [name for name in (rank, doc, dwell, *sorted(adds)) if name]
    gathered = merged.groupBy(impression).agg(
        *[F.min(name).alias(name) for name in keys if name != impression],
        F.sort_array(F.collect_list(F.struct(*[F.col(f"`{n}`") for n in fields]))).alias("_items"),
    )
    kept = [F.col(f"`{name}`") for name in keys]
    return gathered.select(*kept, *[F.col(f"_items.`{name}`").alias(name) for name in fields])


def _date(log: DataFrame, shape: Shape, names: Mapping[str, str]) -> Column:
    """The day of the event in the time zone that was asked for; text (ISO) stays text."""
    day = _column(shape.own("event_date"), names)
    if day is not None:
        return day if _date_type(log, shape, names) == "string" else day.cast("date")
    column = _column(shape.own("event_ts"), names)
    assert column is not None  # _check_columns
    kind = log.schema[names[shape.own("event_ts").casefold()]].dataType
    if not isinstance(kind, T.TimestampType):
        raise InputError(
            "E112",
            f"impressions: event_ts is {kind.simpleString()}, not a timestamp with time zone; its "
            "day cannot be told safely. Cast it, or map event_date",
        )
    if shape.timezone == "UTC":
        return column.cast("date")
    return F.from_utc_timestamp(column, shape.timezone).cast("date")


def _date_type(log: DataFrame, shape: Shape, names: Mapping[str, str]) -> str:
    own = names.get(shape.own("event_date").casefold())
    is_text = own is not None and isinstance(log.schema[own].dataType, T.StringType)
    return "string" if is_text else "date"


def segment_texts(segments: Sequence[str]) -> Column:
    """The segments that a row belongs to: ``all``, ``country=DE``, ``country=DE|device=mobile``.

    segments: columns, or combinations of them, as in ``country|device``; bots are in no segment but
        ``all+bots``
    """
    texts = [segment_text(segment.split("|")) for segment in segments]
    people = F.array(F.lit(ALL), F.lit(WITH_BOTS), *texts)
    return F.when(F.col("is_bot"), F.array(F.lit(WITH_BOTS))).otherwise(people)
