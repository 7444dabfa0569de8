"""Measures with a model of the user: ERR, RBP, INST, BPM, SDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.additive import AdditiveMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums, scan

CWL_DEPTH = 1000  # the C/W/L framework looks at lists of 1000 documents, padded or cut


def _needed(measure: Measure) -> None:
    """max_rel must be given: a scale guessed per query would change from query to query."""
    low, high = getattr(measure, "min_rel", 0.0), getattr(measure, "max_rel", None)
    if high is None:
        raise UsageError(
            f"{measure.canonical} needs max_rel, the highest grade of the scale, as in "
            f"{measure.canonical}(max_rel=3)"
        )
    if not high > low:
        raise UsageError(f"{measure.canonical}: max_rel {high} must be above {low}")


@dataclass(frozen=True, kw_only=True)
class ERR(Measure, names=("ERR",)):
    """Expected reciprocal rank at which a user stops who is satisfied with (2^g - 1) / 2^max_rel.

    Grades beyond max_rel count as max_rel.

    Source: Chapelle et al. 2009.

    >>> ERR(max_rel=4).score(Batch.of(hits=[[(1, 1), (2, 2)]], grades=[[(1, 1), (2, 1)]]))
    array([0.15039062])
    """

    max_rel: float | None = None
    cutoff: int | str | None = cutoff_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        _needed(self)

    def undefined(self, batch: Batch) -> Mask | None:
        good = batch.grade_label > 0
        none: Mask = np.bincount(batch.grade_row[good], minlength=len(batch)) == 0
        return none

    def score(self, batch: Batch) -> Array:
        flags = np.flatnonzero(batch.hit_label > 0)
        offsets = _kept_offsets(batch, batch.hit_label > 0)
        return self._cascade(
            batch, batch.hit_label[flags], batch.hit_rank[flags], batch.hit_row[flags], offsets
        )

    def _cascade(self, batch: Batch, label: Array, rank: Ints, row: Ints, offsets: Ints) -> Array:
        assert self.max_rel is not None
        top = np.minimum(np.maximum(label, 0.0), self.max_rel)
        stop = (np.exp2(top) - 1.0) / np.exp2(self.max_rel)
        going = scan(1.0 - stop, offsets, np.multiply)
        reached = np.ones_like(going)
        reached[1:] = going[:-1]
        reached[offsets[:-1][np.diff(offsets) > 0]] = 1.0
        inside = rank <= cutoffs.limits(self.cutoff, batch)[row]
        return row_sums(row[inside], (reached * stop / rank)[inside], len(batch))


@dataclass(frozen=True, kw_only=True)
class nERR(ERR, names=("nERR",)):  # noqa: N801 - the field's name for it
    """ERR over the ERR of the ideal order, 0 where no grade is positive.

    >>> nERR(max_rel=1).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]]))
    array([1.])
    """

    def score(self, batch: Batch) -> Array:
        order = np.lexsort((-batch.grade_label, batch.grade_row))
        order = order[batch.grade_label[order] > 0]
        row = np.repeat(batch.grade_row[order], batch.grade_count[order])
        offsets = np.searchsorted(row, np.arange(len(batch) + 1)).astype(np.int64)
        rank = np.arange(len(row)) - offsets[row] + 1
        label = np.repeat(batch.grade_label[order], batch.grade_count[order])
        best = self._cascade(batch, label, rank, row, offsets)
        return np.minimum(ratio(super().score(batch), best), 1.0)


@dataclass(frozen=True, kw_only=True)
class RBP(AdditiveMeasure, names=("RBP",)):
    """(1 - p) times the sum of p^(r-1) over relevant documents; graded: times g / max_rel.

    p: the chance to look at one more document
    gain: binary (grades from `rel` on), or graded (needs max_rel)

    Source: Moffat and Zobel 2008.

    >>> RBP(p=0.5).score(Batch.of(hits=[[(1, 1), (2, 1)]], grades=[[(1, 2)]]))
    array([0.75])
    """

    p: float = 0.8
    gain: Literal["binary", "graded"] = "binary"
    max_rel: float | None = None
    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise UsageError(f"{self.canonical}.p must lie between 0 and 1, not {self.p}")
        if self.gain == "graded":
            _needed(self)

    def worth(self, batch: Batch) -> Array:
        if self.gain == "binary":
            return batch.relevant(self.rel).astype(np.float64)
        assert self.max_rel is not None
        return np.clip(batch.hit_label, 0.0, self.max_rel) / self.max_rel

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        inside = rank <= cutoffs.limits(self.cutoff, batch, self.rel)[row]
        return np.where(inside, (1.0 - self.p) * self.p ** (rank - 1.0), 0.0)

    def normalized(self, batch: Batch, total: Array) -> Array:
        return total


@dataclass(frozen=True, kw_only=True)
class RBPresid(RBP, names=("RBPresid",)):
    """What RBP could still gain: the weight of all unjudged places, those beyond the list included.

    Source: Moffat and Zobel 2008 (trec_eval's `rbp_resid` is 0 when all is judged; right is p^n).

    >>> RBPresid(p=0.5).score(Batch.of(hits=[[(1, 1), (2, 0)]], grades=[[(1, 1), (0, 1)]]))
    array([0.25])
    """

    def worth(self, batch: Batch) -> Array:
        return np.ones(len(batch.hit_rank))

    def normalized(self, batch: Batch, total: Array) -> Array:
        k = cutoffs.limits(self.cutoff, batch, self.rel).astype(np.float64)
        return np.maximum(1.0 - self.p**k - total, 0.0)

    def undefined(self, batch: Batch) -> Mask | None:
        return None


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
        _needed(self)

    def undefined(self, batch: Batch) -> Mask | None:
        good = batch.grade_label > self.min_rel
        none: Mask = np.bincount(batch.grade_row[good], minlength=len(batch)) == 0
        return none

    def worth(self, batch: Batch) -> Array:
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

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        inside = rank <= cutoffs.limits(self.cutoff, batch)[row]
        return np.where(inside, 1.0 / np.log2(rank + 1.0), 0.0)

    def normalized(self, batch: Batch, total: Array) -> Array:
        k = cutoffs.limits(self.cutoff, batch)
        every = 1.0 / np.log2(np.arange(2, int(k.max(initial=0)) + 2))
        return ratio(total, np.concatenate(([0.0], np.cumsum(every)))[k])


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
        return ratio(batch.sum_hits(inside, self.worth(batch)[inside]), stop)


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
        worth = self.worth(batch)
        kept = (worth > 0) & (batch.hit_rank <= CWL_DEPTH)
        offsets = _kept_offsets(batch, kept)
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


def _kept_offsets(batch: Batch, kept: Any) -> Ints:
    counts: Ints = np.concatenate(([0], np.cumsum(kept)))[batch.hit_offsets].astype(np.int64)
    return counts
