"""Measures for incomplete judgements: bpref, infAP, Compat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.measures.additive import ratio
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before, row_sums

EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class Bpref(Measure, names=("Bpref",), trec="bpref"):
    """Share of the preferences of relevant over judged non-relevant documents that a list keeps.

    Each relevant document counts 1 - min(n, R) / min(N, R), n judged non-relevant documents (grades
    from 0 to `rel`) before it of N in all, and 1 where there is none before it.

    Source: Buckley and Voorhees 2004, as trec_eval computes it.

    >>> Bpref().score(Batch.of(hits=[[(1, 0), (2, 1)]], grades=[[(1, 2), (0, 1)]]))
    array([0.])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        relevant = batch.relevant(self.rel)
        others = (batch.hit_label >= 0) & ~relevant
        wanted = batch.n_rel(self.rel)
        bad = (batch.grade_label >= 0) & (batch.grade_label < self.rel)
        n_bad = row_sums(batch.grade_row[bad], batch.grade_count[bad].astype(float), len(batch))
        before = counts_before(others, batch.hit_offsets)[relevant]
        row = batch.hit_row[relevant]
        lost = ratio(np.minimum(before, wanted[row]), np.minimum(n_bad, wanted)[row])
        return ratio(batch.sum_hits(relevant, 1.0 - lost), wanted)


@dataclass(frozen=True, kw_only=True)
class GMBpref(Bpref, names=("GMBpref",), trec="gm_bpref", aggregation="geometric"):
    """Bpref whose aggregate is the geometric mean over queries, values below 1e-5 counting 1e-5.

    >>> GMBpref().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2), (0, 1)]]))
    array([0.5])
    """


@dataclass(frozen=True, kw_only=True)
class infAP(Measure, names=("infAP",), trec="infAP"):  # noqa: N801 - the field's name for it
    """Average precision inferred from a sample of the pool; a negative grade is pooled, not judged.

    At a relevant document of rank r: 1/r + (r-1)/r x (pooled before)/(r-1) x (relevant before + e)
    / (judged before + 2e) with e = 1e-5; the mean over all relevant documents.

    Source: Yilmaz and Aslam 2006, as trec_eval computes it.

    >>> infAP().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]]))
    array([1.])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        relevant = batch.relevant(self.rel)
        others = (batch.hit_label >= 0) & ~relevant
        rank = batch.hit_rank[relevant].astype(np.float64)
        found = counts_before(relevant, batch.hit_offsets)[relevant] - 1.0
        bad = counts_before(others, batch.hit_offsets)[relevant]
        pooled = counts_before(batch.hit_label < 0, batch.hit_offsets)[relevant]
        inferred = (found + EPSILON) / (found + bad + 2 * EPSILON)
        share = np.divide(found + bad + pooled, rank - 1.0, out=np.zeros_like(rank), where=rank > 1)
        terms = 1.0 / rank + (rank - 1.0) / rank * share * inferred
        return ratio(batch.sum_hits(relevant, terms), batch.n_rel(self.rel))


@dataclass(frozen=True, kw_only=True)
class Compat(Measure, names=("Compat",)):
    """Rank-biased overlap of the list with an ideal one, over that of the ideal with itself.

    The ideal holds the documents of positive grade, best grade first and within a grade in the
    order of the list. Without normalize the overlap itself.

    Source: Clarke, Vtyurina and Smucker 2021.

    >>> Compat(p=0.5).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]]))
    array([1.])
    """

    p: float = 0.95
    normalize: bool = True

    def undefined(self, batch: Batch) -> Mask | None:
        none: Mask = self._n_ideal(batch) == 0
        return none

    def score(self, batch: Batch) -> Array:
        n_ideal = self._n_ideal(batch)
        depth = np.maximum(batch.n_ret, n_ideal)
        longest = int(depth.max(initial=0))
        power = self.p ** np.arange(longest)
        terms = np.concatenate(([0.0], np.cumsum(power / np.arange(1, longest + 1))))
        good = np.flatnonzero(batch.hit_label > 0)
        row = batch.hit_row[good]
        meet = np.maximum(batch.hit_rank[good], self._ideal_rank(batch, good))
        shared = batch.sum_hits(good, terms[depth[row]] - terms[meet - 1])
        if self.normalize:
            # the ideal meets itself at once: sum over its places j of terms[depth] - terms[j - 1]
            up_to = np.concatenate(([0.0], np.cumsum(terms)))[n_ideal]
            return ratio(shared, n_ideal * terms[depth] - up_to)
        weights = np.concatenate(([0.0], np.cumsum(power)))[depth]
        return ratio(shared, weights)

    @staticmethod
    def _n_ideal(batch: Batch) -> Ints:
        good = batch.grade_label > 0
        counts = row_sums(
            batch.grade_row[good], batch.grade_count[good].astype(np.float64), len(batch)
        )
        return counts.astype(np.int64)

    @staticmethod
    def _ideal_rank(batch: Batch, good: Ints) -> Ints:
        """The place of each good hit in the ideal: after all better ones, found or not."""
        row, label = batch.hit_row[good], batch.hit_label[good]
        order = np.lexsort((-batch.grade_label, batch.grade_row))
        counts = batch.grade_count[order]
        total = np.concatenate(([0], np.cumsum(counts)))[:-1]
        above = total - total[np.searchsorted(batch.grade_row[order], batch.grade_row[order])]
        # find each hit's grade among the sorted grades of its list
        keys = np.stack([batch.grade_row[order].astype(np.float64), -batch.grade_label[order]])
        wanted = np.stack([row.astype(np.float64), -label])
        where = np.lexsort(
            (
                np.concatenate([np.zeros(keys.shape[1]), np.ones(len(good))]),
                np.concatenate([keys[1], wanted[1]]),
                np.concatenate([keys[0], wanted[0]]),
            )
        )
        is_grade = where < keys.shape[1]
        grade_of = np.cumsum(is_grade) - 1
        better = np.empty(len(good), np.int64)
        better[where[~is_grade] - keys.shape[1]] = above[grade_of[~is_grade]]
        sorted_hits = np.lexsort((batch.hit_rank[good], -label, row))
        new = np.ones(len(good), np.bool_)
        new[1:] = (np.diff(row[sorted_hits]) != 0) | (np.diff(label[sorted_hits]) != 0)
        start = np.maximum.accumulate(np.where(new, np.arange(len(good)), 0))
        number = np.empty(len(good), np.int64)
        number[sorted_hits] = np.arange(len(good)) - start
        ranks: Ints = better + number + 1
        return ranks
