"""The impressions of a log of any shape, in files or a table: looked at here, read in the tasks."""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.clicks.dates_kernel import text_date
from ndcg_spark.clicks.gathered import one_a_list, one_each, quoted
from ndcg_spark.clicks.log_files_kernel import FromFiles, LogReading, result_fields, side_by_side
from ndcg_spark.clicks.log_kernel import (
    KEYS,
    KINDS,
    LISTS,
    NESTED,
    FromTable,
    Log,
    Shape,
    impressions,
)
from ndcg_spark.clicks.log_shape_kernel import kind_of, own_names
from ndcg_spark.clicks.off_policy_kernel import ListValues
from ndcg_spark.clicks.patterns_kernel import PatternCounts, RowCounts, ShownCounts
from ndcg_spark.clicks.teams_kernel import CreditCounts
from ndcg_spark.engine.sessions import cores_of
from ndcg_spark.errors import InputError
from ndcg_spark.tables import casts_kernel as casts
from ndcg_spark.tables.arrow_types import EngineTypes
from ndcg_spark.tables.files import first_schema, in_tasks, tasks_of
from ndcg_spark.tables.listing import Listing
from ndcg_spark.tables.segments import ALL, segment_text

WITH_BOTS = "all+bots"  # the segment of all impressions, bots included
COUNTS = {"n": "bigint", "n_not_shown": "bigint"}
Kernel = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Impressions:
    """A log's impressions of some days (or of all), not yet read.

    once: count each impression_id once
    """

    spark: SparkSession
    log: Log
    source: Listing | DataFrame
    once: bool = False

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        source: Listing | DataFrame,
        shape: Shape,
        once: bool = False,
        days: Sequence[str] = (),
    ) -> Impressions:
        """The log of some days (of all without), looked at; of files under other days nothing is.

        Raises:
            InputError: E110 for missing columns, E112 for wrong types, E115 for two of one name;
                E103 where no partition has one of these days.
        """
        if isinstance(source, Listing):
            source = _of_days(source, shape, days) if days else source
            nothing = LogReading(source.source, Log(shape, "lists", (), (), (), ()))
            _, schema, _ = first_schema(nothing, source)
            # the path wins over a column of that name in the file
            own = dict(zip(schema.names, schema.types, strict=True))
            types: Mapping[str, pa.DataType] = own | dict.fromkeys(source.keys, pa.string())
        else:
            types = EngineTypes("impressions", source.schema)
        log = _looked_at(types, shape)
        if once and "impression_id" not in log.has:
            raise InputError("E110", "impressions: --deduplicate needs the column impression_id")
        return cls(spark, dataclasses.replace(log, days=tuple(days)), source, once)

    def on(self, days: Sequence[str]) -> Impressions:
        """Those of some days, 2026-11-29; where a partition says the day, no others are read.

        Raises:
            InputError: E103 where no partition has one of these days.
        """
        source = self.source
        if isinstance(source, Listing):
            source = _of_days(source, self.log.shape, days)
        log = dataclasses.replace(self.log, days=tuple(days))
        return dataclasses.replace(self, log=log, source=source)

    def dates_there(self) -> DataFrame:
        """(event_date), up to five of the days that the log has; for an error."""
        every = dataclasses.replace(self.log, days=())
        days = dataclasses.replace(self, log=every)._read(("event_date",), None)
        return days.distinct().orderBy("event_date").limit(5)

    def table(self, wanted: Sequence[str] = ()) -> DataFrame:
        """IMPRESSIONS(event_date, arm, is_bot, bucket, query_id, user_id, <segments>, ranks,
        doc_ids, <events>, dwell, n_not_shown), or some of these; `ranks` and `dwell` only where the
        log knows them.

        `bucket` is a hash of the user (of the impression where there is none), the same on every
        engine, so that a user is in one bucket on all days; `user_id` is a hash too. Other ids come
        as text; a missing arm is `all`.
        """
        return self._gathered(tuple(wanted) or self.log.every)

    def counted(self, keys: Sequence[str], clicked: bool = False) -> DataFrame:
        """OBSERVED(<keys>, pattern, problem, clicked?, n, n_not_shown): impressions counted where
        they are read; rows with equal keys may come more than once."""
        kernel = PatternCounts(self.log.shape.gains, tuple(keys), clicked)
        more = {"clicked": "boolean"} if clicked else {}
        schema = {**_kinds(keys), "pattern": "string", "problem": "string", **more, **COUNTS}
        return self._made((*keys, *self.log.lists, "n_not_shown"), kernel, schema)

    def shown(self, keys: Sequence[str]) -> DataFrame:
        """SHOWN(<keys>, doc_id, rank, n_impressions, n_clicks, gain): results of people, counted
        where they are read; `gain` is the largest seen. Broken impressions are left out, as
        `clicks` leaves them out.

        Raises:
            InputError: E110 where the log does not say which documents.
        """
        self._needs("doc_id", "the documents that were shown")
        kernel = ShownCounts(self.log.shape.gains, tuple(keys))
        own = {"doc_id": "string", "rank": "int", "n_impressions": "bigint", "n_clicks": "bigint"}
        schema = {**_kinds(keys), **own, "gain": "double"}
        return self._made((*keys, "is_bot", "doc_ids", *self.log.lists), kernel, schema)

    def credits(self, keys: Sequence[str], baseline: str) -> DataFrame:
        """CREDITS(<keys>, problem, credit, clicked, n): interleaved impressions counted where they
        are read (`teams_kernel`).

        Raises:
            InputError: E110 where the log does not say whose pick a result was.
        """
        self._needs("team", "whose pick each result was")
        kernel = CreditCounts(self.log.shape.gains, tuple(keys), baseline)
        own = {"problem": "string", "credit": "double", "clicked": "boolean", "n": "bigint"}
        wanted = (*keys, *self.log.lists, "teams")
        return self._made(wanted, kernel, {**_kinds(keys), **own})

    def lists_shown(self, worths: tuple[float, ...]) -> DataFrame:
        """LISTS(query_id, bucket, propensity, list, value, n): counted where they are read
        (`off_policy_kernel`)."""
        self._needs("doc_id", "the documents that were shown")
        kernel = ListValues(self.log.shape.gains, worths)
        keys = ("query_id", "bucket", "propensity")
        own = {"list": "string", "value": "double", "n": "bigint"}
        wanted = (*keys, "is_bot", "doc_ids", *self.log.lists)
        return self._made(wanted, kernel, {**_kinds(keys), **own})

    def _needs(self, name: str, what: str) -> None:
        if name not in (*self.log.items, *self.log.has):
            own = self.log.shape.own(name)
            raise InputError(
                "E110",
                f"impressions: it takes {what}, and there is no {own!r}; map it with --columns "
                f"impressions.{name}=NAME",
            )

    def people(self, keys: Sequence[str]) -> DataFrame:
        """COUNTS(<keys>, n): impressions that are no bot's, whatever is wrong with them."""
        made = self._made(
            ("is_bot", *keys), RowCounts(), {**_kinds(("is_bot", *keys)), "n": "bigint"}
        )
        return made.where(~F.col("is_bot")).groupBy(*keys).agg(F.sum("n").alias("n"))

    def _made(
        self, wanted: tuple[str, ...], kernel: Kernel, schema: Mapping[str, str]
    ) -> DataFrame:
        text = ", ".join(f"`{name}` {kind}" for name, kind in schema.items())
        wanted = tuple(dict.fromkeys(wanted))
        if self.once or self.log.kind == "long":
            return self._gathered(wanted).mapInArrow(kernel, text)
        return self._read(wanted, kernel, text)

    def _read(self, wanted: tuple[str, ...], kernel: Kernel | None, schema: str = "") -> DataFrame:
        """What the kernel makes of the log's rows, or these."""
        log = dataclasses.replace(self.log, wanted=wanted)
        schema = schema or log.schema()
        if isinstance(self.source, Listing):
            tasks = tasks_of([self.source], cores_of(self.spark))
            reading = LogReading(self.source.source, log)
            return in_tasks(self.spark, tasks, [reading], FromFiles(kernel), schema)
        rows = _pruned(self.source, log)
        return rows.select(*_columns(rows, log)).mapInArrow(FromTable(log, kernel), schema)

    def _gathered(self, wanted: tuple[str, ...]) -> DataFrame:
        """IMPRESSIONS, one row an impression."""
        is_long = self.log.kind == "long"
        if not (is_long or self.once):
            return self._read(wanted, None)
        rows = self._read(tuple(dict.fromkeys((*wanted, "impression_id"))), None)
        lists = [name for name in wanted if name in (*LISTS, *self.log.lists)]
        events = self.log.shape.events
        one = one_a_list(rows, wanted, lists, events, self.once) if is_long else one_each(rows)
        return one.select(*[quoted(name) for name in wanted])


def _of_days(listing: Listing, shape: Shape, days: Sequence[str]) -> Listing:
    """The files of these days, where a partition says which those are."""
    own = shape.own("event_date")
    if own not in listing.keys:
        return listing
    there = {file: dict(file.values)[own] or "" for file in listing.files}
    kept = tuple(file for file, day in there.items() if text_date(day) in days)
    if not kept:
        some = sorted(set(there.values()))
        raise InputError(
            "E103",
            f"no impression of {', '.join(days)} in {listing.source}; there are: "
            f"{own} = {', '.join(some[:5])}{', …' if len(some) > 5 else ''}",
        )
    return dataclasses.replace(listing, files=kept)


def _kinds(keys: Sequence[str]) -> dict[str, str]:
    return {name: KINDS.get(name, "string") for name in keys}


def _looked_at(types: Mapping[str, pa.DataType], shape: Shape) -> Log:
    """What the log has, by the types of its columns.

    Raises:
        InputError: E110 for missing columns, E112 for wrong types, E115 for two of one name.
    """
    own = own_names(types, shape)
    kind, items = kind_of(types, shape, own)
    has = tuple(name for name in (*KEYS, *shape.segments) if name in own)
    if "propensity" in own and casts.is_list(types[own["propensity"]]):  # of results: not asked for
        has = tuple(name for name in has if name != "propensity")
    log = Log(shape, kind, has, items, (), ())
    log = dataclasses.replace(log, wanted=log.every)
    # without a row, what makes impressions looks at the types only
    rows = {name: pa.nulls(0, types[own[name]]) for name in log.read if name in own}
    if kind == "results":
        nested = pa.nulls(0, types[own[NESTED]])
        fields = result_fields(nested.type) or {}
        rows |= side_by_side(nested, {name: fields[shape.own(name).casefold()] for name in items})
    impressions(pa.record_batch(rows), log, lambda name: f"impressions: {shape.own(name)}")
    return log


def _columns(rows: DataFrame, log: Log) -> list[Column]:
    """What is read of a table, under our names."""
    names = {name.casefold(): name for name in rows.columns}
    nested = log.items if log.kind == "results" else ()
    whole = names.get(log.shape.own(NESTED).casefold(), "")
    found = []
    for name in log.read:
        own = log.shape.own(name).casefold()
        if name in nested:
            kind = rows.schema[whole].dataType.elementType  # type: ignore[attr-defined]
            field = {inner.casefold(): inner for inner in kind.names}[own]
            column = F.col(f"`{whole}`.`{field}`")
        else:
            column = quoted(names[own])
        found.append(column.alias(name))
    return found


def _pruned(rows: DataFrame, log: Log) -> DataFrame:
    """Without rows of other days, as far as a plain filter tells: engines then leave out what they
    need not read. The tasks look at the days themselves."""
    names = {field.name.casefold(): field for field in rows.schema.fields}
    name = "event_date" if "event_date" in log.has else "event_ts"
    field = names[log.shape.own(name).casefold()]
    if not log.days:
        return rows
    column = quoted(field.name)
    if isinstance(field.dataType, T.StringType):
        written = [text for day in log.days for text in (day, day.replace("-", ""))]
        longer = [column.startswith(f"{text}{mark}") for text in written for mark in " T"]
        return rows.where(functools.reduce(lambda a, b: a | b, longer, column.isin(written)))
    around = [datetime.date.fromisoformat(day) for day in (log.days[0], log.days[-1])]
    first, last = (day + datetime.timedelta(days=n) for day, n in zip(around, (-1, 2), strict=True))
    return rows.where((column >= F.lit(first)) & (column <= F.lit(last)))


def segment_texts(segments: Sequence[str]) -> Column:
    """The segments that a row belongs to: ``all``, ``country=DE``, ``country=DE|device=mobile``.

    segments: columns, or combinations of them, as in ``country|device``; bots are in no segment but
        ``all+bots``
    """
    texts = [segment_text(segment.split("|")) for segment in segments]
    people = F.array(F.lit(ALL), F.lit(WITH_BOTS), *texts)
    return F.when(F.col("is_bot"), F.array(F.lit(WITH_BOTS))).otherwise(people)
