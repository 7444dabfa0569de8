"""Growing samples as lazy plans: documents in, values at every size out."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.distinguish import growth_kernel, synthetic_kernel, values_kernel
from ndcg_spark.distinguish.growth_kernel import GROWN, Growth
from ndcg_spark.engine.sessions import cores_of

VALUES = (
    "query_id string, sequence bigint, run_id string, measure string, n bigint, value double, "
    "e_random double, n_rel bigint"
)


def grown_samples(documents: DataFrame, growth: Growth) -> DataFrame:
    """GROWN (growth_kernel.py), lazily: every query's values at all sizes."""
    return documents.mapInArrow(functools.partial(growth_kernel.grow, growth=growth), GROWN)


def values_of(grown: DataFrame, growth: Growth, fewest: int) -> DataFrame:
    """VALUES, lazily: a row for each query, sequence, ranker, measure and size."""
    kept = grown.where(F.col("n_docs") >= fewest)
    return kept.mapInArrow(functools.partial(values_kernel.long_values, growth=growth), VALUES)


def made_up(
    spark: SparkSession, kind: str, queries: int, size: int, seed: int, thresholds: Sequence[int]
) -> DataFrame:
    """DOCUMENTS of the rankers A, B and random: the power family, or the paper's click log."""
    kernel_of = functools.partial(
        synthetic_kernel.documents, kind=kind, size=size, seed=seed, thresholds=tuple(thresholds)
    )
    lists = ["label", *(f"score_{place}" for place in range(len(synthetic_kernel.RUNS)))]
    schema = ", ".join(f"{name} array<double>" for name in lists)
    parts = min(queries, 4 * cores_of(spark))  # in one the engine would use one core
    return spark.range(0, queries, 1, parts).mapInArrow(
        kernel_of, f"query_id string, hash array<bigint>, {schema}, repeats bigint"
    )
