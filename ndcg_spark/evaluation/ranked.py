"""Runs with every document's rank, by window functions over lists of any length."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.errors import InputError
from ndcg_spark.evaluation.refuse_kernel import REFUSED
from ndcg_spark.measures import Policies

LIST = ("run_id", "query_id")
RUNNING = (Window.unboundedPreceding, Window.currentRow)
FRACTIONS = (T.FloatType, T.DoubleType)


def ranked_lists(runs: DataFrame, policies: Policies) -> DataFrame:
    """LIST, doc_id, key, rank, repeats, last, tied_next: a list's documents once, in their order.

    key:       the score, or the rank that was given; null where a score is no number
    repeats:   how many rows of the list, up to this one, are of documents that it had before
    last:      whether it is the list's last document
    tied_next: whether the next one has the same score

    A row that the policies refuse makes the action fail.
    """
    rows = _once(runs, policies)
    following = Window.partitionBy(*LIST).orderBy(*total_order(policies))
    repeats = F.lit(0)
    if policies.duplicate_docs == "max":
        repeats = F.sum(F.col("copies") - 1).over(following.rowsBetween(*RUNNING))
    placed = rows.select(
        "*",
        repeats.cast("bigint").alias("repeats"),
        F.row_number().over(following).cast("bigint").alias("place"),
        F.lead("key").over(following).alias("next_key"),
        F.lead("copies").over(following).isNull().alias("last"),
    )
    tied = ~F.col("last") & F.col("key").eqNullSafe(F.col("next_key"))
    return placed.select(
        *LIST,
        "doc_id",
        "key",
        refusing(F.col("place"), _refused(policies)).alias("rank"),
        "repeats",
        "last",
        tied.alias("tied_next"),
    )


def total_order(policies: Policies) -> list[Column]:
    """What a list is sorted by: score or rank, then the document's id as text."""
    by_id = F.col("doc_id").cast("string")
    return [by_key(policies), by_id.asc() if policies.ties == "docid_asc" else by_id.desc()]


def by_key(policies: Policies) -> Column:
    descending = policies.order_by == "score" and policies.score_order == "descending"
    key = F.col("key")
    return key.desc_nulls_last() if descending else key.asc_nulls_last()


def refusing(value: Column, refused: Mapping[str, Column]) -> Column:
    """The value; the action fails where one of these holds (a code, and what is wrong)."""
    found = None
    for what, bad in refused.items():
        text = f"{InputError.__name__}: {what[:4]}: {REFUSED}: {what}"
        failed = F.raise_error(F.lit(text))
        found = F.when(bad, failed) if found is None else found.when(bad, failed)
    return value if found is None else found.otherwise(value)


def no_id(*names: str) -> Column:
    """Whether one of these ids is null or empty."""
    bad = F.lit(False)
    for name in names:
        bad = bad | F.coalesce(F.col(name).cast("string") == "", F.lit(True))
    return bad


def _once(runs: DataFrame, policies: Policies) -> DataFrame:
    """LIST, doc_id, key, copies: a document that is there several times has its best score."""
    place = "rank" if policies.order_by == "rank" else "score"
    key = F.col(place)
    if isinstance(runs.schema[place].dataType, FRACTIONS):
        kind = runs.schema[place].dataType.simpleString()
        # one zero, and what is no number is null: engines sort these in different ways
        key = F.when(~F.isnan(key), F.when(key == 0, F.lit(0.0).cast(kind)).otherwise(key))
    descending = policies.order_by == "score" and policies.score_order == "descending"
    return (
        runs.select(*LIST, "doc_id", key.alias("key"))
        .groupBy(*LIST, "doc_id")
        .agg(
            (F.max("key") if descending else F.min("key")).alias("key"),
            F.count(F.lit(1)).alias("copies"),
        )
    )


def _refused(policies: Policies) -> dict[str, Column]:
    refused = {"E120 null or empty ids": no_id(*LIST, "doc_id")}
    if policies.order_by == "rank" or policies.nan_score == "error":
        refused["E122 NaN or null scores"] = F.col("key").isNull()
    if policies.duplicate_docs == "error":
        refused["E132 documents listed more than once"] = F.col("copies") > 1
    if policies.order_by == "rank":
        bad = F.col("key") != F.col("place")
        refused["E133 lists whose ranks are not 1, 2, 3, …"] = bad
    return refused
