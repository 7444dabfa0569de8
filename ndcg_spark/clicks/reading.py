"""The log that a job reads: how its columns are named, and what of it is looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.clicks import derived
from ndcg_spark.clicks.impressions import Shape, narrowed
from ndcg_spark.clicks.options import ClicksJob, LogJob
from ndcg_spark.clicks.summary import combined
from ndcg_spark.engine.running import opened
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.tables.read import read_table


def shape_of(job: LogJob) -> Shape:
    """How the job's log names things, and what it is asked for."""
    segments = combined(job.segments) if isinstance(job, ClicksJob) else []
    segments = [name for name in segments if name != derived.FREQUENCY]
    return Shape(job.column_names, job.gains, tuple(segments), job.buckets, job.timezone)


@contextlib.contextmanager
def opened_log(job: LogJob) -> Iterator[tuple[Engine, DataFrame, Shape]]:
    """The session, the log as it is stored, and how it is to be read.

    Raises:
        InputError: for a log that cannot be read, lacks columns, or holds none of the days.
    """
    shape = shape_of(job)
    assert job.impressions is not None  # LogJob
    # patterns need no documents; of repeated impressions one is chosen by all it has
    documents = not isinstance(job, ClicksJob)
    whole = isinstance(job, ClicksJob) and job.deduplicate

    def needed(schema: StructType) -> StructType:
        return schema if whole else narrowed(schema, shape, documents)

    with opened(job, "impressions") as engine:
        log = read_table(
            engine.spark,
            "impressions",
            job.impressions,
            glob=job.glob,
            local=engine.local_files,
            narrowed=needed,
        )
        yield engine, log, shape


def once(log: DataFrame, shape: Shape) -> DataFrame:
    """Each impression_id once: of several rows the smallest, so that chance has no say.

    Raises:
        InputError: E110 where the log has no impression_id.
    """
    names = {name.casefold(): name for name in log.columns}
    key = names.get(shape.own("impression_id").casefold())
    if key is None:
        raise InputError("E110", "impressions: --deduplicate needs the column impression_id")
    rest = [name for name in log.columns if name != key]
    smallest = F.min(F.struct(*[F.col(f"`{name}`") for name in rest])).alias("_row")
    kept = log.groupBy(F.col(f"`{key}`")).agg(smallest)
    return kept.select(F.col(f"`{key}`"), *[F.col(f"_row.`{n}`").alias(n) for n in rest])


def with_derived(job: ClicksJob, log: DataFrame, shape: Shape) -> tuple[DataFrame, Shape]:
    """Impressions with bots by rule, and with their queries' frequency if that is a segment."""
    return _with_frequency(job, _with_bots(job, log, shape), shape)


def _with_bots(job: ClicksJob, log: DataFrame, shape: Shape) -> DataFrame:
    if job.bot_impressions is None and job.bot_clicks is None:
        return log
    event = shape.gains.events[0][0]
    return derived.with_bots(log, job.bot_impressions, job.bot_clicks, event)


def _with_frequency(job: ClicksJob, log: DataFrame, shape: Shape) -> tuple[DataFrame, Shape]:
    if derived.FREQUENCY not in combined(job.segments):
        return log, shape
    rows = derived.frequency_histogram(log).collect()
    bounds = derived.frequency_bounds([(row["count"], row["impressions"]) for row in rows])
    segments = (*shape.segments, derived.FREQUENCY)
    return derived.with_frequency(log, bounds), shape.with_segments(segments)
