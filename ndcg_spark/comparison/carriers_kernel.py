"""How few queries carry a difference: counts of differences by size, that add up.

A mean whose sum of squares lies in a few queries has no normal distribution, and intervals by
Student's t are too short there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcg_spark.measures.batch import Array, Ints

PER_OCTAVE = 4
SIZES = 42 * PER_OCTAVE  # of differences, 1 to 2^42 units
MOST_COLUMNS = 4096  # pairs by measures beyond which sizes are not counted
TOP, HEAVY = 0.05, 0.5  # top share of the queries, and the most of the squares to be there
NEARLY_ALL, FEW = 0.9, 30  # share of the sum of squares, and queries too few to carry it


@dataclass(frozen=True)
class Carriers:
    """top_share: of the sum of squares in the TOP of the queries; queries: that carry NEARLY_ALL"""

    top_share: float
    queries: int

    @property
    def few(self) -> bool:
        return self.top_share > HEAVY and self.queries < FEW


def counted(valid: Any, d: Ints) -> Ints:
    """(SIZES, columns) how many differences there are of each size; no difference has the least.

    d: (queries, columns) whole numbers below 2^42 in size; valid: which of them count
    """
    # of a double the exponent and the first bits after it: four sizes to an octave
    words = np.maximum(np.abs(d), 1).astype(float).view(np.int64)
    size = (words >> 50) - (1023 << 2)
    columns = d.shape[1]
    place = (size * columns + np.arange(columns))[valid]
    return np.bincount(place, minlength=SIZES * columns).reshape(SIZES, columns)


def of_all(d: Array) -> Carriers:
    """From all differences, some of which are not 0."""
    squares = np.sort(d * d)[::-1]
    return _carriers(squares, np.ones(len(d)))


def of_counts(counts: Array) -> Carriers:
    """From the counts of one column, within the width of a size (a tenth)."""
    octave, part = np.divmod(np.arange(SIZES), PER_OCTAVE)
    low = 2.0**octave * (1 + part / PER_OCTAVE)
    high = low + 2.0**octave / PER_OCTAVE
    square = (low * low + low * high + high * high) / 3
    square[0] = 0.0  # no difference
    return _carriers(square[::-1], counts[::-1])


def _carriers(square: Array, times: Array) -> Carriers:
    """square: descending, and how many queries have each."""
    before = np.concatenate([[0.0], np.cumsum(times)])
    sums = np.concatenate([[0.0], np.cumsum(square * times)])
    shares = sums / sums[-1]
    wanted = max(1, math.ceil(TOP * before[-1]))
    queries = float(np.interp(NEARLY_ALL, shares, before))
    return Carriers(float(np.interp(wanted, before, shares)), math.ceil(queries - 1e-9))
