"""Discounts: what a rank is worth (Wang et al. 2013 name the families)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.measures.batch import Array, Ints

NAMED = ("log2", "zipf", "exp2", "none")


def discount(value: Any) -> str:
    """The canonical name of a discount: log2, zipf, exp2, none or power:b.

    >>> discount("power:0.50")
    'power:0.5'
    """
    if value in NAMED:
        return str(value)
    power = re.fullmatch(r"power:([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?)", str(value))
    if power and 0 < float(power[1]) < float("inf"):
        b = float(power[1])
        return f"power:{int(b)}" if b == int(b) and b < 2**53 else f"power:{b!r}"
    raise UsageError(
        f"unknown discount {value!r}{nearest(str(value), NAMED)}; allowed: {', '.join(NAMED)}, "
        "power:b with b > 0"
    )


def discounts(name: str, ranks: Ints) -> Array:
    """The discount at each 1-based rank; 1 at rank 1 except under exp2 (1/2)."""
    r = ranks.astype(np.float64)
    if name == "log2":
        return 1.0 / np.log2(r + 1.0)
    if name == "zipf":
        return 1.0 / r
    if name == "exp2":
        return np.exp2(-r)
    if name == "none":
        return np.ones_like(r)
    return r ** -float(name.removeprefix("power:"))


def diverges(name: str) -> bool:
    """Whether one query's value does not converge under this discount."""
    return name == "exp2" or (name.startswith("power:") and float(name[6:]) > 1)
