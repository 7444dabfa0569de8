"""Validation of dataclass fields by their type annotation: the annotation is the rule."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from ndcg_spark.errors import UsageError, unknown

T = TypeVar("T")


def option(default: Any, text: str, *flags: str) -> Any:
    """An option of a job or policy: default, help, and further flags beside ``--its-name``."""
    meta = {"help": text, "flags": flags}
    if isinstance(default, (list, dict)):
        kind = type(default)
        return dataclasses.field(default_factory=kind, metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


def hints(cls: Any) -> dict[str, Any]:
    """The resolved annotations of a dataclass, by field name."""
    return _hints(cls)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def from_keywords(kind: type[T], given: T | None, keywords: Mapping[str, Any]) -> T:
    """The options object that was given, with these keywords in place of its own values.

    Raises:
        UsageError: for a keyword that is no option, with the nearest one.
    """
    allowed = [field.name for field in dataclasses.fields(cast(Any, kind))]
    for name in keywords:
        if name not in allowed:
            raise unknown("option", name, allowed)
    if given is not None and not isinstance(given, kind):
        raise UsageError(f"{given!r} is not of type {kind.__name__}")
    return kind(**keywords) if given is None else dataclasses.replace(cast(Any, given), **keywords)


def check_fields(owner: Any) -> None:
    """Convert and check every field of a frozen dataclass in place.

    A field with ``metadata={"convert": f}`` is passed through ``f``; the others are checked
    against their annotation (bool, int, float, str, Literal, or one of these or None).

    Raises:
        UsageError: naming the owner, the field, the value and what is allowed.
    """
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        convert = field.metadata.get("convert")
        checked = (
            convert(value)
            if convert
            else checked_value(
                f"{type(owner).__name__}.{field.name}", value, hints(type(owner))[field.name]
            )
        )
        object.__setattr__(owner, field.name, checked)


def checked_value(what: str, value: Any, hint: Any) -> Any:
    """The value, converted to what the annotation asks for, or a UsageError."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if value is None:
            return None
        (hint,) = [h for h in typing.get_args(hint) if h is not type(None)]
    if typing.get_origin(hint) is Literal:
        allowed = typing.get_args(hint)
        if value not in allowed:
            raise unknown(what, str(value), allowed)
        return value
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond them
            number = math.inf
        if not math.isfinite(number):
            raise UsageError(f"{what} must be a finite number, not {str(value)[:40]}")
        return number
    if type(value) is not hint:
        raise UsageError(f"{what} must be of type {hint.__name__}, not {value!r}")
    return value
