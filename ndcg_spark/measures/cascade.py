"""Measures with a model of the user: ERR, RBP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.additive import AdditiveMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums, scan


def check_scale(name: str, high: float | None, low: float = 0.0) -> None:
    """max_rel must be given: a scale guessed per query would change from query to query."""
    if high is None:
        raise UsageError(
            f"{name} needs max_rel, the highest grade of the scale, as in {name}(max_rel=3)"
        )
    if not high > low:
        raise UsageError(f"{name}: max_rel {high} must be above {low}")


@dataclass(frozen=True, kw_only=True)
class ERR(Measure, names=("ERR",)):
    """Expected reciprocal rank at which a user stops who is satisfied with (2^g - 1) / 2^max_rel.

    A grade beyond max_rel is refused (E114): the scale was named too short.

    Source: Chapelle et al. 2009.

    >>> ERR(max_rel=4).score(Batch.of(hits=[[(1, 1), (2, 2)]], grades=[[(1, 1), (2, 1)]]))
    array([0.15039062])
    """

    max_rel: float | None = None
    cutoff: int | str | None = cutoff_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.canonical, self.max_rel)

    def undefined(self, batch: Batch) -> Mask | None:
        good = batch.grade_label > 0
        none: Mask = np.bincount(batch.grade_row[good], minlength=len(batch)) == 0
        return none

    def score(self, batch: Batch) -> Array:
        flags = np.flatnonzero(batch.hit_label > 0)
        offsets = kept_offsets(batch, batch.hit_label > 0)
        return self._cascade(
            batch, batch.hit_label[flags], batch.hit_rank[flags], batch.hit_row[flags], offsets
        )

    def _cascade(self, batch: Batch, label: Array, rank: Ints, row: Ints, offsets: Ints) -> Array:
        assert self.max_rel is not None
        if label.max(initial=0.0) > self.max_rel:
            raise InputError(
                "E114",
                f"a grade of {label.max():g} is above max_rel of {self}; give the scale's end",
            )
        # (2^g - 1) / 2^max_rel without 2^max_rel, which may be no double
        top = np.maximum(label, 0.0)
        stop = np.exp2(top - self.max_rel) - np.exp2(-self.max_rel)
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

    dotted: ClassVar[str] = "p"

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
            check_scale(self.canonical, self.max_rel)

    def worth(self, batch: Batch) -> Array:
        if self.gain == "binary":
            return batch.relevant(self.rel).astype(np.float64)
        assert self.max_rel is not None
        return np.clip(batch.hit_label, 0.0, self.max_rel) / self.max_rel

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        inside = rank <= cutoffs.limits(self.cutoff, batch, self.rel)[row]
        return np.where(inside, (1.0 - self.p) * self.p ** (rank - 1.0), 0.0)


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


def kept_offsets(batch: Batch, kept: Any) -> Ints:
    counts: Ints = np.concatenate(([0], np.cumsum(kept)))[batch.hit_offsets].astype(np.int64)
    return counts
