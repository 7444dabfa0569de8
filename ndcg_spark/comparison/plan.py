"""Per-query scores brought together by query, and the sums of all pairs: lazy Spark plans."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.comparison import paired_kernel as paired
from ndcg_spark.comparison import ranks_kernel
from ndcg_spark.comparison.paired_kernel import Design
from ndcg_spark.engine.shuffle import SORT, by_query, is_on
from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.tables.contracts import PER_QUERY, Contract, Field, conform, lacks
from ndcg_spark.tables.segments import ALL, segment_text

SUMS = "segment string, sums binary"
MATRIX = "hashes binary, x binary"


def conformed(scores: DataFrame, by: Sequence[str] = ()) -> DataFrame:
    """run_id, query_id, measure, value, and those of `by` that the table has."""
    own = [Field(name, "text") for name in by if name in scores.columns]
    return conform(scores, Contract(PER_QUERY.role, (*PER_QUERY.fields, *own)))


def inventory(scores: DataFrame) -> DataFrame:
    """Which systems and measures there are: n queries, n_defined, the largest absolute value, and
    how many rows lack a key."""
    size = F.abs("value")
    nameless = lacks("run_id", "query_id", "measure")
    finite = ~F.isnan("value") & (size < float("inf"))
    return scores.groupBy("run_id", "measure").agg(
        F.count(F.lit(1)).alias("n"),
        F.sum(F.when(finite, 1).otherwise(0)).alias("n_defined"),
        F.max(F.when(finite, size)).alias("largest"),
        F.sum(F.when(nameless, 1).otherwise(0)).alias("n_null"),
    )


def gathered(
    scores: DataFrame,
    runs: Sequence[str],
    measures: Sequence[str],
    by: Sequence[str] = (),
    attributes: DataFrame | None = None,
) -> DataFrame:
    """GATHERED(hash, segments, cells[], values[]), one row a query; one shuffle.

    cell: measure * len(runs) + run; its value is NaN where it is undefined. A query is in the
    segment ``all`` and, with `by`, in that of its values; a table that has a column `segment` of
    its own is gathered by it instead. Rows are sorted by query first, which spills where grouping
    might not, unless the session says that all fits in memory (SORT).
    """
    names = [
        (run, measure, m * len(runs) + r)
        for m, measure in enumerate(measures)
        for r, run in enumerate(runs)
    ]
    cells = scores.sparkSession.createDataFrame(names, "run_id string, measure string, cell int")
    rows = scores.join(F.broadcast(cells), ["run_id", "measure"])
    keys = ["query_id", "segment"] if "segment" in scores.columns else ["query_id"]
    if is_on(scores.sparkSession, SORT):
        rows = by_query(rows).sortWithinPartitions(*keys)
    own = [name for name in by if name in scores.columns]
    # an aggregate sees every row once for all its lists, so that these two run side by side; one
    # list of structs takes twice the time
    value = F.coalesce("value", F.lit(float("nan")))
    grouped = rows.groupBy(*keys).agg(
        F.collect_list("cell").alias("cells"),
        F.collect_list(value).alias("values"),
        *[F.max(name).alias(name) for name in own],
    )
    there = [*scores.columns, *(attributes.columns if attributes is not None else ())]
    for name in by:
        if name not in there:
            raise UsageError(f"no column {name!r} to compare by{nearest(name, there)}")
    others = [name for name in by if name not in own]
    if attributes is not None and others:
        grouped = grouped.join(_attributes(attributes, others), "query_id", "left")
    if "segment" in keys:
        segments = F.array("segment")
    else:
        segments = F.array(F.lit(ALL), *([segment_text(by)] if by else []))
    hashed = F.xxhash64(F.col("query_id").cast("string"))
    return grouped.select(hashed.alias("hash"), segments.alias("segments"), "cells", "values")


def _attributes(attributes: DataFrame, by: Sequence[str]) -> DataFrame:
    """One row a query: where there are several, the largest values."""
    fields = [Field(name, "text") for name in by]
    table = conform(attributes, Contract("attributes", (Field("query_id", "id"), *fields)))
    return table.groupBy("query_id").agg(*[F.max(f.name).alias(f.name) for f in fields])


def pair_sums(gathered: DataFrame, design: Design) -> DataFrame:
    """SUMS(segment, sums): a row a segment, everything that tests need, for all pairs at once."""
    partial = gathered.mapInArrow(functools.partial(paired.sum_pairs, design=design), SUMS)
    lists = partial.groupBy("segment").agg(F.collect_list("sums").alias("sums"))
    return lists.mapInArrow(functools.partial(paired.merge_sums, design=design), SUMS)


def rank_sums(gathered: DataFrame, design: Design, zeros: str) -> DataFrame:
    """RANKS(segment, column, positive, negative, ties): Wilcoxon's sums for any number of queries.

    Differences are grouped by size (to 1e-9); running counts of the sizes give mean ranks, twice
    which are whole numbers.
    """
    sizes = gathered.mapInArrow(
        functools.partial(ranks_kernel.difference_sizes, design=design),
        "segment string, column int, size bigint, positive bigint, negative bigint, n bigint",
    )
    if zeros == "wilcox":
        sizes = sizes.where(F.col("size") > 0)
    keys = ("segment", "column", "size")
    groups = sizes.groupBy(*keys).agg(*[F.sum(c).alias(c) for c in ("positive", "negative", "n")])
    earlier = Window.partitionBy(*keys[:2]).orderBy("size").rowsBetween(
        Window.unboundedPreceding, -1
    )  # fmt: skip
    before = F.coalesce(F.sum("n").over(earlier), F.lit(0))
    ranked = groups.withColumn("rank", 2 * before + F.col("n") + 1)
    n = F.col("n").cast("double")
    cubes = F.when(F.col("size") > 0, n * n * n - n).otherwise(F.lit(0.0))
    return ranked.groupBy(*keys[:2]).agg(
        F.sum(F.col("positive") * F.col("rank")).alias("positive"),
        F.sum(F.col("negative") * F.col("rank")).alias("negative"),
        F.sum(cubes.cast("decimal(38,0)")).cast("double").alias("ties"),
    )


def matrices(gathered: DataFrame, design: Design, limit: int | None = None) -> DataFrame:
    """MATRIX(hashes, x): the values themselves, some thousand queries a row.

    limit: the queries with the smallest hashes, a random sample that any engine draws alike
    """
    if limit is not None:
        gathered = gathered.orderBy("hash").limit(limit)
    return gathered.mapInArrow(functools.partial(paired.pack_matrix, design=design), MATRIX)
