"""Interleaved impressions to a state per bucket of users, and what it says of the teams."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.contrasts_kernel import Key
from ndcg_spark.clicks.impressions import Impressions, segment_texts
from ndcg_spark.clicks.states import with_doubles
from ndcg_spark.clicks.summary import arm_differences
from ndcg_spark.clicks.sums_kernel import LOW, SUMS, UNIT
from ndcg_spark.clicks.teams_kernel import CREDIT, OUTCOMES, PREFERENCE, credit_sums
from ndcg_spark.engine.whole_sums import of_parts

KEYS = ("event_date", "segment", "arm", "bucket")


def credit_counts(log: Impressions, baseline: str) -> DataFrame:
    """CREDIT_COUNTS(event_date, is_bot, bucket, <segments>, problem, credit, clicked, n)."""
    keys = ("event_date", "is_bot", "bucket", *log.log.shape.segments)
    found = log.credits(tuple(dict.fromkeys(keys)), baseline)
    rest = [name for name in found.columns if name != "n"]
    return found.groupBy(*rest).agg(F.sum("n").alias("n"))


def team_state(
    counts: DataFrame, candidate: str, segments: Sequence[str], clickless: str
) -> DataFrame:
    """INTERLEAVING_STATE(event_date, segment, arm, bucket, measure, n, …): DAILY_STATE of the
    measures preference, credit, wins, ties and losses of the candidate's team."""
    rows = counts.where(F.col("problem").isNull()).select(
        "event_date",
        F.explode(segment_texts(segments)).alias("segment"),
        F.lit(candidate).alias("arm"),
        "bucket",
        "credit",
        "clicked",
        "n",
    )
    same = rows.groupBy(*KEYS, "credit", "clicked").agg(F.sum("n").alias("n"))
    kinds = {f.name: f.dataType.simpleString() for f in same.schema.fields}
    schema = ", ".join(f"{key} {kinds[key]}" for key in KEYS) + ", measure string"
    kernel = functools.partial(credit_sums, keys=KEYS, clickless=clickless)
    sums = same.mapInArrow(kernel, schema + "".join(f", {name} bigint" for name in SUMS))
    return with_doubles(
        sums.groupBy(*KEYS, "measure").agg(*[F.sum(name).alias(name) for name in SUMS])
    )


def team_differences(
    state: DataFrame,
    smallest: int = 100,
    planned: int | None = None,
    mixtures: Mapping[Key, float] | None = None,
) -> DataFrame:
    """DIFFERENCES of preference and credit over all days of INTERLEAVING_STATE, from 0."""
    wanted = state.where(F.col("measure").isin(PREFERENCE, CREDIT))
    return arm_differences(wanted, None, smallest, planned=planned, mixtures=mixtures)


def team_outcomes(state: DataFrame) -> DataFrame:
    """OUTCOMES(segment, n, n_clickless, wins, ties, losses, buckets_for, buckets_against) over all
    days of INTERLEAVING_STATE; a bucket of users is for the team that won more often in it."""
    sums = [F.sum(name).alias(name) for name in ("n", "n_undefined", "sum_high", "sum_low")]
    cells = state.where(F.col("measure") != CREDIT).groupBy("segment", "bucket", "measure")
    one = cells.agg(*sums).withColumn(
        "total", of_parts(F.col("sum_high"), F.col("sum_low"), LOW, UNIT)
    )

    def of(measure: str, value: Column) -> Column:
        return F.sum(F.when(F.col("measure") == measure, value).otherwise(0)).cast("bigint")

    preferred = F.sign(F.col("total"))
    return one.groupBy("segment").agg(
        of(PREFERENCE, F.col("n")).alias("n"),
        of(PREFERENCE, F.col("n_undefined")).alias("n_clickless"),
        *[of(name, F.col("total")).alias(name) for name in OUTCOMES],
        of(PREFERENCE, F.when(preferred > 0, 1).otherwise(0)).alias("buckets_for"),
        of(PREFERENCE, F.when(preferred < 0, 1).otherwise(0)).alias("buckets_against"),
    )
