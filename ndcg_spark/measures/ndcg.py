"""The gain family: DCG, IDCG, nDCG and the undiscounted gains G and binG."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures import cutoffs, discounts, gains
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums
from ndcg_spark.measures.gains import Gain

TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
DCG_NAMES = {"log2": "linear", "exp-log2": "exp2"}  # ir_measures' name for the two gains

GainLike = str | Mapping[float, float] | Callable[[Array], Array] | Gain


class Ideal(NamedTuple):
    """Every list's ideal order, without documents of gain 0."""

    row: Ints
    rank: Ints
    gain: Array


@dataclass(frozen=True, kw_only=True)
class GainMeasure(Measure):
    """What the measures of this file share: gain, discount, threshold, cut-off.

    gain: linear, exp2 (2^g - 1), binary, a map of grade to gain, or a numpy function
    dis: log2 (1 / log2(r + 1)), power:b, zipf, exp2 or none
    rel: smallest relevant grade, for the binary gain and the cut-off R
    cutoff: last rank that counts
    """

    aliases: ClassVar[tuple[str, ...]] = ("gains", "dcg")

    gain: GainLike = dataclasses.field(default="linear", metadata={"convert": gains.gain})
    dis: str = dataclasses.field(default="log2", metadata={"convert": discounts.discount})
    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()
    gains: InitVar[Mapping[float, float] | None] = None
    dcg: InitVar[str | None] = None

    def __post_init__(self, gains: Mapping[float, float] | None, dcg: str | None) -> None:
        given = [gains, dcg, None if self.gain in ("linear", _LINEAR) else self.gain]
        if sum(g is not None for g in given) > 1:
            raise UsageError(f"{self.canonical} takes one of gain, gains and dcg, not several")
        if dcg is not None and dcg not in DCG_NAMES:
            raise unknown(f"{self.canonical} parameter dcg", str(dcg), DCG_NAMES)
        for own in (gains, DCG_NAMES.get(str(dcg))):
            if own is not None:
                object.__setattr__(self, "gain", own)
        super().__post_init__()

    @property
    def gain_of(self) -> Gain:
        return cast(Gain, self.gain)

    def uses_rel(self) -> bool:
        return self.gain_of.name == "binary" or self.cutoff == "R"

    def undefined(self, batch: Batch) -> Mask | None:
        """A list has no natural value where no judged document has a gain."""
        ideal = self._ideal(batch)
        none: Mask = np.bincount(ideal.row, minlength=len(batch)) == 0
        return none

    def _gains(self, batch: Batch) -> Array:
        def make() -> Array:
            return _overridden(self.gain_of(batch.hit_label, self.rel), batch.hit_gain)

        values: Array = batch.memo(("gains", self.gain, self.rel), make)
        return values

    def _ideal(self, batch: Batch) -> Ideal:
        """The ideal is summed term by term, as a run is: the ideal order scores exactly 1."""

        def make() -> Ideal:
            worth = _overridden(self.gain_of(batch.grade_label, self.rel), batch.grade_gain)
            order = np.lexsort((-worth, batch.grade_row))
            order = order[worth[order] > 0]
            row = np.repeat(batch.grade_row[order], batch.grade_count[order])
            first = np.searchsorted(row, np.arange(len(batch)))
            rank = np.arange(len(row)) - first[row] + 1
            return Ideal(row, rank, np.repeat(worth[order], batch.grade_count[order]))

        ideal: Ideal = batch.memo(("ideal", self.gain, self.rel), make)
        return ideal

    def _dcg(self, batch: Batch) -> Array:
        worth = self._gains(batch)
        flags = (worth > 0) & (
            batch.hit_rank <= cutoffs.limits(self.cutoff, batch, self.rel)[batch.hit_row]
        )
        return batch.sum_hits(
            flags, worth[flags] * discounts.discounts(self.dis, batch.hit_rank[flags])
        )

    def _idcg(self, batch: Batch) -> Array:
        ideal = self._ideal(batch)
        kept = ideal.rank <= cutoffs.limits(self.cutoff, batch, self.rel)[ideal.row]
        terms = ideal.gain[kept] * discounts.discounts(self.dis, ideal.rank[kept])
        return row_sums(ideal.row[kept], terms, len(batch))


_LINEAR = Gain()


def uses_exp2(measures: Iterable[Measure]) -> bool:
    """Whether one of the measures takes 2 to the power of a grade."""
    return any(isinstance(m, GainMeasure) and m.gain_of.name == "exp2" for m in measures)


def _overridden(worth: Array, own: Array | None) -> Array:
    return worth if own is None else np.where(np.isnan(own), worth, own)


@dataclass(frozen=True, kw_only=True)
class nDCG(  # noqa: N801 - the field's name for it
    GainMeasure,
    names=("nDCG",),
    presets={
        "ndcg_p": {"gain": "exp2"},
        "ndcg_rel": {"gain": "binary"},
        "Rndcg": {"cutoff": "R"},
    },
    trec="ndcg",
    trec_cut="ndcg_cut",
    cuts=TREC_CUTS,
):
    """DCG over the DCG of the ideal order, 0 where no judged document has a gain.

    The ideal holds all judged documents sorted by gain, cut at the same rank. Without a cut-off
    it is not cut at the length of the run (trec_eval). `ndcg_p` uses exponential gains, `ndcg_rel`
    binary ones, `Rndcg` the cut-off R.

    Source: Järvelin and Kekäläinen 2002; Wang et al. 2013 for the discounts.

    >>> batch = Batch.of(hits=[[(1, 1), (2, 2)]], grades=[[(2, 1), (1, 1)]])
    >>> nDCG().score(batch)
    array([0.8597187])
    """

    def score(self, batch: Batch) -> Array:
        best = self._idcg(batch)
        ratio = np.divide(self._dcg(batch), best, out=np.zeros_like(best), where=best > 0)
        return np.minimum(ratio, 1.0)  # rounding in deep lists must not pass the bound


@dataclass(frozen=True, kw_only=True)
class DCG(GainMeasure, names=("DCG",), bounded=False):
    """Sum of gain times discount over the top k of the run.

    Source: Järvelin and Kekäläinen 2002.

    >>> batch = Batch.of(hits=[[(1, 1), (2, 1), (3, 1)]], grades=[[(1, 3)]])
    >>> DCG(cutoff=10).score(batch)
    array([2.13092975])
    """

    def score(self, batch: Batch) -> Array:
        return self._dcg(batch)


@dataclass(frozen=True, kw_only=True)
class IDCG(GainMeasure, names=("IDCG",), bounded=False):
    """DCG@k of the ideal order: all judged documents sorted by gain.

    Source: Järvelin and Kekäläinen 2002.

    >>> IDCG(cutoff=1).score(Batch.of(hits=[[]], grades=[[(3, 2), (1, 1)]]))
    array([3.])
    """

    def score(self, batch: Batch) -> Array:
        return self._idcg(batch)


@dataclass(frozen=True, kw_only=True)
class G(GainMeasure, names=("G",), bounded=False):
    """Undiscounted sum of the gains of the top k.

    Source: the seeds' definition (trec_eval's `G` is something else, see the dialects).

    >>> G(cutoff=2).score(Batch.of(hits=[[(1, 2), (3, 5)]], grades=[[(2, 1), (5, 1)]]))
    array([2.])
    """

    dis: str = dataclasses.field(default="none", metadata={"convert": discounts.discount})

    def score(self, batch: Batch) -> Array:
        return self._dcg(batch)


@dataclass(frozen=True, kw_only=True)
class binG(Measure, names=("binG",), bounded=False):  # noqa: N801 - trec_eval's name
    """Number of the top k with a grade of at least `rel`.

    Source: the seeds' definition (trec_eval's `binG` is something else, see the dialects).

    >>> binG(cutoff=2, rel=2).score(Batch.of(hits=[[(1, 1), (2, 2), (3, 2)]], grades=[[(2, 2)]]))
    array([1.])
    """

    rel: float = 1.0
    cutoff: Any = cutoff_field()

    def score(self, batch: Batch) -> Array:
        inside = batch.hit_rank <= cutoffs.limits(self.cutoff, batch, self.rel)[batch.hit_row]
        return batch.count_hits(batch.relevant(self.rel) & inside).astype(np.float64)
