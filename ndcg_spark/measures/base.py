"""The base of every measure: registration, validation, naming, cut-offs."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import cutoffs, gains
from ndcg_spark.measures.batch import Array, Batch, Mask
from ndcg_spark.measures.fields import check_fields

Aggregation = Literal["mean", "sum", "geometric", "none"]
M = TypeVar("M")


def cutoff_field() -> Any:
    """A dataclass field that holds a cut-off (int, share of the list, sqrt(n), R, or none)."""
    return dataclasses.field(default=None, metadata={"convert": cutoffs.cutoff})


@dataclass(frozen=True)
class Spelling:
    """One name under which a measure can be asked for, and what the name presets."""

    name: str
    measure: type[Measure]
    preset: Mapping[str, Any]
    cuts: tuple[float, ...] = ()  # default cut-offs of a bare trec_eval name such as ndcg_cut


SPELLINGS: dict[str, Spelling] = {}


class MeasureType(type):
    """The type of measure classes: a bare name takes a cut-off, ``nDCG@10``."""

    def __matmul__(cls: type[M], cutoff: float | str | None) -> M:
        found: M = cast(Any, cls)() @ cutoff
        return found


@dataclass(frozen=True, kw_only=True)
class Measure(metaclass=MeasureType):
    """A function from a batch of ranked lists to one number each.

    A subclass is a frozen dataclass whose fields are its parameters:

        names:    its names; the first is the canonical one
        presets:  further names that fix parameters, ``{"ndcg_p": {"gain": "exp2"}}``
        trec:     what trec_eval calls it without a cut-off
        trec_cut: what trec_eval calls it with one; alone it means all of ``cuts``
        aggregation: how queries are summarized: mean, sum, geometric mean, or none
        bounded:  whether its values lie between 0 and 1
        needs_cutoff: whether it has no meaning without a cut-off
        at:       the parameter that ``@`` and a number in the name set
        scores:   whether it needs the scores of the hits
    """

    canonical: ClassVar[str]
    trec: ClassVar[str | None]
    trec_cut: ClassVar[str | None]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    aggregation: ClassVar[Aggregation]
    bounded: ClassVar[bool]
    needs_cutoff: ClassVar[bool]
    at: ClassVar[str]
    needs_scores: ClassVar[bool]
    cuts: ClassVar[tuple[float, ...]]
    aliases: ClassVar[tuple[str, ...]] = ()  # further names of parameters, read but never printed
    release: ClassVar[int] = 9  # of trec_eval, from which on it computes the measure so
    dotted: ClassVar[str] = ""  # the parameter that a dot and a number set (else the cut-off)

    def __init_subclass__(
        cls,
        *,
        names: tuple[str, ...] = (),
        presets: Mapping[str, Mapping[str, Any]] | None = None,
        trec: str | None = None,
        trec_cut: str | None = None,
        cuts: tuple[float, ...] = (),
        aggregation: Aggregation = "mean",
        bounded: bool = True,
        needs_cutoff: bool = False,
        at: str = "cutoff",
        needs_scores: bool = False,
        dialect: str = "",
        release: int = 9,
    ) -> None:
        super().__init_subclass__()
        type.__setattr__(cls, "__repr__", Measure.__repr__)  # or the dataclass writes its own
        cls.trec, cls.trec_cut, cls.presets = trec, trec_cut, presets or {}
        cls.aggregation, cls.bounded, cls.needs_cutoff = aggregation, bounded, needs_cutoff
        cls.at, cls.needs_scores, cls.cuts, cls.release = at, needs_scores, cuts, release
        if not names:
            return  # a shared base, not a measure
        prefix = f"{dialect}:" if dialect else ""
        names = tuple(prefix + name for name in names)
        cls.canonical = names[0]
        bare_cuts = cuts if needs_cutoff else ()
        spellings = [Spelling(name, cls, {}, bare_cuts) for name in names]
        spellings += [Spelling(name, cls, preset) for name, preset in cls.presets.items()]
        spellings += [Spelling(prefix + trec, cls, {})] if trec else []
        spellings += [Spelling(prefix + trec_cut, cls, {}, cuts)] if trec_cut else []
        for spelling in spellings:
            _register(spelling)

    def __post_init__(self) -> None:
        check_fields(self)

    def score(self, batch: Batch) -> Array:
        """(n,) the measure's value for each list."""
        raise NotImplementedError

    def undefined(self, batch: Batch) -> Mask | None:
        """(n,) the lists for which the measure has no natural value; None where it always has."""
        rel = self.threshold()
        return None if rel is None else batch.n_rel(rel) == 0

    @classmethod
    def is_own(cls) -> bool:
        """Whether the class is not one of this package's."""
        return cls.__module__.split(".")[0] != "ndcg_spark"

    def threshold(self) -> float | None:
        """The smallest grade that counts as relevant, `rel`; None where there is no such."""
        rel: float | None = vars(self).get("rel")
        return rel

    def last_rank(self) -> int | str | None:
        """The parameter `cutoff`; None where the whole list counts."""
        cutoff: int | str | None = vars(self).get("cutoff")
        return cutoff

    def discount(self) -> str:
        """The name of the discount by rank; none where the measure has no such parameter."""
        return "none"

    def gain_function(self) -> gains.Gain | None:
        """What grades are worth, where the measure takes a gain."""
        return None

    def with_defaults(self, rel: float, gain: gains.Gain | None) -> Self:
        """The measure with an evaluation's threshold and gain where it has none of its own."""
        changes: dict[str, Any] = {}
        if self.uses_rel() and rel != 1.0 and self.threshold() == 1.0:
            changes["rel"] = rel
        if gain is not None and self.gain_function() == gains.Gain():
            changes["gain"] = gain
        return dataclasses.replace(self, **changes) if changes else self

    def uses_rel(self) -> bool:
        """Whether the threshold `rel` can change the value."""
        return "rel" in self.parameters()

    def worth(self, batch: Batch) -> Array | None:
        """(hits,) by what the best and worst order of tied documents sorts; None: not supported."""
        return None

    def expected(self, batch: Batch) -> Array | None:
        """(n,) the mean over all orders of tied documents; None where there is no closed form."""
        return None

    def __matmul__(self, cutoff: float | str | None) -> Self:
        """The same measure with this cut-off: ``nDCG(gain="exp2")@10``."""
        if self.at not in self.parameters():
            raise UsageError(f"{self.canonical} has no cut-off")
        changes: dict[str, Any] = {self.at: cutoff}
        return dataclasses.replace(self, **changes)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """The measure's parameters and their defaults."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

    @classmethod
    def example(cls) -> Self:
        """The measure with its defaults, and something sensible where it has none."""
        given: dict[str, Any] = {"max_rel": 3.0} if "max_rel" in cls.parameters() else {}
        if cls.needs_cutoff:
            given[cls.at] = cls.cuts[0] if cls.cuts else 5
        return cls(**given)

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the measure's docstring, in one line."""
        return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())

    def set_parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        plain = {name: getattr(self, name) for name in self.parameters()}
        return {name: value for name, value in plain.items() if value != _default(self, name)}

    def __str__(self) -> str:
        params = self.set_parameters()
        at = params.pop(self.at, None)
        cut = "" if at is None else f"@{at if isinstance(at, str) else _plain(at)}"
        inside = ", ".join(_assignment(name, value) for name, value in params.items())
        return self.name() + (f"({inside})" if inside else "") + cut

    def __repr__(self) -> str:
        return str(self)

    @classmethod
    def name(cls) -> str:
        """The canonical name; a measure of the user's own module is named by its module."""
        own = cls.is_own() and cls.__module__ != "__main__"
        importable = own and "<locals>" not in cls.__qualname__
        return f"{cls.__module__}:{cls.__qualname__}" if importable else cls.canonical

    def pieces(self) -> list[Measure]:
        """The measures that this one is stored as; more than one where a number cannot hold it."""
        return [self]

    def trec_name(self) -> str:
        """trec_eval's name, or the canonical one where trec_eval has none."""
        params = self.set_parameters()
        if not params and self.trec:
            return self.trec
        cut = params.pop(self.at, self.parameters().get(self.at))
        if not params and isinstance(cut, (int, float)) and self.trec_cut:
            return (
                f"{self.trec_cut}_{cut}" if isinstance(cut, int) else f"{self.trec_cut}_{cut:.2f}"
            )
        for name, preset in self.presets.items():
            if self == type(self)(**preset):
                return name
        return str(self)


@dataclass(frozen=True, kw_only=True)
class FunctionMeasure(Measure, bounded=False):
    """A function of the user's own, from a batch to (n,) values: ``module:function``."""

    function: Any = dataclasses.field(default=None, metadata={"convert": lambda function: function})

    @classmethod
    def of(cls, function: Any) -> FunctionMeasure:
        """The measure for a function."""
        return cls(function=function)

    @classmethod
    def is_own(cls) -> bool:
        return True

    def score(self, batch: Batch) -> Array:
        values: Array = self.function(batch)
        return values

    def __str__(self) -> str:
        return f"{self.function.__module__}:{self.function.__qualname__}"


def _default(measure: Measure, name: str) -> Any:
    (field,) = [f for f in dataclasses.fields(measure) if f.name == name]
    convert = field.metadata.get("convert")
    return convert(field.default) if convert else field.default


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _assignment(name: str, value: Any) -> str:
    if isinstance(value, gains.Gain):
        return f"gains={value}" if value.pairs else f"{name}={value}"
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        value = int(value)
    return f"{name}={value!r}"


def _register(spelling: Spelling) -> None:
    taken = SPELLINGS.get(spelling.name)
    if taken and (taken.measure.__module__, taken.measure.__qualname__) != (
        spelling.measure.__module__,
        spelling.measure.__qualname__,
    ):
        raise UsageError(
            f"the measure name {spelling.name!r} is taken by {taken.measure.__qualname__}"
        )
    if taken and taken.measure is spelling.measure and not spelling.cuts:
        return  # trec_eval and we use the same name: keep the entry with default cut-offs
    SPELLINGS[spelling.name] = spelling


def catalogue() -> Iterator[type[Measure]]:
    """The registered measure classes: ours by module, then others, as they were defined."""
    found = dict.fromkeys(spelling.measure for spelling in spellings().values())
    ours = __name__.rpartition(".")[0] + "."
    yield from sorted(found, key=lambda m: m.__module__ if m.__module__.startswith(ours) else "~")


def spellings() -> dict[str, Spelling]:
    """Every name that a measure goes by, the catalogue's included."""
    importlib.import_module("ndcg_spark.measures.catalog")
    return SPELLINGS
