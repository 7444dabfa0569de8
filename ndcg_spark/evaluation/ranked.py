"""Runs with every document's rank, by window functions over lists of any length."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.errors import InputError
from ndcg_spark.evaluation.refuse_kernel import REFUSED
from ndcg_spark.measures import Policies
from ndcg_spark.tables.contracts import sorting_key

LIST = ("run_id", "query_id")
RUNNING = (Window.unboundedPreceding, Window.currentRow)


def ranked_lists(runs: DataFrame, policies: Policies) -> DataFrame:
    """LIST, doc_id, key and the columns of `with_ranks`: a list's documents once, in their order.

    A row that the policies refuse makes the action fail.
    """
    return with_ranks(documents_once(runs, policies), policies)


def documents_once(runs: DataFrame, policies: Policies) -> DataFrame:
    """LIST, doc_id, key, copies: every document of a list once, with its best score.

    key:    the score, or the rank that was given; null where a score is no number
    copies: how many rows of the list are of the document, where more than one is allowed

    Rows are brought together by query and document, as the join with judgements wants them too: on
    the JVM that saves a shuffle and a sort of the run. A row that the policies refuse makes the
    action fail.
    """
    document = ["query_id", "doc_id", "run_id"]
    key = sorting_key(runs, "rank" if policies.order_by == "rank" else "score")
    rows = runs.select(*LIST, "doc_id", key.alias("key"))
    rows = rows.repartition("query_id", "doc_id")
    nth = F.row_number().over(Window.partitionBy(*document).orderBy(by_key(policies)))
    copies = F.lit(1)
    if policies.duplicate_docs == "max":
        copies = F.count(F.lit(1)).over(Window.partitionBy(*document))
    rows = rows.select("*", nth.alias("nth"), copies.cast("bigint").alias("copies"))
    if policies.duplicate_docs == "max":
        rows = rows.where(F.col("nth") == 1)
    key = refusing(F.col("key"), _refused(policies)).alias("key")
    return rows.select(*LIST, "doc_id", key, "copies")


def with_ranks(rows: DataFrame, policies: Policies) -> DataFrame:
    """Documents (LIST, doc_id, key, copies, …) with rank, repeats, last, tied_next.

    Rows without copies are of no list: they have no rank.

    repeats:   how many rows of the list, up to this one, are of documents that it had before
    last:      whether it is the list's last document
    tied_next: whether the next one has the same score
    """
    listed = F.col("copies").isNotNull()
    rows = rows.withColumn("listed", listed)
    following = Window.partitionBy(*LIST, "listed").orderBy(*total_order(policies))
    repeats = F.lit(0)
    if policies.duplicate_docs == "max":
        repeats = F.sum(F.col("copies") - 1).over(following.rowsBetween(*RUNNING))
    placed = rows.withColumns(
        {
            "repeats": repeats.cast("bigint"),
            "place": F.row_number().over(following).cast("bigint"),
            "next_key": F.lead("key").over(following),
            "last": F.lead("copies").over(following).isNull(),
        }
    )
    place = F.when(F.col("listed"), F.col("place"))
    if policies.order_by == "rank":
        bad = F.col("key") != F.col("place")  # null where nothing is listed
        place = refusing(place, {"E133 lists whose ranks are not 1, 2, 3, …": bad})
    tied = ~F.col("last") & F.col("key").eqNullSafe(F.col("next_key"))
    added = {"rank": place, "last": F.col("last") & F.col("listed"), "tied_next": tied}
    return placed.withColumns(added).drop("copies", "listed", "place", "next_key")


def total_order(policies: Policies) -> list[Column]:
    """What a list is sorted by: score or rank, then the document's id as text."""
    by_id = F.col("doc_id").cast("string")
    return [by_key(policies), by_id.asc() if policies.ties == "docid_asc" else by_id.desc()]


def by_key(policies: Policies) -> Column:
    key = F.col("key")
    return key.desc_nulls_last() if policies.descending else key.asc_nulls_last()


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


def _refused(policies: Policies) -> dict[str, Column]:
    refused = {"E120 null or empty ids": no_id(*LIST, "doc_id")}
    if policies.order_by == "rank" or policies.nan_score == "error":
        refused["E122 NaN or null scores"] = F.col("key").isNull()
    if policies.duplicate_docs == "error":
        refused["E132 documents listed more than once"] = F.col("nth") > 1
    return refused
