"""Pairwise measures: how many pairs of documents stand in the right order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.errors import InputError
from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.additive import ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before, row_sums
from ndcg_spark.measures.counts import OrderFree

LARGEST_PAIRED = 20_000  # judged documents of one list whose pairs BPR will enumerate


@dataclass(frozen=True, kw_only=True)
class Accuracy(Measure, names=("Accuracy",)):
    """Chance that a relevant returned document stands before a non-relevant (or unjudged) one.

    Over the pairs in the top k; 1 where the top k holds relevant documents only, 0 where it holds
    none.

    Source: ir_measures.

    >>> Accuracy().score(Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 2)]], n_ret=[3]))
    array([0.5])
    """

    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()

    def score(self, batch: Batch) -> Array:
        limit = cutoffs.limits(self.cutoff, batch, self.rel)
        flags = batch.relevant(self.rel) & (batch.hit_rank <= limit[batch.hit_row])
        before = batch.hit_rank[flags] - counts_before(flags, batch.hit_offsets)[flags]
        n_good = batch.count_hits(flags)
        n_bad = np.minimum(limit, batch.n_ret) - n_good
        lost = ratio(batch.sum_hits(flags, before.astype(np.float64)), n_bad * n_good)
        return np.where(n_good > 0, 1.0 - lost, 0.0)


@dataclass(frozen=True, kw_only=True)
class PairAcc(OrderFree, names=("PairAcc",), needs_scores=True):
    """Share of the pairs of judged returned documents of different grade that stand in the right
    order; a pair of equal scores counts 1/2.

    >>> batch = Batch.of(hits=[[(1, 2), (2, 0), (3, 1)]], grades=[[(2, 1), (1, 1), (0, 1)]])
    >>> PairAcc().score(batch)
    array([0.66666667])
    """

    def undefined(self, batch: Batch) -> Mask | None:
        none: Mask = self._pairs(batch) == 0
        return none

    def score(self, batch: Batch) -> Array:
        rows, n = batch.hit_row, len(batch)
        right = _in_order(rows, batch.hit_label, n)
        if batch.hit_score is None:
            return ratio(right, self._pairs(batch))
        group = _equal_scores(batch)
        n_groups = int(group.max(initial=-1)) + 1
        tied_right = _in_order(group, batch.hit_label, n_groups)
        tied = _different(group, batch.hit_label, n_groups)
        row_of = np.zeros(n_groups, np.int64)
        row_of[group] = rows
        doubtful = row_sums(row_of, tied / 2 - tied_right, n)
        return ratio(right + doubtful, self._pairs(batch))

    @staticmethod
    def _pairs(batch: Batch) -> Array:
        return _different(batch.hit_row, batch.hit_label, len(batch))


@dataclass(frozen=True, kw_only=True)
class BPR(OrderFree, names=("BPR",), bounded=False, needs_scores=True):
    """Pairwise logistic loss: mean of ln(1 + exp(-(s+ - s-))) over pairs of judged returned
    documents of different grade, s+ the score of the better one. Lower is better.

    Source: Rendle et al. 2009, the pairwise objective as a measure. Pairs are enumerated: a list
    with more than 20,000 judged documents is refused (E136).

    >>> from dataclasses import replace
    >>> batch = Batch.of(hits=[[(1, 1), (2, 0)]], grades=[[(1, 1), (0, 1)]])
    >>> BPR().score(replace(batch, hit_score=np.array([1.0, 1.0])))
    array([0.69314718])
    """

    def undefined(self, batch: Batch) -> Mask | None:
        none: Mask = _different(batch.hit_row, batch.hit_label, len(batch)) == 0
        return none

    def score(self, batch: Batch) -> Array:
        if batch.hit_score is None:
            raise InputError("E137", "BPR needs scores; runs that give ranks only have none")
        longest = int(np.diff(batch.hit_offsets).max(initial=0))
        if longest > LARGEST_PAIRED:
            raise InputError(
                "E136",
                f"BPR enumerates the pairs of a list: {longest} judged documents in one list, "
                f"allowed are {LARGEST_PAIRED}",
            )
        total, pairs = np.zeros(len(batch)), np.zeros(len(batch))
        score, label, row = batch.hit_score, batch.hit_label, batch.hit_row
        for apart in range(1, longest):  # every pair that stands this many hits apart, at once
            same = np.flatnonzero(row[apart:] == row[:-apart])
            better = label[same] - label[same + apart]
            same, better = same[better != 0], better[better != 0]
            ahead = np.sign(better) * (score[same] - score[same + apart])
            total += row_sums(row[same], np.logaddexp(0.0, -ahead), len(batch))
            pairs += np.bincount(row[same], minlength=len(batch))
        return ratio(total, pairs)


def _equal_scores(batch: Batch) -> Ints:
    """(hits,) a number for each run of equal scores within a list."""
    assert batch.hit_score is not None
    new = np.ones(len(batch.hit_rank), np.bool_)
    new[1:] = (np.diff(batch.hit_row) != 0) | (batch.hit_score[1:] != batch.hit_score[:-1])
    return np.cumsum(new) - 1


def _different(group: Ints, label: Array, n: int) -> Array:
    """(n,) pairs of different label in each group: all pairs less those of equal label."""
    every = np.bincount(group, minlength=n).astype(np.float64)
    order = np.lexsort((label, group))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(group[order]) != 0) | (np.diff(label[order]) != 0)
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(order))).astype(np.float64)
    alike = row_sums(group[order][first], size * (size - 1) / 2, n)
    return every * (every - 1) / 2 - alike


def _in_order(group: Ints, label: Array, n: int) -> Array:
    """(n,) pairs of each group, in order of rank, whose first has the higher label.

    Counted by sorting on one binary digit of the label at a time: a pair is decided at the highest
    digit in which its labels differ.
    """
    values = np.unique(label, return_inverse=True)[1].astype(np.int64)
    total = np.zeros(n)
    same = group.astype(np.int64)
    order = np.arange(len(label))
    for digit in range(int(values.max(initial=0)).bit_length() - 1, -1, -1):
        # stable: within equal higher digits the documents stay in the order of their ranks
        order = np.lexsort((np.arange(len(order)), same))
        high = (values[order] >> digit) & 1
        block = np.ones(len(order), np.bool_)
        block[1:] = np.diff(same[order]) != 0
        start = np.maximum.accumulate(np.where(block, np.arange(len(order)), 0))
        before = np.concatenate(([0], np.cumsum(high)))
        ahead = (before[:-1] - before[start]) * (1 - high)
        total += row_sums(group[order], ahead.astype(np.float64), n)
        same = same * 2 + ((values >> digit) & 1)
        same = np.unique(same, return_inverse=True)[1].astype(np.int64)
    return total
