"""Events that are a table of their own, one row a click, joined to a log with one row a result."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.clicks.log_kernel import Shape
from ndcg_spark.errors import InputError

KEYS = ("impression_id", "doc_id")
KIND, TIME = "event", "event_ts"


def with_events(
    log: DataFrame, events: DataFrame, shape: Shape, names: Mapping[str, str]
) -> DataFrame:
    """The log with a column of each event: how many rows of it there are for the impression's
    document, 0 without any.

    events: impression_id, doc_id and, unless there is one event only, `event` with its name
    names: our names of the events' columns -> theirs

    Raises:
        InputError: E110 for missing columns, E140 for ids that are text in one table only, E115
            where the log has a column of an event's name already.
    """
    own = _keyed(log, events, shape, names)
    taken = {name.casefold() for name in log.columns} & {n.casefold() for n in shape.events}
    if taken:
        raise InputError(
            "E115",
            f"impressions: the column {', '.join(sorted(taken))} is in the log, and would be made "
            "of --events-table; leave one of them out",
        )
    counts = (
        _rows(own, shape, names)
        .groupBy("_impression", "_doc")
        .agg(
            *[
                F.sum(F.when(F.col("_event") == name, 1).otherwise(0)).alias(name)
                for name in shape.events
            ]
        )
    )
    rows = _results(log, shape)
    both = rows.join(counts, ["_impression", "_doc"], "left")
    found = [F.coalesce(F.col(f"`{name}`"), F.lit(0)).alias(name) for name in shape.events]
    return both.select(*[F.col(f"`{name}`") for name in log.columns], *found)


def lost_events(
    log: DataFrame, events: DataFrame, shape: Shape, names: Mapping[str, str]
) -> DataFrame:
    """One row (events_not_joined, events_other, events_early): events on what the log never showed;
    of names that are not asked for; and, where both tables have event_ts, before their impression:
    these are joined all the same."""
    rows = _rows(_keyed(log, events, shape, names), shape, names)
    first = F.min("_shown_at").alias("_shown_at")
    shown = _results(log, shape).groupBy("_impression", "_doc").agg(first, F.lit(1).alias("_there"))
    both = rows.join(shown, ["_impression", "_doc"], "left")
    asked = F.coalesce(F.col("_event").isin(*shape.events), F.lit(False))
    there = F.col("_there").isNotNull()
    return both.agg(
        _number(asked & ~there).alias("events_not_joined"),
        _number(~asked).alias("events_other"),
        _number(asked & there & (F.col("_at") < F.col("_shown_at"))).alias("events_early"),
    )


def _keyed(log: DataFrame, events: DataFrame, shape: Shape, names: Mapping[str, str]) -> DataFrame:
    for table, role, own in ((log, "impressions", shape.columns), (events, "events", names)):
        missing = [own.get(key, key) for key in KEYS if own.get(key, key) not in table.columns]
        if (
            role == "events"
            and len(shape.events) > 1
            and names.get(KIND, KIND) not in table.columns
        ):
            missing.append(names.get(KIND, KIND))
        if missing:
            raise InputError(
                "E110",
                f"{role}: missing column(s) {', '.join(missing)}; it has: "
                f"{', '.join(table.columns)}. Map them with --columns {role}.{KEYS[0]}=NAME",
            )
    for key in KEYS:
        kinds = [log.schema[shape.own(key)].dataType, events.schema[names.get(key, key)].dataType]
        if len({isinstance(kind, T.StringType) for kind in kinds}) > 1:
            said = [kind.simpleString() for kind in kinds]
            raise InputError(
                "E140",
                f"{key} is {said[0]} in the impressions, but {said[1]} in the events; both must "
                "have the same type (cast one of them, knowingly)",
            )
    return events


def _rows(events: DataFrame, shape: Shape, names: Mapping[str, str]) -> DataFrame:
    """(_impression, _doc, _event, _at) of the events."""
    kind = names.get(KIND, KIND)
    event = F.col(f"`{kind}`").cast("string") if kind in events.columns else F.lit(shape.events[0])
    return events.select(
        F.col(f"`{names.get(KEYS[0], KEYS[0])}`").cast("string").alias("_impression"),
        F.col(f"`{names.get(KEYS[1], KEYS[1])}`").cast("string").alias("_doc"),
        event.alias("_event"),
        _time(events, names.get(TIME, TIME)).alias("_at"),
    )


def _results(log: DataFrame, shape: Shape) -> DataFrame:
    """The log with the keys that events are joined by, and when it was shown."""
    return log.withColumns(
        {
            "_impression": F.col(f"`{shape.own(KEYS[0])}`").cast("string"),
            "_doc": F.col(f"`{shape.own(KEYS[1])}`").cast("string"),
            "_shown_at": _time(log, shape.own(TIME)),
        }
    )


def _time(table: DataFrame, name: str) -> Column:
    """The time, where it is one; clocks are compared only then."""
    kind = table.schema[name].dataType if name in table.columns else None
    none = F.lit(None).cast("timestamp")
    return F.col(f"`{name}`").cast("timestamp") if isinstance(kind, T.TimestampType) else none


def _number(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, 1).otherwise(0)), F.lit(0)).cast("bigint")
