"""What of a ranking was judged: one row per run and query with its judged hits."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.measures import Policies
from ndcg_spark.plan.rank import by_query


def labels(qrels: DataFrame) -> DataFrame:
    """QRELS with each document once: its best label, and `copies`, how often it was judged."""
    if "gain" in qrels.columns:
        best = F.max(F.struct("relevance", "gain"))
    else:  # the maximum of a plain number needs no sort
        best = F.struct(F.max("relevance").alias("relevance"))
    grouped = by_query(qrels).groupBy("query_id", "doc_id")
    return grouped.agg(best.alias("label"), F.count(F.lit(1)).alias("copies"))


def judge(
    ranked: DataFrame,
    labels: DataFrame,
    policies: Policies,
    cutoffs: Sequence[int],
    with_scores: bool = False,
) -> DataFrame:
    """JUDGED(query_id, run_id, n_ret, hits, …): the judged hits of every list, and its length.

    A hit is (rank, label), with the places of its tie where the policies ask for them, and with its
    score where a measure does or where ties across a cut-off are counted: then the documents on
    both sides of each cut-off are among the hits, unjudged ones with a null label.

    The labels are the build side of a hash join, which keeps the ranking's distribution and
    order. Beside the hits come the columns by which the kernel refuses bad input, so that the
    checks need no pass of their own:

        n_repeats: documents listed twice, by their 64-bit hashes
        ranks: the given ranks, to find gaps and repeats
        n_bad_docs, n_bad_scores, n_duplicates: counts
    """
    right = labels.select("query_id", "doc_id", "label")
    joined = ranked.join(right.hint("shuffle_hash"), ["query_id", "doc_id"], "left")
    by_score = policies.order_by == "score"
    near = sorted({k for cutoff in cutoffs for k in (cutoff, cutoff + 1)}) if by_score else []
    wanted = F.col("label.relevance").isNotNull()
    hit = [F.col("rank"), F.col("label")]
    hit += [F.col("tie_first"), F.col("tie_size")] if policies.over_orders else []
    hit += [F.col("score")] if near or (with_scores and by_score) else []
    if near:
        wanted |= F.col("rank").isin(near)
    check_docs = policies.duplicate_docs == "error"
    lists = joined.groupBy("query_id", "run_id").agg(
        F.count(F.lit(1)).alias("n_ret"),
        F.collect_list(F.when(wanted, F.struct(*hit))).alias("hits"),
        _when(check_docs, F.collect_list(F.xxhash64("doc_id"))).alias("docs"),
        _when(not by_score, F.collect_list("rank")).alias("ranks"),
        _count(F.col("doc_id").isNull() | (F.col("doc_id").cast("string") == "")).alias(
            "n_bad_docs"
        ),
        _count(F.col("score" if by_score else "rank").isNull()).alias("n_bad_scores"),
        F.sum(F.col("copies") - 1).alias("n_duplicates"),
    )
    # counted here, so that the hashes of all documents travel no further
    repeats = F.size("docs") - F.size(F.array_distinct("docs")) if check_docs else F.lit(0)
    return lists.withColumn("n_repeats", repeats.cast("bigint")).drop("docs")


def _when(wanted: bool, column: Column) -> Column:
    return column if wanted else F.lit(None).cast("array<bigint>")


def _count(condition: Column) -> Column:
    return F.sum(F.when(condition, 1).otherwise(0))
