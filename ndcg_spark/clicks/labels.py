"""Judgements from clicks: counts per document and place, and the qrels that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.options import PAPER
from ndcg_spark.engine.whole_sums import exact_sum
from ndcg_spark.errors import InputError, UsageError, unknown
from ndcg_spark.stats.beta import beta_quantiles

METHODS = ("counts", "ctr", "coec", "dwell", "ips")


def click_counts(shown: DataFrame) -> DataFrame:
    """CLICK_COUNTS(query_id, doc_id, rank, n_impressions, n_clicks, gain): the sufficient statistic
    of every label and of every propensity estimate. `gain` is the largest seen.
    """
    return shown.groupBy("query_id", "doc_id", "rank").agg(
        F.sum("n_impressions").alias("n_impressions"),
        F.sum("n_clicks").alias("n_clicks"),
        F.max("gain").alias("gain"),
    )


def one_vote_a_user(shown: DataFrame) -> DataFrame:
    """SHOWN with user_id, in which a user sees and clicks a query's document once: whether ever,
    at the best rank that it had. Impressions without a user count as they are.
    """
    known = shown.where(F.col("user_id").isNotNull())
    votes = known.groupBy("query_id", "doc_id", "user_id").agg(
        F.min("rank").alias("rank"),
        F.lit(1).cast("bigint").alias("n_impressions"),
        F.max((F.col("n_clicks") > 0).cast("bigint")).alias("n_clicks"),
        F.max("gain").alias("gain"),
    )
    return votes.unionByName(shown.where(F.col("user_id").isNull())).drop("user_id")


def shown_for_labels(log: Impressions, votes: str) -> DataFrame:
    """SHOWN(query_id, doc_id, rank, …): of impressions, or of users.

    Raises:
        InputError: E110 where users vote and the log has none.
    """
    if votes == "impression":
        return log.shown(["query_id"])
    if "user_id" not in log.log.has:
        own = log.log.shape.own("user_id")
        raise InputError("E110", f"impressions: --votes user needs users; there is no column {own}")
    return one_vote_a_user(log.shown(["query_id", "user_id"]))


def click_qrels(
    counts: DataFrame,
    method: str = "counts",
    thresholds: Sequence[tuple[float, float]] = PAPER,
    days: float = 1.0,
    prior: tuple[float, float] = (5.0, 95.0),
    lower: float | None = None,
    by_quantile: bool = False,
    propensities: DataFrame | None = None,
) -> DataFrame:
    """QRELS(query_id, doc_id, relevance, gain) from CLICK_COUNTS, as `evaluate` reads them.

    counts: relevance by number of clicks a day, ``((100, 1.0), (1001, 2.0))``: at least so many
    ctr:    gain = (clicks + a) / (impressions + a + b) with the prior Beta(a, b); relevance 1 where
        there was a click
    coec:   gain = clicks over expected clicks, the sum of the mean click rate of every place at
        which the document was shown
    dwell:  gain = the largest gain seen, which dwell thresholds have set
    ips:    gain = clicks, each over the propensity of its place, over impressions: an estimate of
        the document's attraction without position bias. nDCG of such gains divides by an ideal that
        is estimated from the same clicks: a ratio estimate, per query, and not unbiased

    propensities: of ips: (rank, propensity)
    lower: ctr's gain is instead what the click rate exceeds with a probability of 1 - lower, its
        posterior's quantile: few impressions prove little
    by_quantile: thresholds are shares, ``((0.5, 1.0), (0.9, 2.0))``: relevance by how many of the
        query's shown documents have no more clicks (of counts; of the others, no larger gain); a
        document without a click stays 0

    Raises:
        UsageError: for a method that does not exist, thresholds that do not ascend or are no
            shares, a lower bound without ctr.
    """
    _refuse(method, thresholds, days, lower, by_quantile)
    counts = _with_figures(counts, method, propensities)
    docs = counts.groupBy("query_id", "doc_id").agg(
        F.sum("n_impressions").alias("n"),
        F.sum("n_clicks").alias("k"),
        F.max("gain").alias("best"),
        exact_sum(F.col("rate") * F.col("n_impressions"), 30).alias("expected"),
        exact_sum(F.col("weight") * F.col("n_clicks"), 30).alias("weighted"),
    )
    some = F.when(F.col("k") > 0, 1.0).otherwise(0.0)
    relevance, gain = some, F.lit(None).cast("double")
    if method == "counts":
        relevance = _graded(F.col("k") / F.lit(float(days)), thresholds)
    elif method == "ctr":
        a, b = prior
        gain = (F.col("k") + F.lit(a)) / (F.col("n") + F.lit(a + b))
        if lower is not None:
            gain = _lower_bounds(lower, a, b)(F.col("k"), F.col("n"))
    elif method == "coec":
        gain = F.when(F.col("expected") > 0, F.col("k") / F.col("expected")).otherwise(0.0)
    elif method == "ips":
        gain = F.col("weighted") / F.col("n")
    else:
        gain = F.col("best")
    docs = docs.withColumn("gain", gain)
    if by_quantile:
        figure = F.col("k" if method == "counts" else "gain")
        share = F.cume_dist().over(Window.partitionBy("query_id").orderBy(figure))
        docs = docs.withColumn("share", share)
        relevance = F.when(F.col("k") > 0, _graded(F.col("share"), thresholds)).otherwise(0.0)
    return docs.select("query_id", "doc_id", relevance.alias("relevance"), "gain")


def _with_figures(counts: DataFrame, method: str, propensities: DataFrame | None) -> DataFrame:
    """CLICK_COUNTS with the mean click rate of their rank (coec), and what a click there weighs.

    Raises:
        UsageError: for ips without propensities. The action fails with E137 where a click's rank
            has none.
    """
    rate, weight = F.lit(0.0), F.lit(1.0)
    if method == "coec":
        at_rank = counts.groupBy("rank").agg(
            (F.sum("n_clicks") / F.sum("n_impressions")).alias("rate")
        )
        counts, rate = counts.join(F.broadcast(at_rank), "rank"), F.col("rate")
    if method == "ips":
        if propensities is None:
            raise UsageError("method ips needs propensities, as click-bias writes them")
        known = propensities.select(
            F.col("rank").cast("int").alias("rank"), F.col("propensity").cast("double")
        )
        counts = counts.join(F.broadcast(known), "rank", "left")
        bare = F.concat(
            F.lit("InputError: E137: a click at rank "),
            F.col("rank").cast("string"),
            F.lit(", which has no propensity"),
        )
        usable = F.col("propensity") > 0
        weight = F.when(F.col("n_clicks") == 0, 0.0).when(usable, 1 / F.col("propensity"))
        weight = weight.otherwise(F.raise_error(bare))
    return counts.withColumn("rate", rate).withColumn("weight", weight)


def _refuse(
    method: str,
    thresholds: Sequence[tuple[float, float]],
    days: float,
    lower: float | None,
    by_quantile: bool,
) -> None:
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if list(thresholds) != sorted(thresholds) or days <= 0:
        raise UsageError(f"thresholds must ascend and days be positive: {thresholds}, {days}")
    if by_quantile and not all(0 < share <= 1 for share, _ in thresholds):
        raise UsageError(f"quantiles must lie above 0 and not above 1: {thresholds}")
    if lower is not None and (method != "ctr" or not 0 < lower < 1):
        raise UsageError(f"a lower bound is a probability, for method ctr: {lower}, {method}")


def _graded(figure: Column, thresholds: Sequence[tuple[float, float]]) -> Column:
    """The grade of the last threshold that the figure reaches; 0 below the first."""
    grade = F.lit(0.0)
    for fewest, own in thresholds:
        grade = F.when(figure >= fewest, F.lit(float(own))).otherwise(grade)
    return grade


def _lower_bounds(p: float, a: float, b: float) -> Callable[[Column, Column], Column]:
    """The posterior's p-quantile of clicks and impressions, each different pair once."""

    def bounds(clicks: pd.Series, impressions: pd.Series) -> pd.Series:
        pairs = np.stack([clicks.to_numpy("float64"), impressions.to_numpy("float64")])
        (k, n), row = np.unique(pairs, axis=1, return_inverse=True)
        return pd.Series(beta_quantiles(p, a + k, b + np.maximum(n - k, 0.0))[row.ravel()])

    found: Any = pandas_udf(bounds, "double")  # type: ignore[call-overload]
    return cast(Callable[[Column, Column], Column], found)
