"""Exact sums of scores by run, segment and measure, and the aggregate's rows out of them.

A sum of doubles differs in its last digits with the order of its terms, and so with the
partitioning. The sums here are of whole numbers, so that the table is the same, bit for bit, on
every partitioning and engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays import whole_sums
from ndcg_spark.arrays.schemas import arrow_schema
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.measures import parse_measure
from ndcg_spark.measures.base import Aggregation
from ndcg_spark.measures.batch import Ints
from ndcg_spark.stats.distributions import t_quantile

WEIGHTED = "weighted"
CONFIDENCE = 0.95
SMALLEST = 1e-5  # a geometric mean takes smaller values as this one (trec_eval)
AGGREGATE = (
    "run_id string, segment string, measure string, n_queries bigint, n_missing bigint, "
    "n_no_relevant bigint, n_undefined bigint, mean double, std double, ci_low double, "
    "ci_high double, sum_weight double"
)
KEYS = ("run_id", "segment", "measure")
COUNTS = ("n_queries", "n_missing", "n_no_relevant", "n_undefined")
EXACT = ("units", "coarse", "squares", "weights")
REST = ("rest", "rest_squares")
SUMS = ", ".join(
    [f"{name} string" for name in KEYS]
    + [f"{name} bigint" for name in COUNTS]
    + [f"{name} string" for name in EXACT]
    + [f"{name} double" for name in REST]
)


def long_sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Exact sums of each batch, one row for each run, segment and measure in it."""
    for batch in batches:
        if batch.num_rows:
            groups = _Groups(batch, KEYS)
            value = groups.ordered(batch.column("value"))
            yield _sums_batch(groups.sums(value, groups.names))


def wide_sums(
    batches: Iterator[pa.RecordBatch], measures: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            groups = _Groups(batch, KEYS[:2])
            values = batch.column("values").flatten()
            rows: list[dict[str, Any]] = []
            for place, measure in enumerate(measures):
                column = pc.take(values, pa.array(groups.order * len(measures) + place))
                rows += groups.sums(column, [(*names, measure) for names in groups.names])
            yield _sums_batch(rows)


def _sums_batch(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), arrow_schema(SUMS))


class _Groups:
    """The rows of a batch grouped by some columns: `order` has one group after another."""

    def __init__(self, batch: pa.RecordBatch, names: Sequence[str]) -> None:
        if batch.column("weight").null_count:
            raise InputError("E138", "a scored query has not exactly one weight (finite, >= 0)")
        keys = [batch.column(name).dictionary_encode() for name in names]
        group, self.order = _grouped(keys)
        self.starts = np.flatnonzero(np.diff(group, prepend=-1))
        self.ends = [*self.starts[1:], len(group)]
        self.names = [_names(keys, int(group[start])) for start in self.starts]
        self.weight = _numpy(self.ordered(batch.column("weight")))
        self.missing = _numpy(pc.equal(self.ordered(batch.column("status")), "missing"))
        self.no_relevant = _numpy(self.ordered(batch.column("n_rel"))) == 0

    def ordered(self, column: pa.Array) -> pa.Array:
        return pc.take(column, pa.array(self.order))

    def sums(self, column: pa.Array, names: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
        """The sums of a column in this order, one row a group; names: run, segment, measure."""
        null = _numpy(column.is_null())
        value = np.where(null, 0.0, _numpy(column))
        weight = np.where(null, 0.0, self.weight)
        for (_, _, measure), start, end in zip(names, self.starts, self.ends, strict=True):
            if aggregation_of(measure) == "geometric":
                logs = np.log(np.maximum(value[start:end], SMALLEST))
                value[start:end] = np.where(null[start:end], 0.0, logs)
        value = value * weight
        small = np.abs(value) < whole_sums.LARGEST
        units, coarse, squares = whole_sums.limb_sums(np.where(small, value, 0.0), self.starts)
        weights, _, _ = whole_sums.limb_sums(np.minimum(weight, whole_sums.LARGEST), self.starts)
        rest = np.where(small, 0.0, value)
        return [
            {
                **dict(zip(KEYS, names[i], strict=True)),
                "n_queries": end - start,
                "n_missing": np.count_nonzero(self.missing[start:end]),
                "n_no_relevant": np.count_nonzero(self.no_relevant[start:end]),
                "n_undefined": np.count_nonzero(null[start:end]),
                "units": str(units[i]),
                "coarse": str(coarse[i]),
                "squares": str(squares[i]),
                "weights": str(weights[i]),
                "rest": rest[start:end].sum(),
                "rest_squares": np.square(rest[start:end]).sum(),
            }
            for i, (start, end) in enumerate(zip(self.starts, self.ends, strict=True))
        ]


def _numpy(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _grouped(keys: Sequence[pa.DictionaryArray]) -> tuple[Ints, Ints]:
    """The group number of every row, ascending, and the order that makes it so."""
    group = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        codes = key.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        group = group * len(key.dictionary) + codes
    order = np.argsort(group, kind="stable")
    return group[order], order


def _names(keys: Sequence[pa.DictionaryArray], group: int) -> tuple[str, ...]:
    names: list[str] = []
    for key in reversed(keys):
        group, code = divmod(group, len(key.dictionary))
        names.append(key.dictionary[code].as_py())
    return tuple(reversed(names))


def aggregation_of(measure: str) -> Aggregation:
    """How a measure is summarized; one that is unknown here (defined in a script) by its mean."""
    try:
        return parse_measure(measure).aggregation
    except UsageError:
        return "mean"


def aggregate_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_row(sums) for sums in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, arrow_schema(AGGREGATE))


def _row(sums: dict[str, Any]) -> dict[str, Any]:
    """One row of the aggregate table from the sums of one run, segment and measure."""
    n = sums["n_queries"] - sums["n_undefined"]
    units, weights = (sum(map(int, sums[name])) for name in ("units", "weights"))
    row = {name: sums[name] for name in (*KEYS, *COUNTS)}
    row |= dict.fromkeys(("mean", "std", "ci_low", "ci_high"))
    row["sum_weight"] = weights / 2**whole_sums.UNIT
    how = aggregation_of(sums["measure"])
    if how == "sum":
        return row | {"mean": units / 2**whole_sums.UNIT + sums["rest"]}
    if weights == 0 or how == "none":
        return row
    mean = units / weights + sums["rest"] / row["sum_weight"]
    if how == "geometric":
        return row | {"mean": math.exp(mean)}
    if n < 2 or sums["segment"] == WEIGHTED or not math.isfinite(mean):
        return row | {"mean": mean}
    std = _std(n, sums, mean)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * std / math.sqrt(n)
    return row | {"mean": mean, "std": std, "ci_low": mean - half, "ci_high": mean + half}


def _std(n: int, sums: dict[str, Any], mean: float) -> float:
    total, squares = (sum(map(int, sums[name])) for name in ("coarse", "squares"))
    if sums["rest_squares"]:
        whole = squares / 2 ** (2 * whole_sums.SQUARE_UNIT) + sums["rest_squares"]
        return math.sqrt(max(whole - n * mean * mean, 0.0) / (n - 1))
    # the sum of squares less the square of the sum, exactly, in units of 2^-80
    spread = n * squares - total * total
    return math.sqrt(spread / (n * (n - 1)) / 2 ** (2 * whole_sums.SQUARE_UNIT))
