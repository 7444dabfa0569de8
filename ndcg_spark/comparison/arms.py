"""The arms of a click log's stored state as systems, and their confidence sequences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.clicks.api import WITH_BOTS, arm_differences, begun_with, refuse_unlike
from ndcg_spark.comparison.options import CompareJob
from ndcg_spark.tables.paths import table_in
from ndcg_spark.tables.read import read_table

SEQUENCE = "cs_low double, cs_high double, p_anytime double"
KEYS = ("segment", "measure", "candidate")
Row = dict[str, Any]


def stored_state(job: CompareJob, spark: SparkSession, local: bool) -> DataFrame:
    """The state of the job's days.

    Raises:
        InputError: E173 for days that were made with other options.
    """
    days = job.first_and_last or ("", "9999-12-31")
    refuse_unlike(_place(job), lambda date: days[0] <= date <= days[1])
    source = table_in(str(job.state), "daily_state")
    state = read_table(spark, "state", source, glob=job.glob, local=local)
    if job.first_and_last:
        state = state.where(F.col("event_date").cast("string").between(*days))
    return state


def anytime_rows(job: CompareJob, spark: SparkSession, local: bool) -> Mapping[Any, Row]:
    """The confidence sequences of the differences from the baseline, by segment, measure and
    candidate: those that `clicks` began on the first of the days, or such as it would have begun.

    Raises:
        InputError: E173 where they began with another --anytime-at.
    """
    state = stored_state(job, spark, local).where(F.col("segment") != WITH_BOTS)
    first = state.select(F.min(F.col("event_date").cast("string"))).collect()[0][0] or ""
    baseline = str(job.baseline)
    mixtures = begun_with(_place(job), first, baseline, job.anytime_at)
    found = arm_differences(
        state, baseline, job.min_group, planned=job.anytime_at, mixtures=mixtures
    )
    return {tuple(row[key] for key in KEYS): row.asDict() for row in found.collect()}


def sequence_of(found: Mapping[Any, Row], row: Mapping[str, Any]) -> Row:
    """What the sequences say of a row of the comparison."""
    own = found.get(tuple(row[key] for key in KEYS), {})
    return {name.split()[0]: own.get(name.split()[0]) for name in SEQUENCE.split(", ")}


def _place(job: CompareJob) -> str:
    return str(job.state).rstrip("/").removesuffix("/daily_state")
