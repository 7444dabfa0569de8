"""The aggregate table: each measure's mean over queries, by segment, with its interval."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.evaluation.summary_kernel import (
    AGGREGATE,
    COUNTS,
    EXACT,
    KEYS,
    REST,
    SUMS,
    aggregate_rows,
    long_sums,
    wide_sums,
)
from ndcg_spark.measures import Measure
from ndcg_spark.tables.contracts import WEIGHTS, conform, same_ids
from ndcg_spark.tables.segments import ALL, WEIGHTED, segment_text


def summarize(
    scores: DataFrame,
    by: Sequence[str] = (),
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
) -> DataFrame:
    """The aggregate of per-query scores, lazily (api.summarize says what is in it)."""
    if attributes is not None:
        scores = scores.join(attributes, "query_id", "left")
    for name in by:
        if name not in scores.columns:
            hint = nearest(name, scores.columns)
            raise UsageError(f"no column {name!r} to summarize by{hint}")
    found = _segmented(scores, by, weights, ["measure", "value"])
    return _total(found.mapInArrow(long_sums, SUMS))


def summarize_lists(
    scores: DataFrame, measures: Sequence[Measure], weights: DataFrame | None = None
) -> DataFrame:
    """The same from SCORES with their `values`, for a fraction of the cost: no row per value."""
    found = _segmented(scores.where("scored"), (), weights, ["values"])
    names = tuple(map(str, measures))
    return _total(found.mapInArrow(functools.partial(wide_sums, measures=names), SUMS))


def _segmented(
    scores: DataFrame, by: Sequence[str], weights: DataFrame | None, columns: list[str]
) -> DataFrame:
    """Every score once for each segment that it belongs to, with its weight there."""
    columns = ["run_id", *columns, "status", "n_rel"]
    one = F.lit(1.0).alias("weight")
    if weights is None and not by:
        return scores.select(*columns, F.lit(ALL).alias("segment"), one)
    segments = [F.struct(F.lit(ALL).alias("segment"), one)]
    if weights is not None:
        own = _one_weight(weights)
        same_ids(own, scores, ("weights", "scores"), ["query_id"])
        scores = scores.join(own, "query_id", "left")
        segments.append(F.struct(F.lit(WEIGHTED).alias("segment"), F.col("weight")))
    if by:
        segments.append(F.struct(segment_text(by).alias("segment"), one))
    exploded = scores.select(*columns, F.explode(F.array(*segments)).alias("s"))
    return exploded.select(*columns, "s.segment", "s.weight")


def _total(partial: DataFrame) -> DataFrame:
    sums = partial.groupBy(*KEYS).agg(
        *[F.sum(name).alias(name) for name in (*COUNTS, *REST)],
        *[F.collect_list(name).alias(name) for name in EXACT],
    )
    return sums.mapInArrow(aggregate_rows, AGGREGATE)


def _one_weight(weights: DataFrame) -> DataFrame:
    """Each query's weight; null, to be refused, where it has none, several, or a bad one."""
    table = conform(weights, WEIGHTS)
    weight = F.col("weight")
    good = (F.col("n") == 1) & (weight >= 0) & (weight < float("inf"))
    grouped = table.groupBy("query_id").agg(
        F.max("weight").alias("weight"), F.count(F.lit(1)).alias("n")
    )
    return grouped.select("query_id", F.when(good, weight).alias("weight"))
