"""Precision at levels of recall, as trec_eval computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.measures.additive import AdditiveMeasure
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints, counts_before, scan

LEVELS = tuple(i / 10 for i in range(11))
MULTIPLES = tuple(i / 5 for i in range(1, 11))


def _reached(measure: Measure, level: float, batch: Batch, rel: float) -> Ints:
    """How many relevant documents make this share of R: floor(level R + 0.9), as trec_eval 9 has it
    (and pytrec_eval, and with it the default dialect), or the nearest number (trec_eval 10)."""
    share = level * batch.n_rel(rel).astype(np.float64)
    if measure.release < 10:
        return np.floor(share + 0.9).astype(np.int64)
    whole = np.floor(share)
    rounded: Ints = (whole + (share - whole >= 0.5)).astype(np.int64)
    return rounded


@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(Measure):
    """What the two measures share: interpolated precision, the best one at or below a rank."""

    rel: float = 1.0

    def _at_level(self, batch: Batch, level: float) -> Array:
        found, best = self._interpolated(batch)
        wanted = np.maximum(_reached(self, level, batch, self.rel), 1)
        row = np.repeat(np.arange(len(batch)), np.diff(found))
        place = np.arange(len(row)) - found[row] + 1
        hit = place == wanted[row]
        values = np.zeros(len(batch))
        values[row[hit]] = best[hit]
        return values

    def _interpolated(self, batch: Batch) -> tuple[Ints, Array]:
        def make() -> tuple[Ints, Array]:
            flags = batch.relevant(self.rel)
            precision = counts_before(flags, batch.hit_offsets)[flags] / batch.hit_rank[flags]
            offsets = np.concatenate(([0], np.cumsum(batch.count_hits(flags))))
            backwards = (offsets[-1] - offsets)[::-1]
            return offsets, scan(precision[::-1], backwards, np.maximum)[::-1]

        both: tuple[Ints, Array] = batch.memo(("iprec", self.rel), make)
        return both


@dataclass(frozen=True, kw_only=True)
class IPrec(
    InterpolatedPrecision,
    names=("IPrec",),
    trec_cut="iprec_at_recall",
    cuts=LEVELS,
    at="recall",
    needs_cutoff=True,
):
    """Interpolated precision at a level of recall: the best precision from there on.

    >>> IPrec(recall=0.5).score(Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 2)]]))
    array([1.])
    """

    recall: float | None = None

    def score(self, batch: Batch) -> Array:
        assert self.recall is not None  # parse_measures sees to it
        return self._at_level(batch, self.recall)


@dataclass(frozen=True, kw_only=True)
class ElevenPoint(InterpolatedPrecision, names=("11pt_avg",), trec="11pt_avg"):
    """Mean of the interpolated precision at the recall levels 0, 0.1, ..., 1.

    >>> ElevenPoint().score(Batch.of(hits=[[(2, 1)]], grades=[[(1, 1)]]))
    array([0.5])
    """

    def score(self, batch: Batch) -> Array:
        total = np.zeros(len(batch))
        for level in LEVELS:
            total += self._at_level(batch, level)
        return total / len(LEVELS)


@dataclass(frozen=True, kw_only=True)
class RprecMult(
    AdditiveMeasure,
    names=("RprecMult",),
    trec_cut="Rprec_mult",
    cuts=MULTIPLES,
    at="multiple",
    needs_cutoff=True,
):
    """Precision at a multiple of R: at rank floor(multiple R + 0.9) (trec_eval 9).

    >>> RprecMult(multiple=2.0).score(Batch.of(hits=[[(1, 1), (4, 1)]], grades=[[(1, 2)]]))
    array([0.5])
    """

    rel: float = 1.0
    multiple: float | None = None

    def _rank(self, batch: Batch) -> Ints:
        assert self.multiple is not None  # parse_measures sees to it
        return _reached(self, self.multiple, batch, self.rel)

    def worth(self, batch: Batch) -> Array:
        return batch.relevant(self.rel).astype(np.float64)

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return (rank <= self._rank(batch)[row]).astype(np.float64)

    def ideal(self, batch: Batch) -> Array:
        return self._rank(batch).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class TrecIPrec(
    IPrec,
    names=("IPrec",),
    trec_cut="iprec_at_recall",
    cuts=LEVELS,
    at="recall",
    needs_cutoff=True,
    dialect="trec_eval",
    release=10,
):
    """The same as trec_eval 10 has it: the level is reached at the nearest number of documents.

    >>> batch = Batch.of(hits=[[(1, 1), (3, 1)]], grades=[[(1, 4)]])
    >>> TrecIPrec(recall=0.3).score(batch), IPrec(recall=0.3).score(batch)
    (array([1.]), array([0.66666667]))
    """


@dataclass(frozen=True, kw_only=True)
class TrecElevenPoint(
    ElevenPoint, names=("11pt_avg",), trec="11pt_avg", dialect="trec_eval", release=10
):
    """The same as trec_eval 10 has it: a level is reached at the nearest number of documents.

    >>> TrecElevenPoint().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]]))
    array([0.72727273])
    """


@dataclass(frozen=True, kw_only=True)
class TrecRprecMult(
    RprecMult,
    names=("RprecMult",),
    trec_cut="Rprec_mult",
    cuts=MULTIPLES,
    at="multiple",
    needs_cutoff=True,
    dialect="trec_eval",
    release=10,
):
    """The same as trec_eval 10 has it: at the nearest whole rank; 0 where that is rank 0.

    >>> TrecRprecMult(multiple=0.4).score(Batch.of(hits=[[(1, 1), (2, 0)]], grades=[[(1, 3)]]))
    array([1.])
    """
