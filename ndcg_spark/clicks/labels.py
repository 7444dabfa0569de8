"""Judgements from clicks: counts per document and place, and the qrels that follow from them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.options import PAPER
from ndcg_spark.engine.whole_sums import exact_sum
from ndcg_spark.errors import UsageError, unknown

METHODS = ("counts", "ctr", "coec", "dwell")


def click_counts(shown: DataFrame) -> DataFrame:
    """CLICK_COUNTS(query_id, doc_id, rank, n_impressions, n_clicks, gain): the sufficient statistic
    of every label and of every propensity estimate. `gain` is the largest seen.
    """
    return shown.groupBy("query_id", "doc_id", "rank").agg(
        F.sum("n_impressions").alias("n_impressions"),
        F.sum("n_clicks").alias("n_clicks"),
        F.max("gain").alias("gain"),
    )


def click_qrels(
    counts: DataFrame,
    method: str = "counts",
    thresholds: Sequence[tuple[float, float]] = PAPER,
    days: float = 1.0,
    prior: tuple[float, float] = (5.0, 95.0),
) -> DataFrame:
    """QRELS(query_id, doc_id, relevance, gain) from CLICK_COUNTS, as `evaluate` reads them.

    counts: relevance by number of clicks a day, ``((100, 1.0), (1001, 2.0))``: at least so many
    ctr:    gain = (clicks + a) / (impressions + a + b) with the prior Beta(a, b); relevance 1 where
        there was a click
    coec:   gain = clicks over expected clicks, the sum of the mean click rate of every place at
        which the document was shown
    dwell:  gain = the largest gain seen, which dwell thresholds have set

    Raises:
        UsageError: for a method that does not exist, or thresholds that do not ascend.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if list(thresholds) != sorted(thresholds) or days <= 0:
        raise UsageError(f"thresholds must ascend and days be positive: {thresholds}, {days}")
    if method == "coec":
        at_rank = counts.groupBy("rank").agg(
            (F.sum("n_clicks") / F.sum("n_impressions")).alias("rate")
        )
        counts = counts.join(F.broadcast(at_rank), "rank")
    else:
        counts = counts.withColumn("rate", F.lit(0.0))
    docs = counts.groupBy("query_id", "doc_id").agg(
        F.sum("n_impressions").alias("n"),
        F.sum("n_clicks").alias("k"),
        F.max("gain").alias("best"),
        exact_sum(F.col("rate") * F.col("n_impressions"), 30).alias("expected"),
    )
    some = F.when(F.col("k") > 0, 1.0).otherwise(0.0)
    relevance, gain = some, F.lit(None).cast("double")
    if method == "counts":
        relevance = F.lit(0.0)
        for fewest, grade in thresholds:
            enough = F.col("k") / F.lit(float(days)) >= fewest
            relevance = F.when(enough, F.lit(float(grade))).otherwise(relevance)
    elif method == "ctr":
        a, b = prior
        gain = (F.col("k") + F.lit(a)) / (F.col("n") + F.lit(a + b))
    elif method == "coec":
        gain = F.when(F.col("expected") > 0, F.col("k") / F.col("expected")).otherwise(0.0)
    else:
        gain = F.col("best")
    return docs.select("query_id", "doc_id", relevance.alias("relevance"), gain.alias("gain"))
