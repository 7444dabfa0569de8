"""Who was ranked where: one window over the whole ranking."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.measures import Policies


def rank(runs: DataFrame, policies: Policies) -> DataFrame:
    """RUN with a 1-based `rank`, and `copies`, how many rows a document had.

    Under ties mean, best and worst also `tie_first` and `tie_size`, the first place and the number
    of the documents with the same score.

    One total order for all measures: score, then doc_id by its UTF-8 bytes (an integer by its
    decimal text). A NaN score counts as null and comes last; -0.0 equals 0.0. Given ranks are
    taken as they are.
    """
    runs = by_query(runs)
    if policies.order_by == "rank":
        return runs.withColumn("copies", F.lit(1))
    runs = runs.withColumn("score", _comparable(runs.schema["score"].dataType))
    if policies.duplicate_docs == "max":
        best = F.max("score") if policies.score_order == "descending" else F.min("score")
        runs = runs.groupBy("query_id", "run_id", "doc_id").agg(
            best.alias("score"), F.count(F.lit(1)).alias("copies")
        )
    else:
        runs = runs.withColumn("copies", F.lit(1))
    lists = Window.partitionBy("query_id", "run_id")
    by_score, by_id = _order(policies)
    ranked = runs.withColumn("rank", F.row_number().over(lists.orderBy(by_score, by_id)))
    if not policies.over_orders:
        return ranked
    # equal scores are peers: the window's order serves these two as well
    peers = lists.orderBy(by_score)
    alike = peers.rangeBetween(Window.currentRow, Window.currentRow)
    return ranked.withColumn("tie_first", F.rank().over(peers)).withColumn(
        "tie_size", F.count(F.lit(1)).over(alike)
    )


def by_query(table: DataFrame) -> DataFrame:
    """The table distributed by query_id, the one shuffle that every later step reuses.

    The number of partitions is explicit: only then does Spark see that two tables are
    distributed alike and join them where they are.
    """
    partitions = int(table.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return table.repartition(partitions, "query_id")


def _comparable(score: T.DataType) -> Column:
    if not isinstance(score, (T.FloatType, T.DoubleType)):
        return F.col("score")
    zero = F.lit(0.0).cast(score)
    return (
        F.when(F.isnan("score"), None).when(F.col("score") == zero, zero).otherwise(F.col("score"))
    )


def _order(policies: Policies) -> tuple[Column, Column]:
    descending = policies.score_order == "descending"
    text = F.col("doc_id").cast("string")
    return (
        F.desc_nulls_last("score") if descending else F.asc_nulls_last("score"),
        text.asc() if policies.ties == "docid_asc" else text.desc(),
    )
