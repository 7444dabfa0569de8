"""Measures that are a sum over places: what is found there, times what the place is worth."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, TypeGuard

import numpy as np

from ndcg_spark.measures import ties
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints


@dataclass(frozen=True, kw_only=True)
class PlacedMeasure(Measure):
    """A value that is made of the documents' worth, the weights of their places, and an ideal.

    first_only: only the first document that is worth something counts
    by_ideal_order: the ideal is what the judged documents would add in their best order
    """

    first_only: ClassVar[bool] = False
    by_ideal_order: ClassVar[bool] = False

    def worth(self, batch: Batch) -> Array:
        """(hits,) what each judged document contributes, before the place's weight."""
        raise NotImplementedError

    def worth_key(self) -> Hashable:
        """Equal for measures to which every document is worth the same."""
        return self

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        """The weight of these ranks in these lists; 0 beyond the cut-off."""
        raise NotImplementedError

    def ideal(self, batch: Batch) -> Array:
        """(n,) what the weighted sum is divided by."""
        return np.ones(len(batch))

    def by_length(self) -> bool:
        """Whether weights or the ideal hang on the length of the list, and not on its query alone.

        What a user's own measure reads is not known.
        """
        cutoff = self.last_rank()
        return self.is_own() or (isinstance(cutoff, str) and cutoff != "R")


@dataclass(frozen=True, kw_only=True)
class AdditiveMeasure(PlacedMeasure):
    """Sum of worth x weight of the place, over the ideal; its mean over tied orders is exact too.

    One that is not a plain quotient says in `normalized` what it makes of the sum.
    """

    def normalized(self, batch: Batch, total: Array) -> Array:
        """(n,) the value from the weighted sums."""
        values = ratio(total, self.ideal(batch))
        # rounding in deep lists must not pass the bound
        return np.minimum(values, 1.0) if self.bounded else values

    def score(self, batch: Batch) -> Array:
        worth = self.worth(batch)
        kept = np.flatnonzero(worth)
        weight = self.weight(batch, batch.hit_rank[kept], batch.hit_row[kept])
        return self.normalized(batch, batch.sum_hits(kept, worth[kept] * weight))

    def expected(self, batch: Batch) -> Array:
        mean = ties.mean_weights(batch, lambda rank, row: self.weight(batch, rank, row))
        everything = np.arange(len(batch.hit_rank))
        return self.normalized(batch, batch.sum_hits(everything, self.worth(batch) * mean))


def in_parts(measure: Measure) -> TypeGuard[PlacedMeasure]:
    """Whether a measure's value is the sum of what each document adds."""
    if isinstance(measure, AdditiveMeasure):
        return type(measure).normalized is AdditiveMeasure.normalized
    return isinstance(measure, PlacedMeasure)


def ratio(top: Array | Ints, bottom: Array | Ints) -> Array:
    """top / bottom, 0 where the bottom is 0."""
    out = np.zeros(len(top))
    return np.divide(top, bottom, out=out, where=np.asarray(bottom) > 0)
