"""A day's state: how often every pattern of clicks was seen, and the sums that follow from it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.impressions import segment_texts
from ndcg_spark.clicks.log_kernel import Shape
from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.clicks.sums_kernel import LOW, MOST, SUMS, UNIT, measure_sums
from ndcg_spark.engine.whole_sums import of_parts
from ndcg_spark.measures import Measure


def click_patterns(observed: DataFrame, keys: Sequence[str]) -> DataFrame:
    """CLICK_PATTERNS(<keys>, pattern, problem, n, n_not_shown) of OBSERVED: counts, which add up
    over days, parts of days and machines.

    Every list measure at every cut-off follows from it exactly, later too. Impressions with a
    problem are counted under an empty pattern.
    """
    return merged_patterns(observed.select(*keys, "pattern", "problem", "n", "n_not_shown"))


def keys_of(shape: Shape, extra: Sequence[str] = ()) -> tuple[str, ...]:
    """The keys of CLICK_PATTERNS: event_date, arm, is_bot, bucket, <segments>, <extra>."""
    every = ("event_date", "arm", "is_bot", "bucket", *shape.segments, *extra)
    return tuple(dict.fromkeys(every))


def merged_patterns(several: DataFrame) -> DataFrame:
    """The sum of several CLICK_PATTERNS: half days to days, days to a week (drop event_date)."""
    keys = [name for name in several.columns if name not in ("n", "n_not_shown")]
    return several.groupBy(*keys).agg(
        F.sum("n").alias("n"), F.sum("n_not_shown").alias("n_not_shown")
    )


def daily_state(
    patterns: DataFrame,
    measures: Sequence[Measure],
    gains: Gains,
    segments: Sequence[str] = (),
    clickless: str = "undefined",
) -> DataFrame:
    """DAILY_STATE(event_date, segment, arm, bucket, measure, n, n_undefined, sum, sumsq, and the
    sums' exact parts): per bucket of users, mergeable over days.

    n counts impressions, n_undefined those without a click where `clickless` is undefined (else
    they count as 0). sum and sumsq are in doubles; their parts (…_high, …_low, whole numbers in
    units of 2^-20 and 2^-56) add up exactly and independent of the order.
    """
    return _summed(patterns, measures, gains, "bucket", segments, clickless)


def unit_state(
    patterns: DataFrame,
    measures: Sequence[Measure],
    gains: Gains,
    unit: str,
    segments: Sequence[str] = (),
    clickless: str = "undefined",
) -> DataFrame:
    """UNIT_STATE(event_date, segment, arm, unit_id, measure, n, …): the same per query or user.

    patterns: with the unit's column (query_id, user_id) among the keys
    """
    known = patterns.where(F.col(unit).isNotNull()).withColumn("unit_id", F.col(unit))
    return _summed(known, measures, gains, "unit_id", segments, clickless)


def _summed(
    patterns: DataFrame,
    measures: Sequence[Measure],
    gains: Gains,
    part: str,
    segments: Sequence[str],
    clickless: str,
) -> DataFrame:
    """The measures' sums per day, segment, arm and `part` (a bucket of users, a query, a user)."""
    keys = ("event_date", "segment", "arm", part)
    exploded = patterns.where(F.col("problem").isNull()).select(
        "event_date", "arm", part, "pattern", "n",
        F.explode(segment_texts(segments)).alias("segment"),
    )  # fmt: skip
    rows = exploded.groupBy(*keys, "pattern").agg(F.sum("n").alias("n"))
    kinds = {f.name: f.dataType.simpleString() for f in rows.schema.fields}
    schema = ", ".join([*(f"{key} {kinds[key]}" for key in keys), "measure string"])
    kernel = functools.partial(
        measure_sums,
        gains=gains.values,
        measures=tuple(measures),
        keys=keys,
        clickless=clickless,
    )
    partial = rows.select(*keys, "pattern", "n").mapInArrow(
        kernel, schema + "".join(f", {name} bigint" for name in SUMS)
    )
    return with_doubles(
        partial.groupBy(*keys, "measure").agg(*[F.sum(name).alias(name) for name in SUMS])
    )


def merged_state(several: DataFrame, over: Sequence[str] = ("event_date",)) -> DataFrame:
    """The sum of daily states over some of their keys, exactly: a week out of its days."""
    sums = [*SUMS, "sum", "sumsq"]
    keys = [name for name in several.columns if name not in (*sums, *over)]
    return with_doubles(several.groupBy(*keys).agg(*[F.sum(name).alias(name) for name in SUMS]))


def with_doubles(sums: DataFrame) -> DataFrame:
    """Sums as doubles beside their exact parts; the action fails where these may have overflown."""
    too_many = f"InputError: E136: more than {MOST} impressions of one bucket: give more --buckets"
    parts = {
        name: F.when(F.col("n") > MOST, F.raise_error(F.lit(too_many))).otherwise(
            of_parts(F.col(f"{name}_high"), F.col(f"{name}_low"), LOW, UNIT)
        )
        for name in ("sum", "sumsq")
    }
    return sums.select("*", *[column.alias(name) for name, column in parts.items()])
