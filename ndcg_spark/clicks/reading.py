"""The log that a job reads: how its columns are named, and what of it is looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.clicks import derived
from ndcg_spark.clicks.event_rows import lost_events, with_events
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.log_kernel import Shape
from ndcg_spark.clicks.log_options import LogJob, NightlyJob
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.states import click_patterns, keys_of
from ndcg_spark.clicks.summary import combined
from ndcg_spark.engine.inputs import Table, engine_table, files_or_table
from ndcg_spark.engine.running import opened
from ndcg_spark.engine.sessions import Engine


def shape_of(job: LogJob) -> Shape:
    """How the job's log names things, and what it is asked for."""
    segments = combined(job.segments) if isinstance(job, NightlyJob) else []
    segments = [name for name in segments if name != derived.FREQUENCY]
    return Shape(job.column_names, job.gains, tuple(segments), job.buckets, job.timezone)


@contextlib.contextmanager
def opened_log(job: LogJob) -> Iterator[tuple[Engine, Impressions]]:
    """The session, and the log of the job's days.

    Raises:
        InputError: for a log that cannot be read, or lacks columns.
    """
    assert job.impressions is not None  # LogJob
    with opened(job, "impressions") as engine:
        yield engine, log_of(job, engine.spark, job.impressions)


def log_of(job: LogJob, spark: SparkSession, table: Table) -> Impressions:
    """The log of the job's days, out of files or a table, with its events if they lie apart."""
    once = isinstance(job, NightlyJob) and job.deduplicate
    shape = shape_of(job)
    if job.events_table is None:
        source = files_or_table(spark, "impressions", table, job.access)
        return Impressions.of(spark, source, shape, once, job.dates)
    rows = with_events(*_apart(job, spark, table, shape), shape, job.event_columns)
    return Impressions.of(spark, rows, shape, once, job.dates)


def lost_of(job: LogJob, spark: SparkSession) -> dict[str, int]:
    """How many events of --events-table did not join, and why; nothing without such a table."""
    if job.events_table is None or job.impressions is None:
        return {}
    shape = shape_of(job)
    apart = _apart(job, spark, job.impressions, shape)
    (row,) = lost_events(*apart, shape, job.event_columns).collect()
    return {name: int(n) for name, n in row.asDict().items()}


def _apart(
    job: LogJob, spark: SparkSession, table: Table, shape: Shape
) -> tuple[DataFrame, DataFrame]:
    """The log's rows and the events, as tables."""
    assert job.events_table is not None
    log = engine_table(spark, "impressions", table, job.access)
    return log, engine_table(spark, "events", job.events_table, job.access)


def patterns_of(
    job: ClicksJob, log: Impressions, units: Sequence[str] = ()
) -> tuple[DataFrame, Shape]:
    """CLICK_PATTERNS of the log's days, with the keys of these units (query, user); bots by rule,
    and the queries' frequency if that is a segment."""
    shape = log.log.shape
    by_rule = job.bot_impressions is not None or job.bot_clicks is not None
    by_frequency = derived.FREQUENCY in combined(job.segments)
    extra = [f"{unit}_id" for unit in units]
    more = [*extra, *["user_id"] * by_rule, *["query_id"] * by_frequency]
    observed = log.counted(keys_of(shape, tuple(dict.fromkeys(more))), clicked=by_rule)
    if by_rule:
        observed = derived.with_bots(observed, job.bot_impressions, job.bot_clicks)
    if by_frequency:
        rows = derived.frequency_histogram(observed).collect()
        bounds = derived.frequency_bounds([(row["count"], row["impressions"]) for row in rows])
        observed = derived.with_frequency(observed, bounds)
        shape = shape.with_segments((*shape.segments, derived.FREQUENCY))
    return click_patterns(observed, keys_of(shape, extra)), shape
