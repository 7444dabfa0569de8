"""The aggregate table: each measure's mean over queries, with its interval.

A sum of doubles differs in its last digits with the order of its terms, and so with the
partitioning. The sums here are taken in integers: per-query values become multiples of 2^-52
(2^-40 for the squares), integers add up alike in any order, and the table is the same, bit for
bit, on every partitioning and engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.measures import parse_measure
from ndcg_spark.measures.batch import Array, Ints
from ndcg_spark.plan.intervals import t_quantile

CONFIDENCE = 0.95
SCHEMA = (
    "run_id string, segment string, measure string, n_queries bigint, n_missing bigint, "
    "n_no_relevant bigint, n_undefined bigint, mean double, std double, ci_low double, "
    "ci_high double, sum_weight double"
)
COUNTS = ("n_queries", "n_missing", "n_no_relevant", "n_undefined")
SUMS = (
    "run_id string, measure string, n_queries bigint, n_missing bigint, n_no_relevant bigint, "
    "n_undefined bigint, units string, coarse string, squares string, rest double, "
    "rest_squares double"
)
UNIT, SQUARE_UNIT = 52, 40  # binary digits kept of values, and of values to be squared
LARGEST = 1024.0  # values beyond, such as counts of documents, are summed as doubles
LIMB = 20


def summarize(scores: DataFrame) -> DataFrame:
    """The aggregate of per-query scores, lazily: one row for each run and measure.

    `mean` is the arithmetic mean over the queries with a value, and for counts their sum;
    `std` is the sample standard deviation and (ci_low, ci_high) Student's 95 percent interval of
    the mean, both null for counts and where fewer than two queries have a value. n_queries counts
    the scored queries, n_undefined those of them without a value.
    """
    wanted = scores.select("run_id", "measure", "value", "status", "n_rel")
    partial = wanted.mapInArrow(_partial_sums, SUMS)
    sums = partial.groupBy("run_id", "measure").agg(
        *[F.sum(name).alias(name) for name in COUNTS],
        *[F.collect_list(name).alias(name) for name in ("units", "coarse", "squares")],
        F.sum("rest").alias("rest"),
        F.sum("rest_squares").alias("rest_squares"),
    )
    return sums.mapInArrow(_finish, SCHEMA)


def _partial_sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Exact sums of each batch, one row for each run and measure in it."""
    for batch in batches:
        if batch.num_rows:
            yield pa.RecordBatch.from_pylist(list(_sums(batch)), _arrow_schema(SUMS))


def _sums(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    runs = batch.column("run_id").dictionary_encode()
    measures = batch.column("measure").dictionary_encode()
    groups = _codes(runs) * len(measures.dictionary) + _codes(measures)
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    value = batch.column("value").to_numpy(zero_copy_only=False).astype(np.float64)[order]
    null = batch.column("value").is_null().to_numpy(zero_copy_only=False)[order]
    missing = pc.equal(batch.column("status"), "missing").to_numpy(zero_copy_only=False)[order]
    no_relevant = batch.column("n_rel").to_numpy(zero_copy_only=False)[order] == 0
    value = np.where(null, 0.0, value)
    small = np.abs(value) < LARGEST
    exact = np.where(small, value, 0.0)
    units = _exact_sums(_limbs(exact, UNIT), starts)
    limbs = _limbs(exact, SQUARE_UNIT)
    coarse, squares = _exact_sums(limbs, starts), _exact_squares(limbs, starts)
    rest = np.where(small, 0.0, value)
    ends = [*starts[1:], len(groups)]
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        run, measure = divmod(int(groups[start]), len(measures.dictionary))
        yield {
            "run_id": runs.dictionary[run].as_py(),
            "measure": measures.dictionary[measure].as_py(),
            "n_queries": end - start,
            "n_missing": np.count_nonzero(missing[start:end]),
            "n_no_relevant": np.count_nonzero(no_relevant[start:end]),
            "n_undefined": np.count_nonzero(null[start:end]),
            "units": str(units[i]),
            "coarse": str(coarse[i]),
            "squares": str(squares[i]),
            "rest": rest[start:end].sum(),
            "rest_squares": np.square(rest[start:end]).sum(),
        }


def _codes(encoded: pa.DictionaryArray) -> Ints:
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _limbs(value: Array, digits: int) -> list[Ints]:
    """The value in units of 2^-digits, as integers of LIMB bits, the lowest first."""
    units = np.rint(np.ldexp(value, digits)).astype(np.int64)
    mask = (1 << LIMB) - 1
    return [units & mask, (units >> LIMB) & mask, (units >> (2 * LIMB)) & mask, units >> (3 * LIMB)]


def _exact_sums(limbs: list[Ints], starts: Ints) -> list[int]:
    totals = [np.add.reduceat(limb, starts) for limb in limbs]
    return [
        sum(int(total[i]) << (LIMB * place) for place, total in enumerate(totals))
        for i in range(len(starts))
    ]


def _exact_squares(limbs: list[Ints], starts: Ints) -> list[int]:
    products = {
        (a, b): np.add.reduceat(limbs[a] * limbs[b], starts) for a in range(4) for b in range(4)
    }
    return [
        sum(int(total[i]) << (LIMB * (a + b)) for (a, b), total in products.items())
        for i in range(len(starts))
    ]


def _finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_row(sums) for sums in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, _arrow_schema(SCHEMA))


def _arrow_schema(text: str) -> pa.Schema:
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    return pa.schema([(name, kinds[kind]) for name, kind in map(str.split, text.split(", "))])


def _row(sums: dict[str, Any]) -> dict[str, Any]:
    """One row of the aggregate table from the sums of one run and measure."""
    n = sums["n_queries"] - sums["n_undefined"]
    whole = sum(map(int, sums["units"]))
    rest = sums["rest"]
    row = {name: sums[name] for name in ("run_id", "measure", *COUNTS)}
    row |= {"segment": "all", "sum_weight": float(n), "mean": None}
    row |= {"std": None, "ci_low": None, "ci_high": None}
    if parse_measure(sums["measure"]).aggregation == "sum":
        return row | {"mean": whole / 2**UNIT + rest}
    if n == 0:
        return row
    mean = (whole / (n << UNIT)) + rest / n
    if n < 2 or not math.isfinite(mean):
        return row | {"mean": mean}
    std = _std(n, sums, mean)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * std / math.sqrt(n)
    return row | {"mean": mean, "std": std, "ci_low": mean - half, "ci_high": mean + half}


def _std(n: int, sums: dict[str, Any], mean: float) -> float:
    total, squares = sum(map(int, sums["coarse"])), sum(map(int, sums["squares"]))
    if sums["rest_squares"]:
        whole = squares / 2 ** (2 * SQUARE_UNIT) + sums["rest_squares"]
        return math.sqrt(max(whole - n * mean * mean, 0.0) / (n - 1))
    # the sum of squares less the square of the sum, exactly, in units of 2^-80
    spread = n * squares - total * total
    return math.sqrt(spread / (n * (n - 1)) / 2 ** (2 * SQUARE_UNIT))
