"""Columns that a log does not have but its own rows imply: bots by rule, and query frequency."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FREQUENCY = "frequency"
SHARES = (("head", 0.5), ("torso", 0.8), ("tail", 1.0))
CLICK_RATE = 0.9  # of a bot by clicks: hardly anybody clicks on nine of ten pages


def with_bots(
    observed: DataFrame, most_impressions: int | None, most_clicks: int | None
) -> DataFrame:
    """OBSERVED with `is_bot` also where a user's day breaks a rule; it has user_id and clicked.

    most_impressions: more of them in a day
    most_clicks: more clicked impressions, and these on more than 90 percent of all
    """
    days = (
        observed.where(F.col("user_id").isNotNull())
        .groupBy("event_date", "user_id")
        .agg(
            F.sum("n").alias("all"),
            F.sum(F.when(F.col("clicked"), F.col("n")).otherwise(0)).alias("k"),
        )
    )
    rule: Column = F.lit(False)
    if most_impressions is not None:
        rule = rule | (F.col("all") > most_impressions)
    if most_clicks is not None:
        rule = rule | ((F.col("k") > most_clicks) & (F.col("k") > F.col("all") * CLICK_RATE))
    bots = days.where(rule).select("event_date", "user_id", F.lit(True).alias("by_rule"))
    flagged = observed.join(bots, ["event_date", "user_id"], "left")
    is_bot = F.col("is_bot") | F.coalesce("by_rule", F.lit(False))
    return flagged.withColumn("is_bot", is_bot).drop("by_rule")


def frequency_histogram(observed: DataFrame) -> DataFrame:
    """HISTOGRAM(count, impressions): how many impressions belong to queries of each frequency."""
    return _query_counts(observed).groupBy("count").agg(F.sum("count").alias("impressions"))


def frequency_bounds(histogram: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """(name, smallest count) of head, torso and tail: the most frequent queries that make up half
    of all impressions, those up to 80 percent, and the rest. Equally frequent ones stay together.

    >>> frequency_bounds([(900, 900), (50, 600), (2, 300)])
    [('head', 900), ('torso', 50), ('tail', 2)]
    """
    total, seen, place = sum(n for _, n in histogram), 0, 0
    bounds: list[tuple[str, int]] = []
    for count, n in sorted(histogram, reverse=True):
        while place < len(SHARES) - 1 and seen >= SHARES[place][1] * total:
            place += 1
        name = SHARES[place][0]
        if bounds and bounds[-1][0] == name:
            bounds[-1] = (name, count)
        else:
            bounds.append((name, count))
        seen += n
    return bounds


def with_frequency(observed: DataFrame, bounds: Sequence[tuple[str, int]]) -> DataFrame:
    """OBSERVED, which has query_id, with `frequency`: head, torso or tail; null without a query."""
    label: Column = F.lit("null")
    for name, fewest in reversed(bounds):
        label = F.when(F.col("count") >= fewest, F.lit(name)).otherwise(label)
    named = _query_counts(observed).select("query_id", label.alias(FREQUENCY))
    joined = observed.join(named, "query_id", "left")
    return joined.withColumn(FREQUENCY, F.coalesce(FREQUENCY, F.lit("null")))


def _query_counts(observed: DataFrame) -> DataFrame:
    known = observed.where(F.col("query_id").isNotNull())
    return known.groupBy("query_id").agg(F.sum("n").alias("count"))
