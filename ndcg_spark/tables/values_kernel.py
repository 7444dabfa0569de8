"""Single values of a text as what their column wants."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa

LARGEST = 2**63 - 1
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE
)


def has_large(numbers: pa.Array) -> bool:
    """Whether a finite number is there that no bigint holds."""
    found = numbers.to_numpy(zero_copy_only=False)
    return bool(np.any(np.isfinite(found) & (np.abs(found) >= 2.0**63)))


def text(value: Any, form: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # an id that JSON has as a number
    raise ValueError(f"{value!r} is no text")


def number(value: Any, form: str) -> float | None:
    if value is None or (value == "" and form != "TREC"):
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value.strip()):
            raise ValueError(f"{value!r} is not a number")
        digits = value.strip().lstrip("+-")
        if digits.isdigit() and int(digits) > LARGEST:
            raise ValueError(f"{value} is too large")
        return float(value)
    if not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{value} is too large")
    return float(value)


def whole(value: Any, form: str) -> int | None:
    """A rank; of a TREC file, where nobody reads it, anything."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?\d+", value.strip()):
        if form == "TREC" or not value:
            return None
        raise ValueError(f"{value!r} is not a whole number")
    if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
        raise ValueError(f"{value!r} is not a whole number")
    if value is None:
        return None
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{value!r} is not a whole number")
    found = int(value)
    if abs(found) > LARGEST:
        raise ValueError(f"{value} is too large")
    return found
