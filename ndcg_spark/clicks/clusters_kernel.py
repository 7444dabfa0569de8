"""Means and their errors from sums per bucket of users: numpy and pyarrow.

A mean over impressions is a ratio of sums, sum(s_b) / sum(n_b), over buckets b of users. Users are
independent, impressions of one user are not; so its variance is taken over buckets, by the delta
method: K / (K - 1) * sum((s_b - mean * n_b)^2) / n^2 (Deng et al. 2018). Everything is folded in
order of bucket, from exact sums, and so does not depend on the partitioning.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.measures.batch import Array
from ndcg_spark.stats.distributions import t_quantile, t_two_sided

FEWEST = 20  # buckets with impressions below which no error is given
ROUGH = 200  # below which an error is rough: its own relative error is 1 / sqrt(2 K)


@dataclass(frozen=True)
class Arm:
    """Sums of one arm over `buckets` buckets of users, zero where a bucket has none."""

    sums: Array
    counts: Array
    squares: float = 0.0  # of the impressions' values

    @property
    def n(self) -> float:
        return float(self.counts.sum())

    @property
    def mean(self) -> float | None:
        return float(self.sums.sum()) / self.n if self.n else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of an impression's value."""
        if self.mean is None or self.n < 2:
            return None
        return math.sqrt(max(self.squares - self.n * self.mean**2, 0.0) / (self.n - 1))

    @property
    def residuals(self) -> Array:
        """What every bucket adds to the error of the mean."""
        return (self.sums - (self.mean or 0.0) * self.counts) / (self.n or 1.0)

    @property
    def used(self) -> int:
        return int(np.count_nonzero(self.counts))


def standard_error(residuals: Array, used: int) -> float | None:
    """The standard error from the buckets' residuals; None where there are too few buckets."""
    if used < FEWEST:
        return None
    return math.sqrt(used / (used - 1) * float(np.sum(residuals * residuals)))


def interval(
    center: float, se: float | None, used: int, confidence: float
) -> tuple[float | None, float | None]:
    """Student's interval with one degree of freedom less than there are buckets in use."""
    if se is None:
        return None, None
    half = t_quantile((1 + confidence) / 2, used - 1) * se
    return center - half, center + half


def p_value(delta: float, se: float | None, used: int) -> float | None:
    """The two-sided p of a difference with this error; None where there is no error."""
    return t_two_sided(delta / se, used - 1) if se else None


def summaries(
    batches: Iterator[pa.RecordBatch],
    buckets: int,
    confidence: float,
    smallest: int,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """A row of DAILY for each arm of rows (segment, measure, arms[(arm, bucket, n, …)])."""
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for group in batch.to_pylist():
            arms = _arms(group["arms"], buckets)
            keys = {key: group[key] for key in ("segment", "measure")}
            for name, (arm, n, undefined) in arms.items():
                small = n < smallest
                se = None if small else standard_error(arm.residuals, arm.used)
                known = None if arm.mean is None else se
                low, high = interval(arm.mean or 0.0, known, arm.used, confidence)
                rows.append(
                    {
                        **keys,
                        "arm": name,
                        "unit": "impression",
                        "n_units": n,
                        "n_undefined": undefined,
                        "mean": None if small else arm.mean,
                        "std": None if small else arm.deviation,
                        "ci_low": low,
                        "ci_high": high,
                        "sum_weight": arm.n,
                        "se": se,
                        "coverage": (n - undefined) / n if n else None,
                        "suppressed": small,
                        "n_buckets": arm.used,
                    }
                )
        yield pa.RecordBatch.from_pylist(rows, schema)


def unit_intervals(
    batches: Iterator[pa.RecordBatch], confidence: float, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Rows of DAILY of queries or users, with Student's interval of their means."""
    for batch in batches:
        rows = batch.to_pylist()
        for row in rows:
            units = int(row["sum_weight"] or 0)
            low, high = interval(row["mean"] or 0.0, row["se"], units, confidence)
            row["ci_low"], row["ci_high"] = low, high
        yield pa.RecordBatch.from_pylist(rows, schema)


def pseudo_values(
    batches: Iterator[pa.RecordBatch], smallest: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """A row (arm, bucket, segment, measure, value) for each arm and bucket of users that has any.

    value = mean + K * (the bucket's share of the error), over the K buckets: their mean is the
    arm's mean, and the standard error of such a mean is the one clustered by user. So arms can be
    compared as systems are, with buckets in place of queries.
    """
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for group in batch.to_pylist():
            last = max((cell["bucket"] for cell in group["arms"]), default=-1)
            arms = {
                name: arm
                for name, (arm, n, _) in _arms(group["arms"], last + 1).items()
                if n >= smallest and arm.mean is not None
            }
            used = np.flatnonzero(sum((arm.counts for arm in arms.values()), np.zeros(last + 1)))
            for name, arm in arms.items():
                value = (arm.mean or 0.0) + len(used) * arm.residuals[used]
                keys = {"run_id": name, "segment": group["segment"], "measure": group["measure"]}
                rows += [
                    {**keys, "query_id": bucket, "value": v}
                    for bucket, v in zip(used.tolist(), value.tolist(), strict=True)
                ]
        yield pa.RecordBatch.from_pylist(rows, schema)


def _arms(cells: Sequence[dict[str, Any]], buckets: int) -> dict[str, tuple[Arm, int, int]]:
    """Per arm, by name: its sums by bucket, and how many impressions it has and without a value."""
    found: dict[str, tuple[Arm, int, int]] = {}
    for name, own in itertools.groupby(sorted(cells, key=_arm), key=_arm):
        sums, counts = np.zeros(buckets), np.zeros(buckets)
        n = undefined = 0
        squares = []
        for cell in own:
            sums[cell["bucket"]] += cell["sum"]
            counts[cell["bucket"]] += cell["n"] - cell["n_undefined"]
            n += cell["n"]
            undefined += cell["n_undefined"]
            squares.append(cell["sumsq"])
        found[name] = Arm(sums, counts, math.fsum(squares)), n, undefined
    return found


def _arm(cell: dict[str, Any]) -> str:
    return str(cell["arm"])
