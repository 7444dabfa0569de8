"""Tests of all systems together: blocked Tukey HSD and its randomized form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.pair_tests import Outcome
from ndcg_spark.comparison.paired_kernel import DIGITS, TIE
from ndcg_spark.measures.batch import Array
from ndcg_spark.stats.distributions import (
    f_above,
    studentized_range_above,
    studentized_range_quantile,
)

SMALLEST = 1e-12  # p-values of the studentized range are not known any better


@dataclass(frozen=True)
class Anova:
    """Two-way analysis of variance, systems and queries, without replication.

    residual: its variance, V_E, in units of the scale squared; f, p_value: of the differences
        between systems
    """

    systems: int
    n: int
    residual: float
    f: float | None
    p_value: float | None

    @property
    def df(self) -> int:
        return (self.systems - 1) * (self.n - 1)


def anova(pairs: dict[tuple[int, int], Pair], systems: int) -> Anova | None:
    """From all pairs of systems over the queries that all of them have; None for n < 2.

    Within a query sum_i (x_i - mean)^2 = sum over pairs of d^2 / m; the same holds of the means.
    """
    some = next(iter(pairs.values()))
    n = some.n
    if n < 2:
        return None
    squares = between = 0.0
    for pair in pairs.values():
        delta, std = (pair.delta or 0.0) / pair.scale, (pair.std or 0.0) / pair.scale
        squares += std * std * (n - 1)  # of d about its mean: what the systems' means leave over
        between += n * delta * delta
    residual = squares / systems / ((systems - 1) * (n - 1))
    if residual <= TIE**2:
        return Anova(systems, n, 0.0, None, None)
    f = between / systems / (systems - 1) / residual
    return Anova(systems, n, residual, f, f_above(f, systems - 1, (systems - 1) * (n - 1)))


def tukey(pair: Pair, table: Anova | None, alpha: float) -> Outcome:
    """Tukey's honestly significant difference with queries as blocks; simultaneous intervals.

    The effect is Sakai's, the difference in units of the residual deviation.
    """
    if table is None or not table.residual or pair.delta is None:
        return Outcome(note=f"{pair.n} common queries, or differences all alike")
    error = math.sqrt(table.residual / table.n) * pair.scale
    q = abs(pair.delta) / error
    half = studentized_range_quantile(1 - alpha, table.systems, table.df) * error
    return Outcome(
        q,
        min(1.0, max(SMALLEST, studentized_range_above(q, table.systems, table.df))),
        pair.delta - half,
        pair.delta + half,
        pair.delta / pair.scale / math.sqrt(table.residual),
        f"blocked, {table.systems} systems",
    )


def ranges(pair: Pair) -> Array:
    """The differences between largest and smallest mean when every query's values change hands."""
    design = pair.sums.design
    measure = pair.column // len(design.pairs)
    columns = slice(measure * design.systems, (measure + 1) * design.systems)
    permuted = pair.sums.totals.doubles("permuted", columns) * (pair.scale * 2.0**-DIGITS) / pair.n
    found: Array = permuted.max(axis=1) - permuted.min(axis=1)
    return found


def randomized_tukey(pair: Pair, null: Array, table: Anova | None, alpha: float) -> Outcome:
    """Tukey's test by permutation (Carterette 2012): p = (1 + hits) / (B + 1)."""
    if table is None or not table.residual or pair.delta is None:
        return Outcome(note=f"{pair.n} common queries, or differences all alike")
    hits = int(np.count_nonzero(null >= abs(pair.delta) - 1e-12 * pair.scale))
    half = float(np.quantile(null, 1 - alpha))
    return Outcome(
        pair.delta,
        (1 + hits) / (len(null) + 1),
        pair.delta - half,
        pair.delta + half,
        pair.delta / pair.scale / math.sqrt(table.residual),
        f"permuted, {table.systems} systems",
        len(null),
        1 / (len(null) + 1),
    )
