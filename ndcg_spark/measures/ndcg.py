"""The gain family: DCG, IDCG, nDCG and the undiscounted gains G and binG."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import InitVar, dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures import cutoffs, discounts, gains
from ndcg_spark.measures.additive import AdditiveMeasure, ratio
from ndcg_spark.measures.base import Measure, cutoff_field
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums
from ndcg_spark.measures.gains import Gain

TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
DCG_NAMES = {"log2": "linear", "exp-log2": "exp2"}  # ir_measures' name for the two gains

GAIN_ALIASES = ("gains", "dcg")
GainLike = str | Mapping[float, float] | Callable[[Array], Array] | Gain


class Ideal(NamedTuple):
    """Every list's ideal order, without documents of gain 0."""

    row: Ints
    rank: Ints
    gain: Array


@dataclass(frozen=True, kw_only=True)
class GainMeasure(AdditiveMeasure):
    """What the measures of this file share: gain, discount, threshold, cut-off.

    gain: linear, exp2 (2^g - 1), binary, a map of grade to gain, or a numpy function
    dis: log2 (1 / log2(r + 1)), power:b, zipf, exp2 or none
    rel: smallest relevant grade, for the binary gain and the cut-off R
    cutoff: last rank that counts
    """

    aliases: ClassVar[tuple[str, ...]] = GAIN_ALIASES

    gain: GainLike = dataclasses.field(default="linear", metadata={"convert": gains.gain})
    dis: str = dataclasses.field(default="log2", metadata={"convert": discounts.discount})
    rel: float = 1.0
    cutoff: int | str | None = cutoff_field()
    gains: InitVar[Mapping[float, float] | None] = None
    dcg: InitVar[str | None] = None

    def __post_init__(self, gains: Mapping[float, float] | None, dcg: str | None) -> None:
        object.__setattr__(self, "gain", one_gain(self.canonical, self.gain, gains, dcg))
        super().__post_init__()

    def gain_function(self) -> Gain:
        return cast(Gain, self.gain)

    def discount(self) -> str:
        return self.dis

    def uses_rel(self) -> bool:
        return self.gain_function().name == "binary" or self.cutoff == "R"

    def undefined(self, batch: Batch) -> Mask | None:
        """A list has no natural value where no judged document has a gain."""
        return without_ideal(batch, self.gain_function(), self.rel)

    def worth(self, batch: Batch) -> Array:
        return hit_gains(batch, self.gain_function(), self.rel)

    def weight(self, batch: Batch, rank: Ints, row: Ints) -> Array:
        inside = rank <= cutoffs.limits(self.cutoff, batch, self.rel)[row]
        weights = np.zeros(len(rank))
        weights[inside] = discounts.discounts(self.dis, rank[inside])
        return weights

    def worth_key(self) -> Hashable:
        return self.gain, self.rel

    def _idcg(self, batch: Batch) -> Array:
        def make() -> Array:
            ideal = ideal_order(batch, self.gain_function(), self.rel)
            terms = ideal.gain * self.weight(batch, ideal.rank, ideal.row)
            return row_sums(ideal.row, terms, len(batch))

        sums: Array = batch.memo(("idcg", self.gain, self.rel, self.dis, self.cutoff), make)
        return sums


def one_gain(
    name: str, gain: GainLike, gains: Mapping[float, float] | None, dcg: str | None
) -> GainLike:
    """The gain out of its three spellings, `gain`, and ir_measures' `gains` and `dcg`."""
    given = [gains, dcg, None if gain in ("linear", Gain()) else gain]
    if sum(g is not None for g in given) > 1:
        raise UsageError(f"{name} takes one of gain, gains and dcg, not several")
    if dcg is not None and dcg not in DCG_NAMES:
        raise unknown(f"{name} parameter dcg", str(dcg), DCG_NAMES)
    return DCG_NAMES[dcg] if dcg is not None else gain if gains is None else gains


def hit_gains(batch: Batch, gain: Gain, rel: float) -> Array:
    """(hits,) what every judged document of the lists is worth."""

    def make() -> Array:
        return _overridden(gain(batch.hit_label, rel), batch.hit_gain)

    values: Array = batch.memo(("gains", gain, rel), make)
    return values


def ideal_order(batch: Batch, gain: Gain, rel: float) -> Ideal:
    """The ideal is summed term by term, as a run is: the ideal order scores exactly 1."""

    def make() -> Ideal:
        worth = _overridden(gain(batch.grade_label, rel), batch.grade_gain)
        order = np.lexsort((-worth, batch.grade_row))
        order = order[worth[order] > 0]
        row = np.repeat(batch.grade_row[order], batch.grade_count[order])
        first = np.searchsorted(row, np.arange(len(batch)))
        rank = np.arange(len(row)) - first[row] + 1
        return Ideal(row, rank, np.repeat(worth[order], batch.grade_count[order]))

    ideal: Ideal = batch.memo(("ideal", gain, rel), make)
    return ideal


def without_ideal(batch: Batch, gain: Gain, rel: float) -> Mask:
    """(n,) the lists of whose query no judged document has a gain."""
    none: Mask = np.bincount(ideal_order(batch, gain, rel).row, minlength=len(batch)) == 0
    return none


def uses_exp2(measures: Iterable[Measure]) -> bool:
    """Whether one of the measures takes 2 to the power of a grade."""
    return any(gain.name == "exp2" for m in measures if (gain := m.gain_function()))


def _overridden(worth: Array, own: Array | None) -> Array:
    return worth if own is None else np.where(np.isnan(own), worth, own)


@dataclass(frozen=True, kw_only=True)
class nDCG(  # noqa: N801 - the field's name for it
    GainMeasure,
    names=("nDCG", "ndcgAt"),
    presets={
        "ndcg_p": {"gain": "exp2"},
        "ndcg_burges": {"gain": "exp2"},
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

    by_ideal_order: ClassVar[bool] = True

    def ideal(self, batch: Batch) -> Array:
        return self._idcg(batch)


@dataclass(frozen=True, kw_only=True)
class DCG(GainMeasure, names=("DCG",), bounded=False):
    """Sum of gain times discount over the top k of the run.

    Source: Järvelin and Kekäläinen 2002.

    >>> batch = Batch.of(hits=[[(1, 1), (2, 1), (3, 1)]], grades=[[(1, 3)]])
    >>> DCG(cutoff=10).score(batch)
    array([2.13092975])
    """


@dataclass(frozen=True, kw_only=True)
class IDCG(GainMeasure, names=("IDCG",), bounded=False):
    """DCG@k of the ideal order: all judged documents sorted by gain.

    Source: Järvelin and Kekäläinen 2002.

    >>> IDCG(cutoff=1).score(Batch.of(hits=[[]], grades=[[(3, 2), (1, 1)]]))
    array([3.])
    """

    def normalized(self, batch: Batch, total: Array) -> Array:
        return self._idcg(batch)


@dataclass(frozen=True, kw_only=True)
class nDCG_cc(nDCG, names=("nDCG_cc",), bounded=False):  # noqa: N801
    """nDCG corrected for chance: (nDCG - E) / (1 - E), E the nDCG of a random order of the run.

    E is the mean gain of the returned documents (unjudged: 0) times the sum of the discounts of
    the top k, over IDCG@k. A random order scores 0 in the mean, the ideal one 1; a bad one less
    than 0. 0, and undefined, where every order scores the same.

    Source: Wang et al. 2013 for the drift of nDCG towards 1 that this removes.

    >>> batch = Batch.of(hits=[[(1, 1), (2, 1), (3, 0), (4, 0), (5, 0)]], grades=[[(1, 2), (0, 3)]])
    >>> nDCG_cc().score(batch)
    array([1.])
    """

    def normalized(self, batch: Batch, total: Array) -> Array:
        plain, chance = np.minimum(ratio(total, self.ideal(batch)), 1.0), self._chance(batch)
        return np.where(chance < 1.0, ratio(plain - chance, 1.0 - chance), 0.0)

    def undefined(self, batch: Batch) -> Mask | None:
        none = super().undefined(batch)
        return self._chance(batch) >= 1.0 if none is None else none | (self._chance(batch) >= 1.0)

    def _chance(self, batch: Batch) -> Array:
        gained = row_sums(batch.hit_row, self.worth(batch), len(batch))
        shown = np.minimum(batch.n_ret, cutoffs.limits(self.cutoff, batch, self.rel))
        deepest = int(shown.max(initial=0))
        sums = np.cumsum(discounts.discounts(self.dis, np.arange(1, deepest + 1)))
        reach = np.concatenate(([0.0], sums))[shown]
        return ratio(ratio(gained, batch.n_ret) * reach, self._idcg(batch))


@dataclass(frozen=True, kw_only=True)
class G(GainMeasure, names=("G",), bounded=False):
    """Undiscounted sum of the gains of the top k.

    Source: the plain sum of gains (trec_eval's `G` is something else, see the dialects).

    >>> G(cutoff=2).score(Batch.of(hits=[[(1, 2), (3, 5)]], grades=[[(2, 1), (5, 1)]]))
    array([2.])
    """

    dis: str = dataclasses.field(default="none", metadata={"convert": discounts.discount})
