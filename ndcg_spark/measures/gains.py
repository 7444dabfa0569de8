"""Gains: what a grade is worth."""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.measures.batch import Array

NAMED = ("linear", "exp2", "binary")
LARGEST_EXP2 = 1023  # 2^1024 is not a double


@dataclass(frozen=True)
class Gain:
    """A function from grades to gains: named, a map, or the user's own.

    name:  ``linear``, ``exp2`` (2^g - 1), ``binary`` (1 from `rel` on), ``map`` or
           ``module:function``
    pairs: the (grade, gain) pairs of a map; grades it does not name keep their linear gain
    """

    name: str = "linear"
    pairs: tuple[tuple[float, float], ...] = ()
    function: Callable[[Array], Array] | None = None

    def __call__(self, labels: Array, rel: float) -> Array:
        """Gains of these grades; a negative grade is worth 0 unless a map names it."""
        if self.function is not None:
            return self._own(labels)
        if self.name == "binary":
            return (labels >= rel).astype(np.float64)
        if self.name == "exp2":
            with np.errstate(over="ignore"):  # refused by name before (E114)
                return np.maximum(np.exp2(labels) - 1.0, 0.0)
        gains = np.maximum(labels, 0.0)
        for grade, gain in self.pairs:
            gains[labels == grade] = gain
        return gains

    def _own(self, labels: Array) -> Array:
        assert self.function is not None
        gains = np.asarray(self.function(labels.copy()), np.float64)
        if gains.shape != labels.shape or not np.all(np.isfinite(gains)) or np.any(gains < 0):
            raise UsageError(
                f"gain function {self.name} must return one finite gain >= 0 for each grade"
            )
        return gains

    def __str__(self) -> str:
        if self.pairs:
            return "{" + ", ".join(f"{_number(g)}: {_number(w)}" for g, w in self.pairs) + "}"
        return repr(self.name)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def gain(value: Any) -> Gain:
    """The gain for a name, a map (``{1: 1, 2: 3}`` or ``"1=1.0,2=3.0"``) or a numpy function.

    Raises:
        UsageError: for an unknown name, or a gain that is negative or not finite.

    >>> gain("1=1.0,2=3.0").pairs
    ((1.0, 1.0), (2.0, 3.0))
    """
    if isinstance(value, Gain):
        return value
    if isinstance(value, Mapping):
        return _map({_float(g): _float(w) for g, w in value.items()})
    if callable(value):
        return Gain(f"{value.__module__}:{value.__qualname__}", function=value)
    if isinstance(value, str) and "=" in value:
        return _map(_pairs(value))
    if isinstance(value, str) and re.fullmatch(r"[\w.]+:[\w.]+", value):
        return Gain(value, function=_function(value))
    if value in NAMED:
        return Gain(value)
    raise UsageError(
        f"unknown gain {value!r}{nearest(str(value), NAMED)}; allowed: {', '.join(NAMED)}, "
        "a map such as 1=1.0,2=3.0, or module:function"
    )


def _pairs(text: str) -> dict[float, float]:
    pairs: dict[float, float] = {}
    for item in text.split(","):
        grade, found, worth = item.partition("=")
        if not found:
            raise UsageError(f"bad gain {item!r} in {text!r}; write GRADE=GAIN, as in 1=1.0,2=3.0")
        if _float(grade) in pairs:
            raise UsageError(f"grade {grade.strip()} is given twice in {text!r}")
        pairs[_float(grade)] = _float(worth)
    return pairs


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{value!r} in a gain map is not a number") from None


def _map(pairs: dict[float, float]) -> Gain:
    if not pairs:
        raise UsageError("an empty gain map; write at least one GRADE=GAIN")
    for grade, worth in pairs.items():
        if not (math.isfinite(grade) and math.isfinite(worth) and worth >= 0):
            raise UsageError(f"gain {worth} of grade {grade} must be a finite number >= 0")
    return Gain("map", tuple(sorted(pairs.items())))


def _function(path: str) -> Callable[[Array], Array]:
    found = imported(path, "gain function")
    if not callable(found):
        raise UsageError(f"gain function {path!r} is not a function")
    function: Callable[[Array], Array] = found
    return function


def imported(path: str, what: str) -> Any:
    """What ``module:name`` names.

    Raises:
        UsageError: where it cannot be imported.
    """
    module, _, name = path.partition(":")
    if module.split(".")[0] in sys.stdlib_module_names:
        raise UsageError(f"{what} {path!r} is of Python's own library, which has none")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except SystemExit:
        raise UsageError(f"{what} {path!r}: the module ends Python when it is imported") from None
    except Exception as problem:  # whatever the module's own lines raise
        raise UsageError(
            f"{what} {path!r} cannot be imported: {type(problem).__name__}: {problem}"
        ) from None
    return found
