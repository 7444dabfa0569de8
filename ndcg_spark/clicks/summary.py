"""From the stored state to means, intervals, differences between arms, and trends over dates."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.arrays.schemas import arrow_schema
from ndcg_spark.clicks import clusters_kernel as clusters
from ndcg_spark.clicks.contrasts_kernel import CELL, PAST, Design, Key, contrasts
from ndcg_spark.clicks.impressions import WITH_BOTS
from ndcg_spark.clicks.states import merged_state
from ndcg_spark.engine.whole_sums import whole_sum

CONFIDENCE = 0.95
DAILY = (
    "segment string, arm string, unit string, measure string, n_units bigint, "
    "n_undefined bigint, mean double, std double, ci_low double, ci_high double, "
    "sum_weight double, se double, coverage double, suppressed boolean, n_buckets bigint, "
    "weighted double, sqrt_weighted double"
)
DIFFERENCES = (
    "segment string, measure string, baseline string, candidate string, mean_baseline double, "
    "mean_candidate double, delta double, se double, ci_low double, ci_high double, t double, "
    "p_value double, n_buckets bigint, first_date string, days bigint, estimate string, "
    "theta double, variance_removed double, cs_low double, cs_high double, p_anytime double, "
    "mixture double"
)
PSEUDO = "run_id string, query_id bigint, segment string, measure string, value double"


def click_summary(state: DataFrame, buckets: int = 1000, smallest: int = 100) -> DataFrame:
    """DAILY of the unit impression: per segment, measure and arm the mean over impressions, over
    all dates given.

    Errors and 95 percent intervals are clustered by user (kernel/clusters.py); std is that of an
    impression. A group with fewer than `smallest` impressions is `suppressed`: counted, without a
    mean. `coverage` is the share of impressions with a value, sum_weight their number.
    """
    kernel = functools.partial(
        clusters.summaries,
        buckets=buckets,
        confidence=CONFIDENCE,
        smallest=smallest,
        schema=arrow_schema(DAILY),
    )
    return _by_arms(state).mapInArrow(kernel, DAILY)


def arm_differences(
    state: DataFrame,
    baseline: str | None,
    smallest: int = 100,
    past: DataFrame | None = None,
    planned: int | None = None,
    mixtures: Mapping[Key, float] | None = None,
) -> DataFrame:
    """ARM_DIFFERENCES: every arm against the baseline over all days of the state, with an interval
    clustered by user; without a baseline every arm's mean against 0.

    past: PAST_STATE(segment, arm, bucket, measure, sums) of the arms' users from before; with it
        each difference comes a second time, as `cuped`
    planned: the night for which confidence sequences are narrow; None: none are made
    mixtures: of sequences that began earlier
    """
    design = Design(smallest, baseline, CONFIDENCE, planned, mixtures or {})
    keys = ("segment", "measure", *CELL)
    day = F.col("event_date").cast("string") if "event_date" in state.columns else F.lit("")
    cells = state.withColumn("event_date", day).select(*keys)
    if past is not None:
        cells = cells.unionByName(past.withColumn("event_date", F.lit(PAST)).select(*keys))
    together = cells.groupBy("segment", "measure").agg(
        F.collect_list(F.struct(*CELL)).alias("cells")
    )
    kernel = functools.partial(contrasts, design=design, schema=arrow_schema(DIFFERENCES))
    return together.mapInArrow(kernel, DIFFERENCES)


def arm_scores(state: DataFrame, smallest: int = 100) -> DataFrame:
    """Arms as systems and buckets of users as queries: run_id, query_id, segment, measure, value.

    The input of a comparison whose errors are clustered by user (`clusters.pseudo_values`). An arm
    with fewer than `smallest` impressions is left out, and so is the segment ``all+bots``: it asks
    what ``all`` asks, and would be corrected for as another question.
    """
    kernel = functools.partial(
        clusters.pseudo_values, smallest=smallest, schema=arrow_schema(PSEUDO)
    )
    people = state.where(F.col("segment") != WITH_BOTS)
    return _by_arms(people).mapInArrow(kernel, PSEUDO)


def unit_summary(state: DataFrame, unit: str) -> DataFrame:
    """DAILY of UNIT_STATE (per query or user): three means side by side.

    mean: every unit counts alike, with Student's interval by the units' deviation; weighted: by
    its impressions (the mean over impressions); sqrt_weighted: by the square root of its
    impressions. n_undefined counts the units without any defined value.
    """
    cells = merged_state(state)
    n = F.col("n") - F.col("n_undefined")
    # whole units of 2^-30 of a unit's mean: such sums do not depend on the order of their terms
    mean, root = F.col("sum") / n, F.sqrt(n.cast("double"))

    def exact(value: Column) -> Column:
        return whole_sum(value, 30, wide=True)

    some = F.when(n > 0, F.lit(1)).otherwise(F.lit(None))
    unscaled = F.lit(2.0**-30)
    sums = cells.groupBy("segment", "arm", "measure").agg(
        F.count(F.lit(1)).alias("n_units"),
        F.count(some).alias("known"),
        (exact(F.when(n > 0, mean)) * unscaled).alias("total"),
        (exact(F.when(n > 0, mean * mean)) * unscaled).alias("squares"),
        (exact(F.when(n > 0, F.col("sum"))) / _some(F.sum(n)) * unscaled).alias("weighted"),
        (exact(F.when(n > 0, mean * root)) / exact(F.when(n > 0, root))).alias("sqrt_weighted"),
    )
    kernel = functools.partial(
        clusters.unit_intervals, confidence=CONFIDENCE, schema=arrow_schema(DAILY)
    )
    return _unit_means(sums, unit).mapInArrow(kernel, DAILY)


def _unit_means(sums: DataFrame, unit: str) -> DataFrame:
    """DAILY without its intervals, from sums over units."""
    known = F.col("known")
    center = F.col("total") / _some(known)
    spread = F.greatest(F.col("squares") - known * center * center, F.lit(0.0))
    std = F.sqrt(spread / F.when(known > 1, known - 1))
    se = std / F.sqrt(_some(known).cast("double"))
    none = F.lit(None)
    return sums.select(
        "segment",
        "arm",
        F.lit(unit).alias("unit"),
        "measure",
        "n_units",
        (F.col("n_units") - known).alias("n_undefined"),
        center.alias("mean"),
        std.alias("std"),
        none.cast("double").alias("ci_low"),
        none.cast("double").alias("ci_high"),
        known.cast("double").alias("sum_weight"),
        se.alias("se"),
        (known / F.col("n_units")).alias("coverage"),
        F.lit(False).alias("suppressed"),
        none.cast("bigint").alias("n_buckets"),
        "weighted",
        "sqrt_weighted",
    )


def _some(count: Column) -> Column:
    """The count, null where it is 0: engines refuse to divide by that."""
    return F.when(count > 0, count)


def _by_arms(state: DataFrame) -> DataFrame:
    """One row a segment and measure, with the sums of all arms and buckets."""
    cells = merged_state(state)
    cell = F.struct("arm", "bucket", "n", "n_undefined", "sum", "sumsq")
    return cells.groupBy("segment", "measure").agg(F.collect_list(cell).alias("arms"))


def combined(segments: Sequence[str]) -> list[str]:
    """The columns that a list of segments and combinations, country|device, is made of."""
    return list(dict.fromkeys(name for segment in segments for name in segment.split("|")))
