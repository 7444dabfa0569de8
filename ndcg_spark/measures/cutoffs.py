"""Cut-offs: an integer, none, a share of the list (``n/5``, ``0.2n``), ``sqrt(n)`` or ``R``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from ndcg_spark.errors import UsageError
from ndcg_spark.measures.batch import Batch, Ints

LONGEST = 18  # digits of a cut-off that a 64-bit number holds
ALLOWED = (
    "a positive integer below 10^18, 'n/5' or '0.2n' (a share of the list), 'sqrt(n)', 'R', or none"
)


def cutoff(value: Any) -> int | str | None:
    """The canonical form of a cut-off: int, ``'n/5'``, ``'0.2n'``, ``'sqrt(n)'``, ``'R'`` or None.

    >>> cutoff("10"), cutoff("n / 5"), cutoff("n")
    (10, 'n/5', None)
    """
    if value is None:
        return None
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    text = "" if whole and value <= 0 else str(value).replace(" ", "").replace("*", "")
    if re.fullmatch(r"[1-9][0-9]*", text) and len(text) <= LONGEST:
        return int(text)
    if text == "n":
        return None
    if text in ("sqrt(n)", "R") or (_share(text) is not None):
        return text
    raise UsageError(f"bad cut-off {value!r}; allowed: {ALLOWED}")


def _share(text: str) -> Fraction | None:
    divided = re.fullmatch(r"n/([0-9]{1,18}(?:\.[0-9]{1,18})?)", text)
    times = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)n", text)
    try:
        share = (
            1 / Fraction(divided[1]) if divided else Fraction(times[1]) if times else Fraction(0)
        )
    except ZeroDivisionError:
        return None
    return share if 0 < share <= 1 else None


def limits(cutoff: int | str | None, batch: Batch, rel: float = 1.0) -> Ints:
    """(n,) the last rank that counts in each list of the batch; `rel` only matters for R."""
    found: Ints = batch.memo(("limits", cutoff, rel), lambda: _limits(cutoff, rel, batch))
    return found


def _limits(value: int | str | None, rel: float, batch: Batch) -> Ints:
    if value is None:
        return np.full(len(batch), np.iinfo(np.int64).max)
    if value == "R":
        return batch.n_rel(rel)
    return depth_at(value, batch.n_ret)


def depth_at(value: int | str | None, n: Ints) -> Ints:
    """The last rank that counts in lists of n documents; any cut-off but R."""
    if value is None:
        return n
    if isinstance(value, int):
        return np.full_like(n, value)
    if value == "sqrt(n)":
        return np.maximum(1, np.sqrt(n).astype(np.int64))
    share = _share(value)
    assert share is not None  # cutoff() let only valid shares pass
    return np.maximum(1, n * share.numerator // share.denominator)
