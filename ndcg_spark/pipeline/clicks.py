"""The nightly job: a day of impressions to patterns, state, summary and trend; re-run at will."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.clicks import derived
from ndcg_spark.clicks.estimates import Rule
from ndcg_spark.clicks.impressions import Shape, impressions, narrowed
from ndcg_spark.clicks.state import (
    click_patterns,
    daily_state,
    merged_patterns,
    observed,
    unit_state,
)
from ndcg_spark.clicks.summary import (
    DAILY,
    DIFFERENCES,
    arm_differences,
    click_summary,
    combined,
    unit_summary,
)
from ndcg_spark.config import ClicksJob, LogJob
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.measures import Measure, parse_measures
from ndcg_spark.pipeline.click_trend import summary_rows, trend
from ndcg_spark.pipeline.opened import now, opened
from ndcg_spark.pipeline.small import stage_rows
from ndcg_spark.session import Engine
from ndcg_spark.tables.paths import redacted
from ndcg_spark.tables.read import read_table
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

MEASURES = ("nDCG@10", "RR", "AP", "P@1", "binG@10")


@dataclasses.dataclass(frozen=True)
class ClickDay:
    """What the job found about the last of its days."""

    engine: str
    date: str
    counts: dict[str, int]
    daily: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    trend: list[dict[str, Any]]
    broken: list[str]
    tables: dict[str, str]


@contextlib.contextmanager
def opened_log(job: LogJob) -> Iterator[tuple[Engine, DataFrame, Shape]]:
    """The session, the log as it is stored, and how it is to be read.

    Raises:
        InputError: for a log that cannot be read, lacks columns, or holds none of the days.
    """
    segments = combined(job.segments) if isinstance(job, ClicksJob) else []
    segments = [name for name in segments if name != derived.FREQUENCY]
    shape = Shape(job.column_names, job.gains, tuple(segments), job.buckets, job.timezone)
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
        if isinstance(job, ClicksJob) and job.deduplicate:
            log = _once(log, shape)
        yield engine, log, shape


def clicks(job: ClicksJob) -> ClickDay:
    """Evaluate the job's days one after another, each replacing its own partition.

    Raises:
        UsageError: for a wrong option, or a date in the future.
        InputError: for input that is refused; the day's old partition stays.
    """
    measures = parse_measures(job.measure or list(MEASURES))
    rules = [Rule.parse(text) for text in job.fail_if]
    names = [str(measure) for measure in measures]
    for rule in rules:
        if rule.measure not in names:
            raise UsageError(
                f"--fail-if {rule.text!r}: {rule.measure} is not among {', '.join(names)}"
            )
    today = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    if job.dates[-1] > str(today):
        raise UsageError(f"--date {job.dates[-1]} lies in the future")
    if rules and not job.out:
        raise UsageError("--fail-if looks back at earlier days in --out DIR")
    with opened_log(job) as (engine, log, shape):
        found: ClickDay | None = None
        for date in job.dates:
            found = _day(job, engine, impressions(log, shape, [date]), shape, measures, date)
        assert found is not None
        rows = trend(job, engine, rules) if job.out else []
        broken = [text for row in rows for text in row.pop("broken")]
        return dataclasses.replace(found, trend=rows, broken=broken)


def _day(
    job: ClicksJob,
    engine: Engine,
    log: DataFrame,
    shape: Shape,
    measures: Sequence[Measure],
    date: str,
) -> ClickDay:
    with contextlib.ExitStack() as stack:
        if job.out:
            output = Output(job.out, {"event_date": date}, [job.impressions or ""])
            stack.enter_context(output.writing())
        else:
            scratch = stack.enter_context(tempfile.TemporaryDirectory())
            output = Output(scratch, {"event_date": date})
        log, shape = _derived(job, log, shape)
        extra = [f"{unit}_id" for unit in job.units]
        made = click_patterns(observed(log, shape, extra), shape, extra)
        patterns = _staged(
            engine, output, "all_patterns" if extra else "click_patterns", date, made
        )
        counts = _counts(patterns, job, date)
        whole = patterns
        if extra:
            summed = merged_patterns(patterns.drop(*extra))
            patterns = _staged(engine, output, "click_patterns", date, summed)
        state = daily_state(patterns, measures, shape.gains, job.segments, job.clickless)
        state = _staged(engine, output, "daily_state", date, state)
        daily = summary_rows(click_summary(state, job.buckets, job.min_group))
        differences = (
            summary_rows(arm_differences(state, job.baseline, job.buckets, job.min_group))
            if job.baseline
            else []
        )
        for unit in job.units:
            by_unit = unit_state(
                whole, measures, shape.gains, f"{unit}_id", job.segments, job.clickless
            )
            daily += summary_rows(unit_summary(by_unit, unit))
        daily = [{"date": date, **row} for row in daily]
        tables = _publish(job, engine, output, date, counts, daily, differences) if job.out else {}
        return ClickDay(engine.name, date, counts, daily, differences, [], [], tables)


def _derived(job: ClicksJob, log: DataFrame, shape: Shape) -> tuple[DataFrame, Shape]:
    """The day with bots by rule, and with its queries' frequency if that is a segment."""
    if job.bot_impressions is not None or job.bot_clicks is not None:
        event = shape.gains.events[0][0]
        log = derived.with_bots(log, job.bot_impressions, job.bot_clicks, event)
    if derived.FREQUENCY in combined(job.segments):
        rows = derived.frequency_histogram(log).collect()
        bounds = derived.frequency_bounds([(row["count"], row["impressions"]) for row in rows])
        log = derived.with_frequency(log, bounds)
        shape = dataclasses.replace(shape, segments=(*shape.segments, derived.FREQUENCY))
    return log, shape


def _publish(
    job: ClicksJob,
    engine: Engine,
    output: Output,
    date: str,
    counts: dict[str, int],
    daily: list[dict[str, Any]],
    differences: list[dict[str, Any]],
) -> dict[str, str]:
    small = {
        "daily": (daily, f"date string, {DAILY}"),
        "arm_differences": (differences, DIFFERENCES),
    }
    small = {name: (rows, schema) for name, (rows, schema) in small.items() if rows}
    stage_rows(engine.spark, output, small)
    wanted = ["click_patterns", "daily_state", *small]
    manifest = {
        "job": "clicks",
        "version": __version__,
        "engine": engine.name,
        "event_date": date,
        "run_ts": now(),
        "input": redacted(job.impressions or ""),
        "measures": list(dict.fromkeys(row["measure"] for row in daily)),
        "gains": job.gains.values,
        "events": job.gains.events,
        "dwell": job.gains.dwell,
        "segments": job.segments,
        "buckets": job.buckets,
        "clickless": job.clickless,
        "counts": counts,
    }
    output.write_json("click_manifest", "_manifest.json", manifest)
    output.publish([*wanted, "click_manifest"])
    return {name: output.published(name) for name in [*wanted, "click_manifest"]}


def _staged(engine: Engine, output: Output, name: str, date: str, table: DataFrame) -> DataFrame:
    """The table, written beside its place; the day stands in its directory's name only."""
    rest = table.drop("event_date")
    rest.write.mode("error").parquet(output.staged(name))
    written = engine.spark.read.schema(rest.schema).parquet(output.staged(name))
    return written.withColumn("event_date", F.lit(date))


def _counts(patterns: DataFrame, job: ClicksJob, date: str) -> dict[str, int]:
    """Impressions by what became of them; an empty day is refused.

    Raises:
        InputError: E103 for a day without an impression that can be evaluated.
    """
    rows = (
        patterns.groupBy("problem", "is_bot")
        .agg(F.sum("n").alias("n"), F.sum("n_not_shown").alias("n_not_shown"))
        .collect()
    )
    counts = {"impressions": 0, "bots": 0, "clicks_not_shown": 0}
    counts |= dict.fromkeys(("bad_lengths", "bad_values", "bad_positions", "empty"), 0)
    for row in rows:
        counts["clicks_not_shown"] += int(row["n_not_shown"])
        counts[row["problem"] or ("bots" if row["is_bot"] else "impressions")] += int(row["n"])
    if not counts["impressions"]:
        found = ", ".join(f"{name} {n}" for name, n in counts.items() if n) or "no row"
        raise InputError(
            "E103", f"no impression of {date} can be evaluated in {job.impressions}: {found}"
        )
    return counts


def _once(log: DataFrame, shape: Shape) -> DataFrame:
    """Each impression_id once: of several rows the smallest, so that chance has no say."""
    names = {name.casefold(): name for name in log.columns}
    key = names.get(shape.own("impression_id").casefold())
    if key is None:
        raise InputError("E110", "impressions: --deduplicate needs the column impression_id")
    rest = [name for name in log.columns if name != key]
    smallest = F.min(F.struct(*[F.col(f"`{name}`") for name in rest])).alias("_row")
    kept = log.groupBy(F.col(f"`{key}`")).agg(smallest)
    return kept.select(F.col(f"`{key}`"), *[F.col(f"_row.`{n}`").alias(n) for n in rest])
