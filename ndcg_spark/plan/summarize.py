"""The aggregate table: each measure's mean over queries, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.measures import parse_measure
from ndcg_spark.plan.intervals import t_quantile

CONFIDENCE = 0.95
SCHEMA = (
    "run_id string, segment string, measure string, n_queries bigint, n_missing bigint, "
    "n_no_relevant bigint, n_undefined bigint, mean double, std double, ci_low double, "
    "ci_high double, sum_weight double"
)


def summarize(scores: DataFrame) -> DataFrame:
    """The aggregate of per-query scores, lazily: one row for each run and measure.

    `mean` is the arithmetic mean over the queries with a value, and for counts their sum;
    `std` is the sample standard deviation and (ci_low, ci_high) Student's 95 percent interval of
    the mean, both null for counts and where fewer than two queries have a value. n_queries counts
    the scored queries, n_undefined those of them without a value.
    """
    defined = F.col("value").isNotNull()
    sums = scores.groupBy("run_id", "measure").agg(
        F.count(F.lit(1)).alias("n_queries"),
        F.sum((F.col("status") == "missing").cast("bigint")).alias("n_missing"),
        F.sum((F.col("n_rel") == 0).cast("bigint")).alias("n_no_relevant"),
        F.sum((~defined).cast("bigint")).alias("n_undefined"),
        F.sum("value").alias("total"),
        F.avg("value").alias("mean"),
        F.stddev_samp("value").alias("std"),
    )
    return sums.mapInArrow(_finish, SCHEMA)


def _finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in map(str.split, SCHEMA.split(", "))])
    for batch in batches:
        yield pa.RecordBatch.from_pylist([_row(sums) for sums in batch.to_pylist()], schema)


_ARROW = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}


def _row(sums: dict[str, object]) -> dict[str, object]:
    total, mean, std = sums.pop("total"), sums["mean"], sums["std"]
    n_queries, n_undefined = sums["n_queries"], sums["n_undefined"]
    assert isinstance(n_queries, int)
    assert isinstance(n_undefined, int)
    n = n_queries - n_undefined
    row = {**sums, "segment": "all", "ci_low": None, "ci_high": None, "sum_weight": float(n)}
    if parse_measure(str(sums["measure"])).aggregation == "sum":
        return row | {"mean": total, "std": None}
    if n < 2 or not isinstance(mean, float) or not isinstance(std, float):
        return row | {"std": None}
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * std / math.sqrt(n)
    return row | {"ci_low": mean - half, "ci_high": mean + half}
