"""Counts of documents and queries, and the share of judged documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Mask
from ndcg_spark.measures.binary import ratio


@dataclass(frozen=True, kw_only=True)
class Judged(Measure, names=("Judged",)):
    """Share of the returned top k that is judged.

    With judged_denominator='k' the places that a short list leaves empty count as unjudged.

    >>> Judged(cutoff=3).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]], n_ret=[2]))
    array([0.5])
    """

    judged_denominator: Literal["retrieved", "k"] = "retrieved"
    cutoff: int | str | None = cutoff_field()

    def score(self, batch: Batch) -> Array:
        k = cutoffs.limits(self.cutoff, batch)
        shown = k if self.judged_denominator == "k" else np.minimum(k, batch.n_ret)
        return ratio(batch.count_hits(batch.hit_rank <= k[batch.hit_row]), shown)


class Count(Measure):
    """A count has a value for every list, with relevant documents or without."""

    def undefined(self, batch: Batch) -> Mask | None:
        return None


@dataclass(frozen=True, kw_only=True)
class NumQ(Count, names=("NumQ",), trec="num_q", aggregation="sum", bounded=False):
    """Number of queries.

    >>> NumQ().score(Batch.of(hits=[[]], grades=[[(1, 1)]]))
    array([1.])
    """

    def score(self, batch: Batch) -> Array:
        return np.ones(len(batch))


@dataclass(frozen=True, kw_only=True)
class NumRet(Count, names=("NumRet",), trec="num_ret", aggregation="sum", bounded=False):
    """Number of documents retrieved.

    >>> NumRet().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]], n_ret=[7]))
    array([7.])
    """

    def score(self, batch: Batch) -> Array:
        return batch.n_ret.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumRel(Count, names=("NumRel",), trec="num_rel", aggregation="sum", bounded=False):
    """Number of relevant documents in the judgements.

    >>> NumRel().score(Batch.of(hits=[[]], grades=[[(2, 3), (0, 5)]]))
    array([3.])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        return batch.n_rel(self.rel).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumRelRet(Count, names=("NumRelRet",), trec="num_rel_ret", aggregation="sum", bounded=False):
    """Number of relevant documents retrieved.

    >>> NumRelRet().score(Batch.of(hits=[[(1, 1), (2, 0)]], grades=[[(1, 3), (0, 5)]]))
    array([1.])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        return batch.count_hits(batch.relevant(self.rel)).astype(np.float64)
