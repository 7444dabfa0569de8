"""What trec_eval prints beside its numbers: the run's name and the string of relevance values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.measures.batch import Array, Batch
from ndcg_spark.measures.counts import Count

DIGITS = "-0123456789>.<"  # place 0: unjudged; 1 to 10: grades 0 to 9; then >9, negative, else
LENGTH = 10


@dataclass(frozen=True, kw_only=True)
class RunId(Count, names=("RunId",), trec="runid", aggregation="none", bounded=False):
    """The name of the run, which trec_eval prints first; as a number always 0.

    >>> RunId().score(Batch.of(hits=[[]], grades=[[]]))
    array([0.])
    """

    def score(self, batch: Batch) -> Array:
        return np.zeros(len(batch))


@dataclass(frozen=True, kw_only=True)
class RelString(Count, names=("RelString",), trec="relstring", aggregation="none", bounded=False):
    """The relevance values of the first ten documents; as a number their digits in base 14.

    trec_eval's signs: 0 to 9, > beyond, - unjudged, . negative. `text` gives the string back.

    >>> RelString.text(RelString().score(Batch.of(hits=[[(1, 2), (3, 0)]], grades=[[]]))[0])
    '2-0'
    """

    def score(self, batch: Batch) -> Array:
        near = batch.hit_rank <= LENGTH
        label = batch.hit_label[near]
        sign = np.where(label > 9, 11, np.where(label < 0, 12, np.floor(label) + 1))
        place = (batch.hit_rank[near] - 1).astype(np.float64)
        digits = batch.sum_hits(near, sign * float(len(DIGITS)) ** place)
        # the length in front, so that unjudged documents at the end are not lost
        length = np.minimum(batch.n_ret, LENGTH)
        return length * float(len(DIGITS)) ** LENGTH + digits

    @staticmethod
    def text(value: float) -> str:
        """The string that a value stands for."""
        length, digits = divmod(int(value), len(DIGITS) ** LENGTH)
        return "".join(DIGITS[digits // len(DIGITS) ** i % len(DIGITS)] for i in range(length))
