"""Measures that count relevant documents in another way: Rprec, F1, binG, relative_P and a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.measures.additive import AdditiveMeasure
from ndcg_spark.measures.batch import Array, Batch, Ints
from ndcg_spark.measures.binary import BinaryMeasure, CountingMeasure
from ndcg_spark.measures.ndcg import TREC_CUTS


@dataclass(frozen=True, kw_only=True)
class Rprec(AdditiveMeasure, names=("Rprec", "RPrec", "r-precision"), trec="Rprec"):
    """Precision at rank R, the number of relevant documents.

    >>> Rprec().score(Batch.of(hits=[[(1, 1), (3, 1), (4, 1)]], grades=[[(1, 3)]]))
    array([0.66666667])
    """

    rel: float = 1.0

    def worth(self, batch: Batch) -> Array:
        return batch.relevant(self.rel).astype(np.float64)

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return (rank <= batch.n_rel(self.rel)[row]).astype(np.float64)

    def ideal(self, batch: Batch) -> Array:
        return batch.n_rel(self.rel).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class F1(CountingMeasure, names=("F1",)):
    """Harmonic mean of precision and recall of the top k: 2 hits / (k + R), as ranx has it.

    Without a cut-off k is the length of the list (`SetF`).

    >>> F1(cutoff=2).score(Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 4)]]))
    array([0.33333333])
    """

    def ideal(self, batch: Batch) -> Array:
        k = batch.n_ret if self.cutoff is None else self._limits(batch)
        return (k + batch.n_rel(self.rel)) / 2.0

    def by_length(self) -> bool:
        return super().by_length() or self.cutoff is None


@dataclass(frozen=True, kw_only=True)
class binG(CountingMeasure, names=("binG", "hits"), bounded=False):  # noqa: N801 - trec_eval's name
    """Number of the top k with a grade of at least `rel`.

    Source: the plain count (trec_eval's `binG` is something else, see the dialects).

    >>> binG(cutoff=2, rel=2).score(Batch.of(hits=[[(1, 1), (2, 2), (3, 2)]], grades=[[(2, 2)]]))
    array([1.])
    """


@dataclass(frozen=True, kw_only=True)
class relative_P(  # noqa: N801 - trec_eval's name
    CountingMeasure,
    names=("relative_P",),
    trec_cut="relative_P",
    cuts=TREC_CUTS,
    needs_cutoff=True,
):
    """Precision at k over the best possible one: relevant in the top k over min(k, R).

    >>> relative_P(cutoff=5).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]]))
    array([0.5])
    """

    def ideal(self, batch: Batch) -> Array:
        return np.minimum(self._limits(batch), batch.n_rel(self.rel)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class mean_reciprocal_click(  # noqa: N801 - the name in use
    BinaryMeasure, AdditiveMeasure, names=("mean_reciprocal_click",)
):
    """Mean over all relevant documents of one over their rank; what MIND-style code calls MRR.

    It is not the reciprocal rank of the first relevant document (`RR`), except where R = 1.

    Source: the scoring script of the MIND news recommendation data.

    >>> mean_reciprocal_click().score(Batch.of(hits=[[(1, 1), (2, 1)]], grades=[[(1, 2)]]))
    array([0.75])
    """

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return np.where(rank <= self._limits(batch)[row], 1.0 / rank, 0.0)

    def ideal(self, batch: Batch) -> Array:
        return batch.n_rel(self.rel).astype(np.float64)
