"""Interleaved lists of two runs, as a plan."""

from __future__ import annotations

import functools

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.clicks.drafts_kernel import drafts
from ndcg_spark.tables.contracts import sorting_key


def team_drafts(run_a: DataFrame, run_b: DataFrame, depth: int, seed: int) -> DataFrame:
    """(query_id, rank, doc_id, team) of two conforming runs (api.team_draft)."""
    kinds = {name: run_a.schema[name].dataType.simpleString() for name in ("query_id", "doc_id")}
    picks = _best(run_a, depth, 0).unionByName(_best(run_b, depth, 1))
    gathered = picks.groupBy("query_id").agg(
        F.collect_list(F.struct("team", "place", "doc_id")).alias("picks")
    )
    schema = f"query_id {kinds['query_id']}, rank bigint, doc_id {kinds['doc_id']}, team string"
    return gathered.mapInArrow(functools.partial(drafts, depth=depth, seed=seed), schema)


def _best(run: DataFrame, depth: int, team: int) -> DataFrame:
    """(query_id, doc_id, place, team): each query's best documents, once each; a score that is no
    number comes last, equal ones by descending doc_id, as `evaluate` has it."""
    known = run.where(F.col("query_id").isNotNull() & F.col("doc_id").isNotNull())
    once = known.groupBy("query_id", "doc_id").agg(F.max(sorting_key(run, "score")).alias("score"))
    by_id = F.col("doc_id").cast("string").desc()
    order = Window.partitionBy("query_id").orderBy(F.col("score").desc_nulls_last(), by_id)
    ranked = once.withColumn("place", F.row_number().over(order))
    return ranked.where(F.col("place") <= depth).select(
        "query_id", "doc_id", "place", F.lit(team).alias("team")
    )
