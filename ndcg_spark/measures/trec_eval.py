"""The five names that mean something else in the C program trec_eval: `trec_eval:NAME`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import ClassVar, cast

import numpy as np

from ndcg_spark.measures import gains
from ndcg_spark.measures.additive import ratio
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before, row_sums, scan
from ndcg_spark.measures.discounts import discounts
from ndcg_spark.measures.gains import Gain
from ndcg_spark.measures.ndcg import (
    GAIN_ALIASES,
    GainLike,
    Ideal,
    hit_gains,
    ideal_order,
    one_gain,
    without_ideal,
)


@dataclass(frozen=True, kw_only=True)
class RunningGain(Measure):
    """What the measures of this file share: running sums over a list and over its ideal.

    trec_eval gives these names neither a cut-off nor another discount, and there is no closed form
    over tied orders.

    gain: linear, exp2 (2^g - 1), binary, a map of grade to gain, or a numpy function
    rel: smallest relevant grade
    """

    aliases: ClassVar[tuple[str, ...]] = GAIN_ALIASES

    gain: GainLike = dataclasses.field(default="linear", metadata={"convert": gains.gain})
    rel: float = 1.0
    gains: InitVar[Mapping[float, float] | None] = None
    dcg: InitVar[str | None] = None

    def __post_init__(self, gains: Mapping[float, float] | None, dcg: str | None) -> None:
        object.__setattr__(self, "gain", one_gain(self.canonical, self.gain, gains, dcg))
        super().__post_init__()

    def gain_function(self) -> Gain:
        return cast(Gain, self.gain)

    def uses_rel(self) -> bool:
        return self.gain_function().name == "binary"

    def undefined(self, batch: Batch) -> Mask | None:
        return without_ideal(batch, self.gain_function(), self.rel)

    def _gains(self, batch: Batch) -> Array:
        return hit_gains(batch, self.gain_function(), self.rel)

    def _ideal(self, batch: Batch) -> Ideal:
        return ideal_order(batch, self.gain_function(), self.rel)

    def _idcg(self, batch: Batch) -> Array:
        terms = self._ideal_terms(batch)
        return row_sums(self._ideal(batch).row, terms, len(batch))

    def _offsets(self, batch: Batch) -> Ints:
        """Where each list's entries of the ideal begin."""
        rows = np.arange(len(batch) + 1)
        return np.searchsorted(self._ideal(batch).row, rows).astype(np.int64)

    def _found(self, batch: Batch) -> Array:
        """(hits,) the list's DCG up to and including each hit."""
        terms = self._gains(batch) * discounts("log2", batch.hit_rank)
        return scan(terms, batch.hit_offsets, np.add)

    def _wanted(self, batch: Batch, terms: Array, row: Ints, rank: Ints) -> Array:
        """The ideal's running sum of terms at these ranks, its end where it is shorter."""
        offsets = self._offsets(batch)
        sums = scan(terms, offsets, np.add)
        place = offsets[row] + np.minimum(rank, np.diff(offsets)[row]) - 1
        return (
            np.where(np.diff(offsets)[row] > 0, sums[np.maximum(place, 0)], 0.0)
            if len(sums)
            else np.zeros(len(row))
        )

    def _ideal_terms(self, batch: Batch) -> Array:
        ideal = self._ideal(batch)
        return ideal.gain * discounts("log2", ideal.rank)


@dataclass(frozen=True, kw_only=True)
class TrecNdcgRel(RunningGain, names=("ndcg_rel",), trec="ndcg_rel", dialect="trec_eval"):
    """nDCG averaged over the ranks of the relevant documents; at the end for those not found.

    >>> batch = Batch.of(hits=[[(1, 2), (3, 3), (4, 0)]], grades=[[(3, 1), (2, 1), (1, 1), (0, 1)]])
    >>> TrecNdcgRel().score(batch)
    array([0.71222688])
    """

    def score(self, batch: Batch) -> Array:
        good = self._gains(batch) > 0
        row, rank = batch.hit_row[good], batch.hit_rank[good]
        found = self._found(batch)
        best = self._wanted(batch, self._ideal_terms(batch), row, rank)
        sums = row_sums(row, ratio(found[good], best), len(batch))
        n_rel = np.diff(self._offsets(batch))
        missed = n_rel - batch.count_hits(good)
        end = ratio(_at_end(batch, found), self._idcg(batch))
        return ratio(sums + missed * end, n_rel)


@dataclass(frozen=True, kw_only=True)
class TrecRndcg(RunningGain, names=("Rndcg",), trec="Rndcg", dialect="trec_eval"):
    """nDCG averaged over the ranks at which the ideal's gain drops, and over the end of the list.

    The end counts where the list is longer than the ideal by two documents or more.

    >>> batch = Batch.of(hits=[[(1, 2), (3, 3), (4, 0)]], grades=[[(3, 1), (2, 1), (1, 1), (0, 1)]])
    >>> TrecRndcg().score(batch)
    array([0.62365079])
    """

    def uses_rel(self) -> bool:
        return True  # a query without a relevant document scores 0

    def score(self, batch: Batch) -> Array:
        ideal, offsets = self._ideal(batch), self._offsets(batch)
        drop = np.ones(len(ideal.row), np.bool_)
        drop[:-1] = (np.diff(ideal.gain) != 0) | (np.diff(ideal.row) != 0)
        row, rank = ideal.row[drop], ideal.rank[drop]
        best = self._wanted(batch, self._ideal_terms(batch), row, rank)
        found = self._found(batch)
        sums = row_sums(row, ratio(_at_rank(batch, found, row, rank), best), len(batch))
        n_points = np.bincount(row, minlength=len(batch))
        longer = (batch.n_ret > np.diff(offsets) + 1) & (n_points > 0)
        end = ratio(_at_end(batch, found), self._idcg(batch))
        value = ratio(sums + np.where(longer, end, 0.0), n_points + longer)
        return np.where(batch.n_rel(self.rel) > 0, value, 0.0)


@dataclass(frozen=True, kw_only=True)
class TrecG(RunningGain, names=("G",), trec="G", dialect="trec_eval"):
    """Sum of gain / log2(2 + cost - own gain so far), over the sum of all gains.

    The cost is the ideal's gain so far, each place costing at least 1.

    >>> batch = Batch.of(hits=[[(1, 2), (3, 3), (4, 0)]], grades=[[(3, 1), (2, 1), (1, 1), (0, 1)]])
    >>> TrecG().score(batch)
    array([0.52577479])
    """

    def score(self, batch: Batch) -> Array:
        worth = self._gains(batch)
        ideal = self._ideal(batch)
        n_ideal = np.diff(self._offsets(batch))
        rank, row = batch.hit_rank, batch.hit_row
        cost = self._wanted(batch, np.maximum(ideal.gain, 1.0), row, rank)
        cost = cost + np.maximum(rank - n_ideal[row], 0)
        own = scan(worth, batch.hit_offsets, np.add)
        good = worth > 0
        terms = worth[good] / np.log2(2.0 + (cost[good] - own[good]))
        total = row_sums(ideal.row, ideal.gain, len(batch))
        return ratio(batch.sum_hits(good, terms), total)


@dataclass(frozen=True, kw_only=True)
class TrecNdcgP(RunningGain, names=("ndcg_p",), trec="ndcg_p", dialect="trec_eval"):
    """nDCG with the older discount: rank 1 undiscounted, then 1 / log2(r).

    >>> batch = Batch.of(hits=[[(1, 2), (3, 3), (4, 0)]], grades=[[(3, 1), (2, 1), (1, 1), (0, 1)]])
    >>> TrecNdcgP().score(batch)
    array([0.69132265])
    """

    def uses_rel(self) -> bool:
        return True  # a list without a relevant document scores 0

    def score(self, batch: Batch) -> Array:
        ideal, worth = self._ideal(batch), self._gains(batch)
        best = row_sums(ideal.row, ideal.gain * _older(ideal.rank), len(batch))
        good = worth > 0
        found = batch.sum_hits(good, worth[good] * _older(batch.hit_rank[good]))
        some = batch.count_hits(batch.relevant(self.rel)) > 0
        return np.where(some, np.minimum(ratio(found, best), 1.0), 0.0)


@dataclass(frozen=True, kw_only=True)
class TrecBinG(Measure, names=("binG",), trec="binG", dialect="trec_eval"):
    """Mean over relevant documents of 1 / log2(2 + non-relevant documents before).

    >>> batch = Batch.of(hits=[[(1, 2), (3, 3), (4, 0)]], grades=[[(3, 1), (2, 1), (1, 1), (0, 1)]])
    >>> TrecBinG().score(batch)
    array([0.54364325])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        good = batch.relevant(self.rel)
        before = batch.hit_rank[good] - counts_before(good, batch.hit_offsets)[good]
        return ratio(batch.sum_hits(good, 1.0 / np.log2(2.0 + before)), batch.n_rel(self.rel))


def _older(rank: Ints) -> Array:
    return 1.0 / np.log2(np.maximum(rank, 2).astype(np.float64))


def _at_end(batch: Batch, running: Array) -> Array:
    """(n,) the running sum at each list's last hit."""
    some = np.diff(batch.hit_offsets) > 0
    values = np.zeros(len(batch))
    values[some] = running[batch.hit_offsets[1:][some] - 1]
    return values


def _at_rank(batch: Batch, running: Array, row: Ints, rank: Ints) -> Array:
    """The running sum at the last hit up to each rank of each row; 0 before the first hit."""
    n_hits = len(batch.hit_rank)
    tag = np.concatenate([np.zeros(n_hits), np.ones(len(row))])
    order = np.lexsort(
        (tag, np.concatenate([batch.hit_rank, rank]), np.concatenate([batch.hit_row, row]))
    )
    is_hit = order < n_hits
    last = np.cumsum(is_hit) - 1
    asked = order[~is_hit] - n_hits
    before = last[~is_hit]
    values = np.zeros(len(row))
    own = (
        (before >= 0) & (batch.hit_row[np.maximum(before, 0)] == row[asked])
        if n_hits
        else (np.zeros(len(row), np.bool_))
    )
    values[asked[own]] = running[before[own]]
    return values
