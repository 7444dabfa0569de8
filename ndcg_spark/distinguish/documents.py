"""The documents of every query with all rankers' scores and their label: one shuffle by query."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine.shuffle import by_query
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.tables.contracts import CLICKS, QRELS, RUNS, Contract, Field, conform, same_ids

NAMED = Contract("runs", (Field("run_id", "text"), *RUNS.fields[1:]))


def conformed_runs(runs: DataFrame) -> DataFrame:
    """run_id, query_id, doc_id, score."""
    return conform(runs, NAMED)


def labels_of_qrels(qrels: DataFrame) -> DataFrame:
    """query_id, doc_id, label."""
    table = conform(qrels, QRELS)
    return table.select("query_id", "doc_id", F.col("relevance").alias("label"))


def labels_of_clicks(clicks: DataFrame, thresholds: Sequence[int]) -> DataFrame:
    """query_id, doc_id, label: 1 from the first threshold of clicks on, 2 above the second, …

    Several rows of a document are added up.
    """
    table = conform(clicks, CLICKS).groupBy("query_id", "doc_id").agg(F.sum("n_clicks").alias("n"))
    label: Column = (F.col("n") >= thresholds[0]).cast("double")
    for threshold in thresholds[1:]:
        label = label + (F.col("n") > threshold).cast("double")
    return table.select("query_id", "doc_id", F.coalesce(label, F.lit(0.0)).alias("label"))


def documents(runs: DataFrame, labels: DataFrame, names: Sequence[str]) -> DataFrame:
    """DOCUMENTS(query_id, hash[], label[], score_0[], …, repeats), the lists side by side.

    NaN where a ranker has no score, or nobody a label; a document that nobody scores is left out.
    repeats: how many scores are there more than once.

    Raises:
        InputError: E140 where the ids of both tables differ in type.
    """
    same_ids(runs, labels, ("runs", "labels"))
    score = F.col("score").cast("double")
    listed = runs.select("query_id", "doc_id", "run_id", score.alias("score"), _null("label"))
    judged = labels.select(
        "query_id", "doc_id", F.lit(None).cast("string").alias("run_id"), _null("score"), "label"
    )
    own = [F.when(F.col("run_id") == run, F.col("score")) for run in names]
    rows = by_query(listed.unionByName(judged))
    known = rows.groupBy("query_id", "doc_id").agg(
        *[F.max(value).alias(f"score_{place}") for place, value in enumerate(own)],
        F.max("label").alias("label"),
        *[F.count(value).alias(f"times_{place}") for place, value in enumerate(own)],
    )
    times = [F.col(f"times_{place}") for place in range(len(names))]
    repeats = sum((F.when(n > 1, 1).otherwise(0) for n in times), F.lit(0))
    scored = sum(times, F.lit(0)) > 0
    values = ["label", *(f"score_{place}" for place in range(len(names)))]
    text = [F.col(name).cast("string") for name in ("query_id", "doc_id")]
    flat = known.where(scored).select(
        text[0].alias("query_id"),
        F.xxhash64(*text).alias("hash"),
        *[F.coalesce(name, F.lit(float("nan"))).alias(name) for name in values],
        repeats.cast("bigint").alias("repeats"),
    )
    return flat.groupBy("query_id").agg(
        *[F.collect_list(name).alias(name) for name in ("hash", *values)],
        F.sum("repeats").alias("repeats"),
    )


def _null(name: str) -> Column:
    return F.lit(None).cast("double").alias(name)


def checked_thresholds(thresholds: Sequence[int]) -> tuple[int, ...]:
    """Thresholds of clicks, ascending.

    Raises:
        UsageError: for none, or what does not ascend from 1 on.
    """
    found = tuple(thresholds)
    if not found or any(b <= a for a, b in itertools.pairwise((0, *found))):
        raise UsageError(f"thresholds must be positive and ascend, as in 100, 1000; not {found}")
    return found


def refuse_few(kept: int, largest: int, fewest: int) -> None:
    """Refuse an input of which no query is long enough."""
    if not kept:
        raise InputError(
            "E172",
            f"no query has {fewest} documents that every ranker scores; the largest has {largest}. "
            "Give smaller sizes with --grid, or --min-docs",
        )
