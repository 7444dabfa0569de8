"""Measures of the C/W/L framework (Azzopardi, Thomas and Moffat 2019): SDCG, BPM, INST."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.additive import AdditiveMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums, scan
from ndcg_spark.measures.cascade import check_scale, kept_offsets

CWL_DEPTH = 1000  # the C/W/L framework looks at lists of 1000 documents, padded or cut


@dataclass(frozen=True, kw_only=True)
class ScaledMeasure(Measure):
    """What the C/W/L measures share: grades scaled to 0 ... 1 between min_rel and max_rel.

    T: the gain the user looks for
    min_rel, max_rel: the scale's ends; grades beyond count as the end
    """

    min_rel: float = 0.0
    max_rel: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.canonical, self.max_rel, self.min_rel)

    def undefined(self, batch: Batch) -> Mask | None:
        good = batch.grade_label > self.min_rel
        none: Mask = np.bincount(batch.grade_row[good], minlength=len(batch)) == 0
        return none

    def _scaled(self, batch: Batch) -> Array:
        """(hits,) each hit's grade between 0 and 1."""
        assert self.max_rel is not None
        return self._raised(batch) / (self.max_rel - self.min_rel)

    def _raised(self, batch: Batch) -> Array:
        """How far each hit's grade lies above the scale's lower end."""
        assert self.max_rel is not None
        top = np.clip(np.maximum(batch.hit_label, 0.0), self.min_rel, self.max_rel)
        return top - self.min_rel


@dataclass(frozen=True, kw_only=True)
class SDCG(ScaledMeasure, AdditiveMeasure, names=("SDCG",), needs_cutoff=True):
    """DCG@k of scaled grades over that of k documents of the highest grade.

    Source: the C/W/L framework (Azzopardi, Thomas and Moffat 2019).

    >>> SDCG(max_rel=1, cutoff=1).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]]))
    array([1.])
    """

    cutoff: int | str | None = cutoff_field()

    def worth(self, batch: Batch) -> Array:
        return self._scaled(batch)

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        inside = rank <= cutoffs.limits(self.cutoff, batch)[row]
        return np.where(inside, 1.0 / np.log2(rank + 1.0), 0.0)

    def ideal(self, batch: Batch) -> Array:
        k = cutoffs.limits(self.cutoff, batch)
        every = 1.0 / np.log2(np.arange(2, int(k.max(initial=0)) + 2))
        sums: Array = np.concatenate(([0.0], np.cumsum(every)))[k]
        return sums


@dataclass(frozen=True, kw_only=True)
class BPM(ScaledMeasure, names=("BPM",), needs_cutoff=True):
    """Gain per document for a user who stops at k documents, or once the gain reaches T.

    Source: Zhang et al. 2017 (static, as in the C/W/L framework).

    >>> BPM(max_rel=1, cutoff=10).score(Batch.of(hits=[[(2, 1)]], grades=[[(1, 1)]]))
    array([0.5])
    """

    T: float = 1.0
    cutoff: int | str | None = cutoff_field()

    def score(self, batch: Batch) -> Array:
        assert self.max_rel is not None
        # in whole grades, whose sums are exact: thirds of a grade may miss T by a rounding
        gained = scan(self._raised(batch), batch.hit_offsets, np.add)
        stop = np.minimum(cutoffs.limits(self.cutoff, batch), CWL_DEPTH)
        enough = gained >= self.T * (self.max_rel - self.min_rel)
        first = np.full(len(batch), CWL_DEPTH)
        first[batch.hit_row[enough][::-1]] = batch.hit_rank[enough][::-1]
        stop = np.minimum(stop, first)
        inside = batch.hit_rank <= stop[batch.hit_row]
        return ratio(batch.sum_hits(inside, self._scaled(batch)[inside]), stop)


@dataclass(frozen=True, kw_only=True)
class INST(ScaledMeasure, names=("INST",)):
    """Gain per document for a user whose patience adapts to the gain still looked for.

    After rank i with gain G so far the user goes on with ((i + 2T - G - 1) / (i + 2T - G))^2.

    Source: Bailey et al. 2015 (lists of 1000 documents, as in the C/W/L framework).

    >>> INST(max_rel=1).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]])).round(3)
    array([0.608])
    """

    T: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.T < 1:
            raise UsageError(f"INST.T must be at least 1, not {self.T}")

    def score(self, batch: Batch) -> Array:
        worth = self._scaled(batch)
        kept = (worth > 0) & (batch.hit_rank <= CWL_DEPTH)
        offsets = kept_offsets(batch, kept)
        row, rank, gain = batch.hit_row[kept], batch.hit_rank[kept], worth[kept]
        # between two hits the gain is constant: the chances to go on telescope there
        before = scan(gain, offsets, np.add) - gain
        patience = 2 * self.T - before
        last = np.ones(len(rank))  # the rank from which this segment's chances run
        last[1:] = rank[:-1]
        first = offsets[:-1][np.diff(offsets) > 0]
        last[first] = 1.0
        step = ((last + patience - 1.0) / (rank + patience - 1.0)) ** 2
        reach = scan(step, offsets, np.multiply)
        utility = row_sums(row, reach * gain, len(batch))
        return ratio(utility, self._examined(batch, row, rank, gain, before, reach, offsets))

    def _examined(
        self,
        batch: Batch,
        row: Ints,
        rank: Ints,
        gain: Array,
        before: Array,
        reach: Array,
        offsets: Ints,
    ) -> Array:
        """The expected number of documents looked at, by segments of constant gain."""
        # segment after each hit: ranks rank+1 ... next hit (or the end), with 2T - G as patience
        after = 2 * self.T - (before + gain)
        end = np.full(len(rank), float(CWL_DEPTH))
        end[:-1] = rank[1:]
        ends = offsets[1:][np.diff(offsets) > 0] - 1
        end[ends] = CWL_DEPTH
        later = reach * (rank + after - 1.0) ** 2 * _inverse_squares(rank + after, end - rank)
        total = row_sums(row, later, len(batch))
        # the first segment: ranks 1 ... first hit, or all of them
        first = np.full(len(batch), float(CWL_DEPTH))
        some = np.diff(offsets) > 0
        first[some] = rank[offsets[:-1][some]]
        whole = 2 * self.T
        start = whole**2 * _inverse_squares(np.full(len(batch), whole), first)
        return start + total


def _inverse_squares(low: Array, count: Array) -> Array:
    """Sum of 1 / x^2 over the `count` numbers x = low, low + 1, ..."""
    return _trigamma(low) - _trigamma(low + count)


def _trigamma(x: Array) -> Array:
    """The sum of 1 / (x + k)^2 over k >= 0: ten terms, then the asymptotic series (error 1e-15)."""
    total = np.zeros_like(x)
    for k in range(10):
        total += 1.0 / (x + k) ** 2
    y = 1.0 / (x + 10)
    y2 = y * y
    series = y + y2 / 2 + y * y2 * (1 / 6 - y2 * (1 / 30 - y2 * (1 / 42 - y2 / 30)))
    return total + series
