"""Runs and judgements packed where they are read, and brought together by parts of the queries."""

from __future__ import annotations

import functools

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.evaluation.pack_kernel import PACKED, Packing, pack
from ndcg_spark.measures import Policies


def packed_table(table: DataFrame, how: Packing) -> DataFrame:
    """PACKED (pack_kernel.py), lazily, of conforming runs or judgements: no row is shuffled."""
    names = [name for name in ("run_id", "relevance", "gain") if name in table.columns]
    places = [F.col(name).alias("place") for name in ("score", "rank") if name in table.columns]
    rows = table.select("query_id", "doc_id", *names, *places)
    return rows.mapInArrow(functools.partial(pack, packing=how), PACKED)


def packing(policies: Policies, parts: int, deepest: int | None) -> Packing:
    return Packing(parts, deepest, policies.descending, policies.ignore_identical_ids)


def by_part(packed: DataFrame) -> DataFrame:
    """PARTS(part, records[(kind, lists)]), a row a part: whole queries."""
    records = F.collect_list(F.struct("kind", "lists")).alias("records")
    return packed.groupBy("part").agg(records)
