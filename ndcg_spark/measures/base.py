"""The base of every measure: registration, validation, naming, cut-offs."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import cutoffs, gains
from ndcg_spark.measures.batch import Array, Batch, Mask
from ndcg_spark.measures.fields import check_fields

Aggregation = Literal["mean", "sum"]


def cutoff_field() -> Any:
    """A dataclass field that holds a cut-off (int, share of the list, sqrt(n), R, or none)."""
    return dataclasses.field(default=None, metadata={"convert": cutoffs.cutoff})


@dataclass(frozen=True)
class Spelling:
    """One name under which a measure can be asked for, and what the name presets."""

    name: str
    measure: type[Measure]
    preset: Mapping[str, Any]
    cuts: tuple[int, ...] = ()  # default cut-offs of a bare trec_eval name such as ndcg_cut


SPELLINGS: dict[str, Spelling] = {}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A function from a batch of ranked lists to one number each.

    A subclass is a frozen dataclass whose fields are its parameters:

        names:    its names; the first is the canonical one
        presets:  further names that fix parameters, ``{"ndcg_p": {"gain": "exp2"}}``
        trec:     what trec_eval calls it without a cut-off
        trec_cut: what trec_eval calls it with one; alone it means all of ``cuts``
        aggregation: how queries are summarized, ``mean`` or ``sum``
        bounded:  whether 1 is its best value
        needs_cutoff: whether it has no meaning without a cut-off
    """

    canonical: ClassVar[str]
    trec: ClassVar[str | None]
    trec_cut: ClassVar[str | None]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    aggregation: ClassVar[Aggregation]
    bounded: ClassVar[bool]
    needs_cutoff: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        names: tuple[str, ...] = (),
        presets: Mapping[str, Mapping[str, Any]] | None = None,
        trec: str | None = None,
        trec_cut: str | None = None,
        cuts: tuple[int, ...] = (),
        aggregation: Aggregation = "mean",
        bounded: bool = True,
        needs_cutoff: bool = False,
    ) -> None:
        super().__init_subclass__()
        cls.trec, cls.trec_cut, cls.presets = trec, trec_cut, presets or {}
        cls.aggregation, cls.bounded, cls.needs_cutoff = aggregation, bounded, needs_cutoff
        if not names:
            return  # a shared base, not a measure
        cls.canonical = names[0]
        bare_cuts = cuts if needs_cutoff else ()
        spellings = [Spelling(name, cls, {}, bare_cuts) for name in names]
        spellings += [Spelling(name, cls, preset) for name, preset in cls.presets.items()]
        spellings += [Spelling(trec, cls, {})] if trec else []
        spellings += [Spelling(trec_cut, cls, {}, cuts)] if trec_cut else []
        for spelling in spellings:
            _register(spelling)

    def __post_init__(self) -> None:
        check_fields(self)

    def score(self, batch: Batch) -> Array:
        """(n,) the measure's value for each list."""
        raise NotImplementedError

    def undefined(self, batch: Batch) -> Mask | None:
        """(n,) the lists for which the measure has no natural value; None where it always has."""
        rel = getattr(self, "rel", None)
        return None if rel is None else batch.n_rel(rel) == 0

    def uses_rel(self) -> bool:
        """Whether the threshold `rel` can change the value."""
        return "rel" in self.parameters()

    def __matmul__(self, cutoff: int | str | None) -> Self:
        """The same measure with this cut-off: ``nDCG @ 10``."""
        if "cutoff" not in self.parameters():
            raise UsageError(f"{self.canonical} has no cut-off")
        changes: dict[str, Any] = {"cutoff": cutoff}
        return dataclasses.replace(self, **changes)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """The measure's parameters and their defaults."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

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
        cut = f"@{params.pop('cutoff')}" if isinstance(params.get("cutoff"), int) else ""
        inside = ", ".join(_assignment(name, value) for name, value in params.items())
        return self.canonical + (f"({inside})" if inside else "") + cut

    def trec_name(self) -> str:
        """trec_eval's name, or the canonical one where trec_eval has none."""
        params = self.set_parameters()
        cut = params.pop("cutoff", None)
        if not params and cut is None and self.trec:
            return self.trec
        if not params and isinstance(cut, int) and self.trec_cut:
            return f"{self.trec_cut}_{cut}"
        for name, preset in self.presets.items():
            if self == type(self)(**preset):
                return name
        return str(self)


def _default(measure: Measure, name: str) -> Any:
    (field,) = [f for f in dataclasses.fields(measure) if f.name == name]
    convert = field.metadata.get("convert")
    return convert(field.default) if convert else field.default


def _assignment(name: str, value: Any) -> str:
    if isinstance(value, gains.Gain):
        return f"gains={value}" if value.pairs else f"{name}={value}"
    if isinstance(value, float) and value == int(value):
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
    """The registered measure classes, in the order of their definition."""
    yield from dict.fromkeys(spelling.measure for spelling in SPELLINGS.values())
