"""Counts of documents and queries, and the share of judged documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ndcg_spark.measures import cutoffs
from ndcg_spark.measures.additive import AdditiveMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask


@dataclass(frozen=True, kw_only=True)
class Judged(AdditiveMeasure, names=("Judged",)):
    """Share of the returned top k that is judged.

    With judged_denominator='k' the places that a short list leaves empty count as unjudged.

    >>> Judged(cutoff=3).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]], n_ret=[2]))
    array([0.5])
    """

    judged_denominator: Literal["retrieved", "k"] = "retrieved"
    cutoff: int | str | None = cutoff_field()

    def worth(self, batch: Batch) -> Array:
        return np.ones(len(batch.hit_rank))

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        return (rank <= cutoffs.limits(self.cutoff, batch)[row]).astype(np.float64)

    def ideal(self, batch: Batch) -> Array:
        k = cutoffs.limits(self.cutoff, batch)
        shown = k if self.judged_denominator == "k" else np.minimum(k, batch.n_ret)
        return shown.astype(np.float64)

    def by_length(self) -> bool:
        return super().by_length() or self.judged_denominator == "retrieved"


@dataclass(frozen=True, kw_only=True)
class Unjudged(Judged, names=("Unjudged",), trec_cut="unj", cuts=(5, 10, 20), needs_cutoff=True):
    """Share of the top k that is unjudged; places that a short list leaves empty are not.

    A negative grade counts as judged, unless the policy ``negative`` says otherwise.

    >>> Unjudged(cutoff=4).score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 1)]], n_ret=[3]))
    array([0.5])
    """

    judged_denominator: Literal["retrieved", "k"] = "k"

    def normalized(self, batch: Batch, total: Array) -> Array:
        k = cutoffs.limits(self.cutoff, batch)
        shown = np.minimum(k, batch.n_ret)
        return ratio(shown - total, k if self.judged_denominator == "k" else shown)


class OrderFree(Measure):
    """A measure of the set of returned documents: no order of ties can change it."""

    def worth(self, batch: Batch) -> Array:
        return np.zeros(len(batch.hit_rank))

    def expected(self, batch: Batch) -> Array:
        return self.score(batch)


class Count(OrderFree):
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


@dataclass(frozen=True, kw_only=True)
class NumNonRelJudgedRet(
    Count,
    names=("NumNonRelJudgedRet",),
    trec="num_nonrel_judged_ret",
    aggregation="sum",
    bounded=False,
):
    """Number of documents retrieved that are judged and not relevant (grades from 0 to `rel`).

    >>> NumNonRelJudgedRet().score(Batch.of(hits=[[(1, 0), (2, 1), (3, -1)]], grades=[[(1, 1)]]))
    array([1.])
    """

    rel: float = 1.0

    def score(self, batch: Batch) -> Array:
        plain = (batch.hit_label >= 0) & ~batch.relevant(self.rel)
        return batch.count_hits(plain).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class SetMeasure(OrderFree):
    """What the set measures share.

    rel: smallest grade that counts as relevant
    """

    rel: float = 1.0

    def _found(self, batch: Batch) -> Array:
        return batch.count_hits(batch.relevant(self.rel)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class SetP(
    SetMeasure, names=("SetP",), presets={"set_relative_P": {"relative": True}}, trec="set_P"
):
    """Share of the returned documents that is relevant; over min(n_ret, R) with relative=True.

    >>> SetP().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]], n_ret=[4]))
    array([0.25])
    """

    relative: bool = False

    def score(self, batch: Batch) -> Array:
        wanted = batch.n_ret
        if self.relative:
            wanted = np.minimum(wanted, batch.n_rel(self.rel))
        return ratio(self._found(batch), wanted)


@dataclass(frozen=True, kw_only=True)
class SetR(SetMeasure, names=("SetR",), trec="set_recall"):
    """Share of the relevant documents that is returned.

    >>> SetR().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]], n_ret=[4]))
    array([0.5])
    """

    def score(self, batch: Batch) -> Array:
        return ratio(self._found(batch), batch.n_rel(self.rel))


@dataclass(frozen=True, kw_only=True)
class SetF(SetMeasure, names=("SetF",), trec="set_F", trec_cut="set_F", at="beta"):
    """(beta + 1) P R / (R + beta P) of set precision and set recall, as trec_eval weighs them.

    >>> SetF().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]], n_ret=[4]))
    array([0.33333333])
    """

    beta: float = 1.0

    def score(self, batch: Batch) -> Array:
        found = self._found(batch)
        p, r = ratio(found, batch.n_ret), ratio(found, batch.n_rel(self.rel))
        return ratio((self.beta + 1.0) * p * r, self.beta * p + r)


@dataclass(frozen=True, kw_only=True)
class SetAP(SetMeasure, names=("SetAP",), trec="set_map"):
    """Set precision times set recall.

    >>> SetAP().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]], n_ret=[4]))
    array([0.125])
    """

    def score(self, batch: Batch) -> Array:
        found = self._found(batch)
        return ratio(found * found, batch.n_ret * batch.n_rel(self.rel))


@dataclass(frozen=True, kw_only=True)
class Utility(SetMeasure, names=("Utility",), trec="utility", bounded=False):
    """a x relevant returned + b x others returned + c x relevant missed.

    Source: trec_eval; its fourth term, documents outside run and judgements, needs the size of
    the collection and is 0 by default there.

    >>> Utility().score(Batch.of(hits=[[(1, 1)]], grades=[[(1, 2)]], n_ret=[4]))
    array([-2.])
    """

    a: float = 1.0
    b: float = -1.0
    c: float = 0.0

    def score(self, batch: Batch) -> Array:
        found = self._found(batch)
        others, missed = batch.n_ret - found, batch.n_rel(self.rel) - found
        return self.a * found + self.b * others + self.c * missed
