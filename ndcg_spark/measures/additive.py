"""Measures that are a sum over places: what is found there, times what the place is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.measures import ties
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints


@dataclass(frozen=True, kw_only=True)
class AdditiveMeasure(Measure):
    """normalized(sum of worth x weight of the place); so its mean over tied orders is exact too."""

    def worth(self, batch: Batch) -> Array:
        """(hits,) what each judged document contributes, before the place's weight."""
        raise NotImplementedError

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        """The weight of these ranks in these lists; 0 beyond the cut-off."""
        raise NotImplementedError

    def normalized(self, batch: Batch, total: Array) -> Array:
        """(n,) the value from the weighted sums."""
        raise NotImplementedError

    def score(self, batch: Batch) -> Array:
        worth = self.worth(batch)
        kept = np.flatnonzero(worth)
        weight = self.weight(batch, batch.hit_rank[kept], batch.hit_row[kept])
        return self.normalized(batch, batch.sum_hits(kept, worth[kept] * weight))

    def expected(self, batch: Batch) -> Array:
        mean = ties.mean_weights(batch, lambda rank, row: self.weight(batch, rank, row))
        everything = np.arange(len(batch.hit_rank))
        return self.normalized(batch, batch.sum_hits(everything, self.worth(batch) * mean))


def ratio(top: Array | Ints, bottom: Array | Ints) -> Array:
    """top / bottom, 0 where the bottom is 0."""
    out = np.zeros(len(top))
    return np.divide(top, bottom, out=out, where=np.asarray(bottom) > 0)
