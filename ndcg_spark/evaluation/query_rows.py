"""Queries with their documents, from tables that are bucketed by query: nothing is shuffled."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.measures import Policies


def query_rows(runs: DataFrame, qrels: DataFrame, policies: Policies) -> DataFrame:
    """LISTS(names, query_id, docs[(run_id, doc_id, place, relevance, gain?)]), a row a query.

    Documents without a run_id are judgements. `place` is the score, or under ``order_by="rank"``
    the rank; within a query they are in no order. `names` has the runs of all queries.
    """
    place = "rank" if policies.order_by == "rank" else "score"
    # a run without a name must not pass for judgements; the kernel refuses the empty name
    name = F.coalesce("run_id", F.lit("")).alias("run_id")
    fields = {
        "doc_id": (F.col("doc_id"), F.col("doc_id")),
        "place": (F.col(place), _null(runs.schema[place].dataType)),
        "relevance": (_null(T.DoubleType()), F.col("relevance").cast("double")),
    }
    if "gain" in qrels.columns:
        fields["gain"] = (_null(T.DoubleType()), F.col("gain"))
    names = runs.select(name).distinct().agg(F.sort_array(F.collect_list("run_id")).alias("names"))
    listed = runs.select("query_id", name, *[c.alias(f) for f, (c, _) in fields.items()])
    unnamed = F.lit(None).cast("string").alias("run_id")
    judged = qrels.select("query_id", unnamed, *[c.alias(f) for f, (_, c) in fields.items()])
    rows = listed.unionByName(judged).sortWithinPartitions("query_id")
    docs = F.collect_list(F.struct("run_id", *fields)).alias("docs")
    return F.broadcast(names).crossJoin(rows.groupBy("query_id").agg(docs))


def _null(kind: T.DataType) -> Column:
    return F.lit(None).cast(kind)
