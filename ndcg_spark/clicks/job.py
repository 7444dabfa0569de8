"""The nightly job: a day of impressions to patterns, state, summary and trend; re-run at will."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.alike import options_of, refuse_unlike
from ndcg_spark.clicks.experiment import (
    COLUMNS,
    USERS,
    Compared,
    Night,
    begun,
    broken_arms,
    users_of,
)
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.options import MEASURES, ClicksJob
from ndcg_spark.clicks.reading import lost_of, opened_log, patterns_of
from ndcg_spark.clicks.splits import SAMPLE_RATIO
from ndcg_spark.clicks.states import daily_state, merged_patterns, unit_state
from ndcg_spark.clicks.stored import days_before
from ndcg_spark.clicks.summary import DAILY, click_summary, unit_summary
from ndcg_spark.clicks.trend import broken, summary_rows, trend
from ndcg_spark.engine.running import now
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.measures import Measure, parse_measures
from ndcg_spark.stats.gates import parsed
from ndcg_spark.tables.small import stage_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

OPTIONAL = (
    "daily",
    "arm_differences",
    "sample_ratio",
    USERS,
)  # written where there is a row for them


@dataclasses.dataclass(frozen=True)
class ClickDay:
    """What the job found about the last of its days."""

    engine: str
    date: str
    counts: dict[str, int]
    daily: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    sample_ratio: list[dict[str, Any]]
    trend: list[dict[str, Any]]
    broken: list[str]
    tables: dict[str, str]


def click_days(job: ClicksJob) -> ClickDay:
    """Evaluate the job's days one after another, each replacing its own partition.

    Raises:
        UsageError: for a wrong option, or a date in the future.
        InputError: for input that is refused; the day's old partition stays.
    """
    measures = parse_measures(job.measure or list(MEASURES))
    names = [str(measure) for measure in measures]
    gates = parsed(job.fail_if, names, anytime=job.anytime, ratio=job.baseline is not None)
    today = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    if job.dates[-1] > str(today):
        raise UsageError(f"--date {job.dates[-1]} lies in the future")
    if not job.out and not all(gate.is_of_ratio for gate in gates):
        raise UsageError("--fail-if looks back at earlier days in --out DIR")
    if job.out:
        window = {*days_before(job.dates[-1], job.window), *job.experiment_days(job.dates[-1])}
        own = options_of(job, measures)
        refuse_unlike(job.out, (window - set(job.dates)).__contains__, own)
        begun(job)
    with opened_log(job) as (engine, log):
        lost = lost_of(job, engine.spark)
        found: ClickDay | None = None
        for date in job.dates:
            found = _day(job, engine, log.on([date]), measures, date, lost)
        assert found is not None
        rows = trend(job, engine) if job.out else []
        said = [*broken(rows, [gate for gate in gates if not gate.of_arms])]
        said += broken_arms(found.differences, found.sample_ratio, gates)
        return dataclasses.replace(found, trend=rows, broken=said)


def _day(
    job: ClicksJob,
    engine: Engine,
    log: Impressions,
    measures: Sequence[Measure],
    date: str,
    lost: Mapping[str, int],
) -> ClickDay:
    with contextlib.ExitStack() as stack:
        if job.out:
            output = Output(job.out, {"event_date": date}, [job.impressions or ""])
            stack.enter_context(output.writing(("click_patterns", "daily_state")))
        else:
            scratch = stack.enter_context(tempfile.TemporaryDirectory())
            output = Output(scratch, {"event_date": date})
        whole, patterns = _patterns(job, engine, output, log, date)
        counts = _counts(patterns, job, log, date) | dict(lost)
        state = daily_state(patterns, measures, job.gains, job.segments, job.clickless)
        state = _staged(engine, output, "daily_state", date, state)
        daily = summary_rows(click_summary(state, job.buckets, job.min_group))
        night = Compared()
        if job.baseline:
            users = users_of(job, log)
            if users is not None and job.experiment_days(date):
                users = _staged(engine, output, USERS, date, users)
            night = Night(job, engine, log, date, measures, state, users).compared()
        for unit in job.units:
            by_unit = unit_state(
                whole, measures, job.gains, f"{unit}_id", job.segments, job.clickless
            )
            daily += summary_rows(unit_summary(by_unit, unit))
        daily = [{"date": date, **row} for row in daily]
        tables = (
            _publish(job, engine, output, date, measures, counts, daily, night) if job.out else {}
        )
        return ClickDay(
            engine.name, date, counts, daily, night.differences, night.ratio, [], [], tables
        )


def _patterns(
    job: ClicksJob, engine: Engine, output: Output, log: Impressions, date: str
) -> tuple[DataFrame, DataFrame]:
    """The day's patterns, staged: with the keys of --units, and without."""
    extra = [f"{unit}_id" for unit in job.units]
    made, shape = patterns_of(job, log, job.units)
    name = "all_patterns" if extra else "click_patterns"
    whole = _staged(engine, output, name, date, made)
    if not extra:
        return whole, whole
    summed = merged_patterns(whole.drop(*[key for key in extra if key not in shape.segments]))
    return whole, _staged(engine, output, "click_patterns", date, summed)


def _publish(
    job: ClicksJob,
    engine: Engine,
    output: Output,
    date: str,
    measures: Sequence[Measure],
    counts: dict[str, int],
    daily: list[dict[str, Any]],
    night: Compared,
) -> dict[str, str]:
    small = {
        "daily": (daily, f"date string, {DAILY}"),
        "arm_differences": (night.differences, COLUMNS),
        "sample_ratio": (night.ratio, SAMPLE_RATIO),
    }
    small = {name: (rows, schema) for name, (rows, schema) in small.items() if rows}
    stage_rows(engine.spark, output, small)
    users = [USERS] * bool(night.ratio and job.experiment_days(date))
    wanted = ["click_patterns", "daily_state", *users, *small]
    manifest = {
        "job": "clicks",
        "version": __version__,
        "engine": engine.name,
        "event_date": date,
        "run_ts": now(),
        "input": job.impressions or "",
        "options": options_of(job, measures),
        "counts": counts,
        **({"experiment": night.begun} if night.begun else {}),
    }
    output.write_json("click_manifest", "_manifest.json", manifest)
    output.publish([*wanted, "click_manifest"], OPTIONAL)
    return {name: output.published(name) for name in [*wanted, "click_manifest"]}


def _staged(engine: Engine, output: Output, name: str, date: str, table: DataFrame) -> DataFrame:
    """The table, written beside its place; the day stands in its directory's name only."""
    rest = table.drop("event_date")
    rest.write.mode("error").parquet(output.staged(name))
    written = engine.spark.read.schema(rest.schema).parquet(output.staged(name))
    return written.withColumn("event_date", F.lit(date))


def _counts(patterns: DataFrame, job: ClicksJob, log: Impressions, date: str) -> dict[str, int]:
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
        found = ", ".join(f"{name} {n}" for name, n in counts.items() if n)
        if not found:
            there = [str(row["event_date"]) for row in log.dates_there().collect()]
            found = f"no row; the log has event_date {', '.join(there) or 'nowhere'}"
        raise InputError(
            "E103", f"no impression of {date} can be evaluated in {job.impressions}: {found}"
        )
    return counts
