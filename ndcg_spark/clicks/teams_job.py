"""A day of interleaved lists: which team is preferred, that day and over the experiment."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.alike import nightly_options, refuse_unlike
from ndcg_spark.clicks.contrasts_kernel import Key
from ndcg_spark.clicks.experiment import DAY, EXPERIMENT, begun_with, kept
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.options import InterleavingJob
from ndcg_spark.clicks.reading import opened_log
from ndcg_spark.clicks.stored import places, read_days
from ndcg_spark.clicks.summary import DIFFERENCES
from ndcg_spark.clicks.teams import credit_counts, team_differences, team_outcomes, team_state
from ndcg_spark.clicks.trend import summary_rows
from ndcg_spark.engine.running import now
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.stats.distributions import sign_test
from ndcg_spark.tables.small import stage_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

STATE, MANIFEST = "interleaving_state", "interleaving_manifest"
INTERLEAVING = (
    f"{DIFFERENCES}, period string, n bigint, n_clickless bigint, wins bigint, ties bigint, "
    "losses bigint, buckets_for bigint, buckets_against bigint, sign_p double"
)
Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Interleaved:
    """What the job found about the last of its days."""

    engine: str
    date: str
    counts: dict[str, int]
    interleaving: list[Row]
    tables: dict[str, str]


def interleaving_days(job: InterleavingJob) -> Interleaved:
    """Evaluate the job's days one after another, each replacing its own partition.

    Raises:
        UsageError: for a wrong option.
        InputError: for input that is refused; the day's old partition stays.
    """
    if job.out:
        days = set(job.experiment_days(job.dates[-1])) - set(job.dates)
        refuse_unlike(job.out, days.__contains__, options_of(job), MANIFEST)
        _begun(job)
    with opened_log(job) as (engine, log):
        found = [_day(job, engine, log.on([date]), date) for date in job.dates]
    return found[-1]


def options_of(job: InterleavingJob) -> dict[str, Any]:
    """What a day's state hangs on beside its log."""
    return nightly_options(job) | {"baseline": job.baseline}


def _begun(job: InterleavingJob) -> dict[Key, float]:
    if not job.anytime or job.first_day is None:
        return {}
    return begun_with(str(job.out), job.first_day, job.baseline, job.anytime_at, MANIFEST)


def _day(job: InterleavingJob, engine: Engine, log: Impressions, date: str) -> Interleaved:
    with ExitStack() as stack:
        place = job.out or stack.enter_context(tempfile.TemporaryDirectory())
        output = Output(place, {"event_date": date}, [job.impressions or ""])
        stack.enter_context(output.writing((STATE,)))
        credits = credit_counts(log, job.baseline)
        credits.drop("event_date").write.mode("error").parquet(output.staged("credit_counts"))
        read = engine.spark.read.parquet(output.staged("credit_counts"))
        credits = read.withColumn("event_date", F.lit(date))
        counts = _counts(credits, job, log, date)
        state = team_state(credits, job.candidate, job.segments, job.clickless)
        state.drop("event_date").write.mode("error").parquet(output.staged(STATE))
        read = engine.spark.read.parquet(output.staged(STATE))
        state = read.withColumn("event_date", F.lit(date))
        rows = _rows(job, DAY, state, {})
        whole: list[Row] = []
        days = job.experiment_days(date)
        if days:
            earlier = read_days(engine.spark, places(str(job.out), STATE, days[:-1]))
            every = state if earlier is None else earlier.unionByName(state)
            whole = _rows(job, EXPERIMENT, every, _begun(job))
        tables = {}
        if job.out:
            manifest = {
                "job": "interleaving",
                "version": __version__,
                "engine": engine.name,
                "event_date": date,
                "run_ts": now(),
                "input": job.impressions or "",
                "options": options_of(job),
                "counts": counts,
            }
            if job.anytime and job.first_day:
                begun = (job.first_day, job.baseline, job.anytime_at)
                manifest["experiment"] = kept(*begun, whole)
            stage_rows(engine.spark, output, {"interleaving": ([*rows, *whole], INTERLEAVING)})
            output.write_json(MANIFEST, "_manifest.json", manifest)
            names = [STATE, "interleaving", MANIFEST]
            output.publish(names)
            tables = {name: output.published(name) for name in names}
        return Interleaved(engine.name, date, counts, [*rows, *whole], tables)


def _rows(
    job: InterleavingJob, period: str, state: DataFrame, mixtures: Mapping[Key, float]
) -> list[Row]:
    planned = job.anytime_at if job.anytime and period == EXPERIMENT else None
    found = summary_rows(team_differences(state, job.min_group, planned, mixtures))
    outcomes = {row["segment"]: row.asDict() for row in team_outcomes(state).collect()}
    rows = []
    for row in found:
        own = {k: v for k, v in outcomes[row["segment"]].items() if k != "segment"}
        sign = sign_test(own["buckets_for"], own["buckets_against"])
        rows.append({**row, "baseline": job.baseline, "period": period, **own, "sign_p": sign})
    return rows


def _counts(
    credits: DataFrame, job: InterleavingJob, log: Impressions, date: str
) -> dict[str, int]:
    """Impressions by what became of them.

    Raises:
        InputError: E103 for a day without an interleaved impression.
    """
    names = ("impressions", "bots", "no_team", "bad_teams", "bad_lengths", "bad_values")
    counts = dict.fromkeys((*names, "bad_positions", "empty"), 0)
    for row in credits.groupBy("problem", "is_bot").agg(F.sum("n").alias("n")).collect():
        counts[row["problem"] or ("bots" if row["is_bot"] else "impressions")] += int(row["n"])
    if not counts["impressions"]:
        said = ", ".join(f"{name} {n}" for name, n in counts.items() if n)
        if not said:
            there = [str(row["event_date"]) for row in log.dates_there().collect()]
            said = f"no row; the log has event_date {', '.join(there) or 'nowhere'}"
        raise InputError(
            "E103", f"no interleaved impression of {date} in {job.impressions}: {said}"
        )
    return counts
