"""One pair of systems: what their values of a measure add up to."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from ndcg_spark.arrays.whole_sums import of_squares
from ndcg_spark.comparison.carriers_kernel import Carriers, of_all, of_counts
from ndcg_spark.comparison.paired_kernel import DIGITS, SMALL, TIE, Sums
from ndcg_spark.measures.batch import Array


@dataclass(frozen=True)
class Pair:
    """What two systems' values of one measure add up to, over the queries that both have."""

    n: int
    dropped: int  # queries of either system that are not in n
    wins: int
    losses: int
    mean_baseline: float | None
    mean_candidate: float | None
    delta: float | None
    std: float | None  # of the differences; 0.0 where they are all alike
    scale: float
    column: int  # the pair's place in the sums
    sums: Sums

    @classmethod
    def of(cls, sums: Sums, measure: int, place: int) -> Pair:
        design = sums.design
        column, scale = measure * len(design.pairs) + place, design.scales[measure]
        n, either, wins, losses, x, y, d, hh, hl, ll = (
            sums.totals.exact("pairs", (row, column)) for row in range(10)
        )
        unit = scale * 2.0**-DIGITS
        std = None
        if n > 1:
            squares = of_squares(hh, hl, ll)
            std = unit * math.sqrt((n * squares - d * d) / (n * (n - 1)))
            if std <= TIE * scale:
                std = 0.0
        base, candidate, delta = (unit * total / n if n else None for total in (x, y, d))
        return cls(n, either - n, wins, losses, base, candidate, delta, std, scale, column, sums)

    @property
    def spread(self) -> tuple[float, float]:
        """Mean and deviation of the differences, where a test can be made (`undecided`)."""
        assert self.delta is not None
        assert self.std
        return self.delta, self.std

    @property
    def scaled(self) -> Pair:
        """The pair in units of its scale, whose squares are neither infinite nor 0."""
        delta, std = self.spread
        return dataclasses.replace(self, delta=delta / self.scale, std=std / self.scale)

    @property
    def kept(self) -> Array | None:
        """All differences, ascending, where there are few of them."""
        if self.n > SMALL:
            return None
        return np.sort(self.sums.small[self.column, : self.n]) * (self.scale * 2.0**-DIGITS)

    @property
    def carriers(self) -> Carriers | None:
        """How few queries carry the difference; None where nothing differs, or it was not counted
        for so many pairs."""
        if not self.std:
            return None
        if self.n <= SMALL:
            return of_all(self.sums.small[self.column, : self.n])
        counts = self.sums.totals.doubles("sizes", self.column)
        return of_counts(counts) if len(counts) else None
