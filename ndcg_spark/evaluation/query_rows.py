"""The rows of runs and qrels brought together by query: one shuffle, no window, no join."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.engine.shuffle import SHUFFLE, SORT, STREAM, by_query, wanted
from ndcg_spark.measures import Policies


def query_rows(
    runs: DataFrame, qrels: DataFrame, policies: Policies, deepest: int | None = None
) -> DataFrame:
    """The documents of every query together, from runs and qrels; the kernel takes either form:

    ROWS(query_id, run_id, doc_id, place, relevance, gain?, names): a row a document, those of a
    query one after another. They stream: no engine holds a query's documents as objects.
    LISTS(names, query_id, docs[(run_id, doc_id, place, relevance, gain?)]): gathered by an
    aggregate, on engines that do not keep the order of rows, and where the settings above say so.

    Rows without a run_id are judgements. `place` is the score, or under ``order_by="rank"`` the
    rank; within a query the rows are in no order, since the kernel ranks them in memory for a
    fraction of a window's cost. `names` (on judgements only) has the runs of all queries.

    Runs and qrels go through one shuffle together, so that nothing has to be joined.

    deepest: with the policy `prune`, how far any measure looks; what lies deeper is dropped before
        the shuffle
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
    names = F.broadcast(names)
    if policies.prune and deepest is not None:
        runs = _pruned(runs, policies, deepest)
    listed = runs.select("query_id", name, *[c.alias(f) for f, (c, _) in fields.items()])
    unnamed = F.lit(None).cast("string").alias("run_id")
    judged = qrels.select("query_id", unnamed, *[c.alias(f) for f, (_, c) in fields.items()])
    shuffled, is_sorted = wanted(runs, SHUFFLE), wanted(runs, SORT)
    if shuffled and is_sorted and _streams(runs):
        # empty, not null: JVM Spark's Arrow writer walks over all null lists before a row, anew
        listed = listed.withColumn("names", F.array().cast("array<string>"))
        judged = names.crossJoin(judged).select(*listed.columns)  # the one row first: see Engines
        return by_query(listed.unionByName(judged)).sortWithinPartitions("query_id")
    rows = listed.unionByName(judged)
    if shuffled:
        rows = by_query(rows)
    if is_sorted:
        rows = rows.sortWithinPartitions("query_id")
    docs = F.collect_list(F.struct("run_id", *fields)).alias("docs")
    return names.crossJoin(rows.groupBy("query_id").agg(docs))


def _pruned(runs: DataFrame, policies: Policies, deepest: int) -> DataFrame:
    """The first documents of every list, and one more to see a tie across the last cut-off.

    A plain filter on row_number: Spark then cuts on both sides of the shuffle.
    """
    if policies.order_by == "rank":
        return runs.where(F.col("rank") <= deepest + 1)
    score: Column = F.col("score")
    if isinstance(runs.schema["score"].dataType, (T.FloatType, T.DoubleType)):
        score = F.when(~F.isnan("score"), score + F.lit(0.0))  # -0.0 + 0.0 is 0.0
    text = F.col("doc_id").cast("string")
    order = (
        score.desc_nulls_last() if policies.score_order == "descending" else score.asc_nulls_last(),
        text.asc() if policies.ties == "docid_asc" else text.desc(),
    )
    place = F.row_number().over(Window.partitionBy("query_id", "run_id").orderBy(*order))
    return runs.withColumn("place", place).where(F.col("place") <= deepest + 1).drop("place")


def _streams(table: DataFrame) -> bool:
    session = table.sparkSession
    classic = "connect" not in type(session).__module__
    return session.conf.get(STREAM, str(classic).lower()) == "true"


def _null(kind: T.DataType) -> Column:
    return F.lit(None).cast(kind)
