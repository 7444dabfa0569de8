"""Measures of relevant against not relevant: P, R, AP, RR, Success, Rprec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before
from ndcg_spark.measures.ndcg import TREC_CUTS


@dataclass(frozen=True, kw_only=True)
class BinaryMeasure(Measure):
    """What the measures of this file share: the threshold and the cut-off.

    rel: smallest grade that counts as relevant
    cutoff: last rank that counts
    """

    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()

    def _relevant(self, batch: Batch) -> Mask:
        """Relevant hits within the cut-off."""

        def make() -> Mask:
            inside = batch.hit_rank <= cutoffs.limits(self.cutoff, batch, self.rel)[batch.hit_row]
            return batch.relevant(self.rel) & inside

        mask: Mask = batch.memo(("relevant", self.rel, self.cutoff), make)
        return mask

    def _n_found(self, batch: Batch) -> Ints:
        counts: Ints = batch.memo(
            ("found", self.rel, self.cutoff), lambda: batch.count_hits(self._relevant(batch))
        )
        return counts


def ratio(top: Array | Ints, bottom: Array | Ints) -> Array:
    """top / bottom, 0 where the bottom is 0."""
    out = np.zeros(len(top))
    return np.divide(top, bottom, out=out, where=np.asarray(bottom) > 0)


@dataclass(frozen=True, kw_only=True)
class P(
    BinaryMeasure,
    names=("P", "Precision"),
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

    def score(self, batch: Batch) -> Array:
        k = cutoffs.limits(self.cutoff, batch, self.rel)
        if self.precision_denominator == "retrieved":
            k = np.minimum(k, batch.n_ret)
        return ratio(self._n_found(batch), k)


@dataclass(frozen=True, kw_only=True)
class R(
    BinaryMeasure,
    names=("R", "Recall"),
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

    def score(self, batch: Batch) -> Array:
        wanted = batch.n_rel(self.rel)
        if self.recall_denominator == "min(R,k)":
            wanted = np.minimum(wanted, cutoffs.limits(self.cutoff, batch, self.rel))
        return ratio(self._n_found(batch), wanted)


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMeasure, names=("AP", "MAP"), trec="map", trec_cut="map_cut", cuts=TREC_CUTS):
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
        wanted = batch.n_rel(self.rel)
        if self.ap_denominator == "min(R,k)":
            wanted = np.minimum(wanted, cutoffs.limits(self.cutoff, batch, self.rel))
        return ratio(batch.sum_hits(flags, found / batch.hit_rank[flags]), wanted)


@dataclass(frozen=True, kw_only=True)
class RR(BinaryMeasure, names=("RR", "MRR"), trec="recip_rank"):
    """One over the rank of the first relevant document; 0 where none was retrieved.

    Source: Kantor and Voorhees 2000.

    >>> RR().score(Batch.of(hits=[[(3, 1)]], grades=[[(1, 1)]]))
    array([0.33333333])
    """

    def score(self, batch: Batch) -> Array:
        flags = self._relevant(batch)
        first = np.full(len(batch), np.inf)
        # written from the back, so that the first relevant hit of a list stays
        first[batch.hit_row[flags][::-1]] = batch.hit_rank[flags][::-1]
        return 1.0 / first


@dataclass(frozen=True, kw_only=True)
class Success(
    BinaryMeasure,
    names=("Success",),
    trec_cut="success",
    cuts=(1, 5, 10),
    needs_cutoff=True,
):
    """1 where the top k holds a relevant document, else 0.

    >>> Success(cutoff=1).score(Batch.of(hits=[[(1, 1)], [(2, 1)]], grades=[[(1, 1)]] * 2))
    array([1., 0.])
    """

    def score(self, batch: Batch) -> Array:
        return (self._n_found(batch) > 0).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Rprec(Measure, names=("Rprec", "RPrec"), trec="Rprec"):
    """Precision at rank R, the number of relevant documents.

    >>> Rprec().score(Batch.of(hits=[[(1, 1), (3, 1), (4, 1)]], grades=[[(1, 3)]]))
    array([0.66666667])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        wanted = batch.n_rel(self.rel)
        inside = batch.relevant(self.rel) & (batch.hit_rank <= wanted[batch.hit_row])
        return ratio(batch.count_hits(inside), wanted)
