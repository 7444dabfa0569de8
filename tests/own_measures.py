"""A user's own measures and gains, as they would be shipped with --py-files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark import Measure


@dataclass(frozen=True, kw_only=True)
class Novelty(Measure, names=("Novelty",)):
    """Share of the top k that is unjudged."""

    cutoff: int | None = None

    def score(self, batch):
        k = np.minimum(self.cutoff or batch.n_ret, batch.n_ret)
        seen = batch.count_hits(batch.hit_rank <= k[batch.hit_row])
        return np.divide(k - seen, k, out=np.zeros(len(batch)), where=k > 0)


def list_length(batch):
    """A function of a batch is a measure too."""
    return batch.n_ret.astype(float)


def squared(grades):
    return grades**2
