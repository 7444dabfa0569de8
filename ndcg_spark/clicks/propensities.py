"""Position bias: propensities of the position-based model, and estimates weighted by them.

The model: P(click) = propensity(rank) * relevance. CLICK_COUNTS (labels.py) is all that the
estimators read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.engine.whole_sums import exact_sum, whole_sum
from ndcg_spark.errors import unknown
from ndcg_spark.measures.batch import Array

METHODS = ("naive", "randomized", "adjacent_chain", "pivot")
LAMBDAS: dict[str, Callable[[int], float]] = {
    "dcg": lambda rank: 1 / math.log2(1 + rank),
    "rr": lambda rank: 1 / rank,
    "recall": lambda rank: 1.0,
}
UTILITIES = tuple(LAMBDAS)


def power_law(eta: float, depth: int) -> Array:
    """(depth,) propensities (1 / rank)^eta.

    >>> power_law(1.0, 4).round(3)
    array([1.   , 0.5  , 0.333, 0.25 ])
    """
    return np.arange(1, depth + 1, dtype=np.float64) ** -eta


def rank_ratios(counts: DataFrame, method: str) -> DataFrame:
    """RATIOS(rank, to_rank, rate, to_rate, n_pairs): what `propensities` chains; one row a rank.

    naive, randomized: click rates of the ranks (naive mixes relevance in: wrong on logs of one
        ranker; randomized is the same on randomized traffic, where it is right)
    adjacent_chain: rank against rank + 1 over the (query, document) seen at both, each weighted by
        the smaller of its numbers of impressions (intervention harvesting, Agarwal et al. 2019)
    pivot: rank 1 against every other rank in the same way

    Raises:
        UsageError: for a method that does not exist.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if method in ("naive", "randomized"):
        rates = counts.groupBy("rank").agg(
            (F.sum("n_clicks") / F.sum("n_impressions")).alias("to_rate"),
            F.count(F.lit(1)).alias("n_pairs"),
        )
        first = rates.where("rank = 1").select(F.col("to_rate").alias("rate"))
        return rates.crossJoin(F.broadcast(first)).select(
            F.lit(1).alias("rank"), F.col("rank").alias("to_rank"), "rate", "to_rate", "n_pairs"
        )
    one = counts.select(
        "query_id", "doc_id", "rank",
        F.col("n_impressions").alias("n"), F.col("n_clicks").alias("k"),
    )  # fmt: skip
    other = counts.select(
        "query_id", "doc_id", F.col("rank").alias("to_rank"),
        F.col("n_impressions").alias("to_n"), F.col("n_clicks").alias("to_k"),
    )  # fmt: skip
    both = one.join(other, ["query_id", "doc_id"])
    if method == "adjacent_chain":
        both = both.where("to_rank = rank + 1")
    else:
        both = both.where("rank = 1")
    weight = F.least("n", "to_n")

    def rate(k: str, n: str) -> Column:
        return whole_sum(weight * F.col(k) / F.col(n), 20)

    return both.groupBy("rank", "to_rank").agg(
        rate("k", "n").cast("double").alias("rate"),
        rate("to_k", "to_n").cast("double").alias("to_rate"),
        F.count(F.lit(1)).alias("n_pairs"),
    )


def chained(ratios: Sequence[tuple[int, int, float, float]], method: str) -> dict[int, float]:
    """rank -> propensity of (rank, to_rank, rate, to_rate); the first rank has 1.

    A chain ends where two neighbouring ranks have no pair, or no click, in common.

    >>> chained([(1, 2, 4.0, 2.0), (2, 3, 3.0, 2.0)], "adjacent_chain")
    {1: 1.0, 2: 0.5, 3: 0.3333333333333333}
    """
    found = {1: 1.0}
    for rank, to_rank, rate, to_rate in sorted(ratios):
        if rate <= 0 or to_rate <= 0:
            continue
        start = found.get(rank) if method == "adjacent_chain" else 1.0
        if start is not None:
            found[to_rank] = start * to_rate / rate
    return found


def fitted_eta(propensities: dict[int, float]) -> float:
    """The power law's exponent, by least squares of log propensity on log rank through 1."""
    ranks = np.log([rank for rank in propensities if rank > 1])
    logs = np.log([propensities[rank] for rank in propensities if rank > 1])
    return float(-(ranks @ logs) / (ranks @ ranks))


def candidate_ranks(run: DataFrame) -> DataFrame:
    """NEW_RANKS(query_id, doc_id, new_rank) of a candidate run, by score and then by doc_id."""
    order = Window.partitionBy("query_id").orderBy(
        F.desc_nulls_last("score"), F.desc(F.col("doc_id").cast("string"))
    )
    ranked = run.withColumn("new_rank", F.row_number().over(order))
    return ranked.select(
        F.col("query_id").cast("string").alias("query_id"),
        F.col("doc_id").cast("string").alias("doc_id"),
        "new_rank",
    )


def worth_of(rank: Column, utility: str) -> Column:
    """lambda(rank): dcg 1 / log2(1 + r), rr 1 / r, recall 1.

    Raises:
        UsageError: for a utility that does not exist.
    """
    if utility not in UTILITIES:
        raise unknown("utility", utility, UTILITIES)
    return {
        "dcg": F.lit(1.0) / F.log2(F.lit(1.0) + rank),
        "rr": F.lit(1.0) / rank,
        "recall": F.lit(1.0),
    }[utility]


def candidate_support(
    queries: DataFrame, shown: DataFrame, new_ranks: DataFrame, utility: str, depth: int
) -> DataFrame:
    """SUPPORT(n_queries, n_missing, n_documents, n_shown, weight, weight_shown), one row: how much
    of the candidate's first `depth` documents the log has ever shown for their query.

    queries: (query_id, n) with the number of people's impressions

    A query counts by its impressions in the weights, a place by its lambda; a query that the
    candidate lacks has nothing that was shown. What was never shown has no clicks, and would count
    as worthless: only re-rankings of shown documents can be judged.
    """
    there = shown.select("query_id", "doc_id").distinct().withColumn("there", F.lit(1))
    listed = new_ranks.where(F.col("new_rank") <= depth)
    worth, seen = worth_of(F.col("new_rank"), utility), F.coalesce("there", F.lit(0))
    lists = (
        listed.join(there, ["query_id", "doc_id"], "left")
        .groupBy("query_id")
        .agg(
            F.count(F.lit(1)).alias("documents"),
            F.sum(seen).alias("shown"),
            exact_sum(worth, 30).alias("listed_worth"),
            exact_sum(worth * seen, 30).alias("shown_worth"),
        )
    )
    whole = sum(LAMBDAS[utility](rank) for rank in range(1, depth + 1))
    rows = queries.join(lists, "query_id", "left")
    listed_worth = F.coalesce("listed_worth", F.lit(float(whole)))
    return rows.agg(
        F.count(F.lit(1)).alias("n_queries"),
        F.sum(F.when(F.col("documents").isNull(), 1).otherwise(0)).alias("n_missing"),
        F.sum("documents").alias("n_documents"),
        F.sum("shown").alias("n_shown"),
        exact_sum(F.col("n") * listed_worth, 20).alias("weight"),
        exact_sum(F.col("n") * F.coalesce("shown_worth", F.lit(0.0)), 20).alias("weight_shown"),
    )


def weighted_clicks(
    shown: DataFrame,
    propensities: DataFrame,
    utility: str = "dcg",
    cutoff: int | None = None,
    clip: float = 0.0,
    new_ranks: DataFrame | None = None,
) -> DataFrame:
    """IPS_STATE(name, bucket, rank, n_clicks, sum_value, sum_weight, sum_weight_squared,
    max_weight, n_clipped, n_unsupported): per table of propensities, bucket and shown rank.

    A click at a shown rank weighs 1 / max(propensity, clip) and is worth lambda of its rank: the
    shown one, or with `new_ranks` the candidate's, 0 where the candidate lacks it (unsupported).
    lambda: dcg 1 / log2(1 + r), rr 1 / r, recall 1; 0 below the cut-off.
    A click at a rank without propensity is refused by the job.
    """
    clicks = shown.where("n_clicks > 0")
    rank: Column = F.col("rank")
    if new_ranks is not None:
        clicks = clicks.join(new_ranks, ["query_id", "doc_id"], "left")
        rank = F.col("new_rank")
    worth = worth_of(rank, utility)
    inside = rank.isNotNull() if cutoff is None else rank.isNotNull() & (rank <= cutoff)
    known = propensities.select("name", F.col("rank"), "propensity")
    rows = clicks.join(F.broadcast(known), "rank").select(
        "name",
        "bucket",
        "rank",
        "n_clicks",
        F.when(inside, worth).otherwise(0.0).alias("worth"),
        rank.isNull().alias("unsupported"),
        (F.lit(1.0) / F.greatest("propensity", F.lit(clip))).alias("weight"),
        (F.col("propensity") < clip).alias("clipped"),
    )
    n = F.col("n_clicks")
    return rows.groupBy("name", "bucket", "rank").agg(
        F.sum("n_clicks").alias("n_clicks"),
        exact_sum(F.col("worth") * F.col("weight"), 24, times=n).alias("sum_value"),
        exact_sum(F.col("weight"), 24, times=n).alias("sum_weight"),
        exact_sum(F.col("weight") * F.col("weight"), 24, times=n).alias("sum_weight_squared"),
        F.max("weight").alias("max_weight"),
        F.sum(F.when(F.col("clipped"), n).otherwise(0)).alias("n_clipped"),
        F.sum(F.when(F.col("unsupported"), n).otherwise(0)).alias("n_unsupported"),
    )
