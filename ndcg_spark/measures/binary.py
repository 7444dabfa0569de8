"""Measures of relevant against not relevant: P, R, AP, RR, Success, Rprec and their kin."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ndcg_spark.measures import cutoffs, ties
from ndcg_spark.measures.additive import AdditiveMeasure, PlacedMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before, row_sums, scan
from ndcg_spark.measures.ndcg import TREC_CUTS


@dataclass(frozen=True, kw_only=True)
class BinaryMeasure(Measure):
    """What the measures of this file share: the threshold and the cut-off.

    rel: smallest grade that counts as relevant
    cutoff: last rank that counts
    """

    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()

    def worth(self, batch: Batch) -> Array:
        return batch.relevant(self.rel).astype(np.float64)

    def worth_key(self) -> Hashable:
        return "relevant", self.rel

    def _wanted(self, batch: Batch, denominator: Literal["R", "min(R,k)"]) -> Ints:
        """How many relevant documents there are, or how many of them the top k can hold."""
        wanted = batch.n_rel(self.rel)
        return np.minimum(wanted, self._limits(batch)) if denominator == "min(R,k)" else wanted

    def _limits(self, batch: Batch) -> Ints:
        return cutoffs.limits(self.cutoff, batch, self.rel)

    def _relevant(self, batch: Batch) -> Mask:
        """Relevant hits within the cut-off."""

        def make() -> Mask:
            return batch.relevant(self.rel) & (batch.hit_rank <= self._limits(batch)[batch.hit_row])

        mask: Mask = batch.memo(("relevant", self.rel, self.cutoff), make)
        return mask


@dataclass(frozen=True, kw_only=True)
class CountingMeasure(BinaryMeasure, AdditiveMeasure):
    """A BinaryMeasure that counts the relevant documents within the cut-off."""

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return (rank <= self._limits(batch)[row]).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class P(
    CountingMeasure,
    names=("P", "Precision", "precisionAt"),
    trec_cut="P",
    cuts=TREC_CUTS,
    needs_cutoff=True,
):
    """Share of the top k that is relevant; missing places of a short list count as not relevant.

    With precision_denominator='retrieved' a short list is divided by its own length.

    >>> P(cutoff=5).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]]))
    array([0.2])
    """

    precision_denominator: Literal["k", "retrieved"] = "k"

    def ideal(self, batch: Batch) -> Array:
        k = self._limits(batch)
        if self.precision_denominator == "retrieved":
            k = np.minimum(k, batch.n_ret)
        return k.astype(np.float64)

    def by_length(self) -> bool:
        return super().by_length() or self.precision_denominator == "retrieved"


@dataclass(frozen=True, kw_only=True)
class R(
    CountingMeasure,
    names=("R", "Recall", "recallAt"),
    trec_cut="recall",
    cuts=TREC_CUTS,
    needs_cutoff=True,
):
    """Share of the relevant documents that the top k holds.

    With recall_denominator='min(R,k)' the best possible value is 1 for every k.

    >>> R(cutoff=2).score(Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 2)]]))
    array([0.5])
    """

    recall_denominator: Literal["R", "min(R,k)"] = "R"

    def ideal(self, batch: Batch) -> Array:
        return self._wanted(batch, self.recall_denominator).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class AP(
    BinaryMeasure,
    names=("AP", "MAP", "meanAveragePrecision", "meanAveragePrecisionAt"),
    trec="map",
    trec_cut="map_cut",
    cuts=TREC_CUTS,
):
    """Mean over all relevant documents of the precision at their rank; 0 for those not found.

    With a cut-off the sum is still divided by R (trec_eval); ap_denominator='min(R,k)' divides by
    the best possible sum instead (Spark's convention).

    Source: Buckley and Voorhees 2000.

    >>> AP().score(Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 3)]]))
    array([0.55555556])
    """

    ap_denominator: Literal["R", "min(R,k)"] = "R"

    def score(self, batch: Batch) -> Array:
        flags = self._relevant(batch)
        found = counts_before(flags, batch.hit_offsets)[flags]
        sums = batch.sum_hits(flags, found / batch.hit_rank[flags])
        return ratio(sums, self._wanted(batch, self.ap_denominator))

    def expected(self, batch: Batch) -> Array:
        """McSherry and Najork 2008: a tied place is relevant with r / t, and then it has seen
        (number - 1) (r - 1) / (t - 1) relevant documents of its group before it."""
        found = ties.groups(batch)
        r = ties.count_in_groups(batch, batch.relevant(self.rel))
        before = np.cumsum(r) - r
        start = np.searchsorted(found.row, found.row)  # each group's first one of its list
        before = before - before[start]
        spread = ties.places(found, r > 0)
        g, t = spread.group, found.size[spread.group]
        seen = spread.number * (r[g] - 1) / np.maximum(t - 1, 1)
        term = r[g] / t * (before[g] + 1 + seen) / spread.rank
        inside = spread.rank <= self._limits(batch)[found.row[g]]
        sums = row_sums(found.row[g][inside], term[inside], len(batch))
        return ratio(sums, self._wanted(batch, self.ap_denominator))


@dataclass(frozen=True, kw_only=True)
class RR(BinaryMeasure, PlacedMeasure, names=("RR", "MRR"), trec="recip_rank"):
    """One over the rank of the first relevant document; 0 where none was retrieved.

    Source: Kantor and Voorhees 2000.

    >>> RR().score(Batch.of(hits=[[(3, 1)]], grades=[[(1, 1)]]))
    array([0.33333333])
    """

    first_only: ClassVar[bool] = True

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return np.where(rank <= self._limits(batch)[row], 1.0 / rank, 0.0)

    def score(self, batch: Batch) -> Array:
        flags = self._relevant(batch)
        first = np.full(len(batch), np.inf)
        # written from the back, so that the first relevant hit of a list stays
        first[batch.hit_row[flags][::-1]] = batch.hit_rank[flags][::-1]
        return 1.0 / first

    def expected(self, batch: Batch) -> Array:
        """Only the first group with a relevant document counts; there the first one stands at the
        j-th place with the chance that j - 1 misses and then a hit are drawn."""
        spread, row, hit = _first_hits(batch, self.rel)
        inside = spread.rank <= self._limits(batch)[row]
        return row_sums(row[inside], (hit / spread.rank)[inside], len(batch))


@dataclass(frozen=True, kw_only=True)
class Success(
    BinaryMeasure,
    PlacedMeasure,
    names=("Success", "hit_rate"),
    trec_cut="success",
    cuts=(1, 5, 10),
    needs_cutoff=True,
):
    """1 where the top k holds a relevant document, else 0.

    >>> Success(cutoff=1).score(Batch.of(hits=[[(1, 1)], [(2, 1)]], grades=[[(1, 1)]] * 2))
    array([1., 0.])
    """

    first_only: ClassVar[bool] = True

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return (rank <= self._limits(batch)[row]).astype(np.float64)

    def score(self, batch: Batch) -> Array:
        return (batch.count_hits(self._relevant(batch)) > 0).astype(np.float64)

    def expected(self, batch: Batch) -> Array:
        """One less the chance that every place up to the cut-off is drawn without a hit."""
        spread, row, hit = _first_hits(batch, self.rel)
        found = ties.groups(batch)
        inside = spread.rank <= self._limits(batch)[row]
        whole = (found.first + found.size - 1)[spread.group] <= self._limits(batch)[row]
        sums = row_sums(row[inside], hit[inside], len(batch))
        sure = np.zeros(len(batch), np.bool_)
        sure[row[whole]] = True
        return np.where(sure, 1.0, sums)


def _first_hits(batch: Batch, rel: float) -> tuple[ties.Places, Ints, Array]:
    """The places of each list's first group with a relevant document, their lists, and the chance
    of each place to hold the list's first relevant document."""
    found = ties.groups(batch)
    r = ties.count_in_groups(batch, batch.relevant(rel))
    some = np.flatnonzero(r > 0)
    kept = np.zeros(len(r), np.bool_)
    kept[some[np.append(True, np.diff(found.row[some]) != 0)[: len(some)]]] = True
    spread = ties.places(found, kept)
    t, n = found.size[spread.group], r[spread.group]
    # draws without replacement: the chance of one more miss, given misses so far
    step = np.maximum(t - n - (spread.number - 1), 0) / np.maximum(t - (spread.number - 1), 1)
    step[spread.number == 0] = 1.0
    offsets = np.append(np.flatnonzero(spread.number == 0), len(step))
    miss = scan(step, offsets.astype(np.int64), np.multiply) if len(step) else step
    # the chance that a place is the first hit: no hit before it, less none before the next one
    hit = miss - np.append(miss[1:], 0.0)
    last = offsets[1:] - 1
    hit[last] = miss[last]
    return spread, found.row[spread.group], hit


@dataclass(frozen=True, kw_only=True)
class GMAP(AP, names=("GMAP",), trec="gm_map", aggregation="geometric"):
    """AP whose aggregate is the geometric mean over queries, values below 1e-5 counting 1e-5.

    Source: Robertson 2006.

    >>> GMAP().score(Batch.of(hits=[[(2, 1)]], grades=[[(1, 1)]]))
    array([0.5])
    """
