"""Sums that do not depend on the order of their terms: values as whole numbers of a small unit.

A value becomes a whole number once, in units of 2^-digits (`units`); whole numbers add up exactly,
in any order, on any number of machines. engine/whole_sums.py has the same for columns of a table.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ndcg_spark.measures.batch import Array, Ints


def units(values: Array, digits: int) -> Ints:
    """The values in units of 2^-digits, rounded; what is not finite counts as 0."""
    finite = np.where(np.isfinite(values), values, 0.0)
    whole: Ints = np.rint(np.ldexp(finite, digits)).astype(np.int64)
    return whole


class Totals:
    """Named arrays of totals. A term may be as large as 2^62; a total, as 2^94."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._parts = {name: np.zeros((2, *shape), np.int64) for name, shape in shapes.items()}

    def add(self, name: str, sums: Array | Ints, start: int = 0) -> None:
        """Add whole numbers to the rows of a total that begin at `start`."""
        whole = sums.astype(np.int64)
        part = self._parts[name][:, start : start + len(whole)]
        part[0] += whole >> 32
        part[1] += whole & 0xFFFFFFFF

    def doubles(self, name: str, column: int | slice = slice(None)) -> Array:
        """The totals as doubles: all rows of the columns asked for."""
        high, low = self._parts[name][:, :, column]
        found: Array = np.ldexp(high.astype(float), 32) + low
        return found

    def exact(self, name: str, place: tuple[int, ...]) -> int:
        """One total, exactly."""
        high, low = (part[place] for part in self._parts[name])
        return (int(high) << 32) + int(low)

    def numbers(self) -> npt.NDArray[np.int64]:
        """All of them, to be sent and merged."""
        return np.concatenate([part.ravel() for part in self._parts.values()])

    def merge(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add what `numbers` gave elsewhere; what follows in the array is returned."""
        at = 0
        for part in self._parts.values():
            part += numbers[at : at + part.size].reshape(part.shape)
            at += part.size
        return numbers[at:]


LIMB = 21


def squares(value: Ints) -> tuple[Ints, Ints, Ints]:
    """value^2 = 2^42 a + 2^22 b + c for values up to 2^52, in parts that can be summed."""
    high, low = value >> LIMB, value & ((1 << LIMB) - 1)
    return high * high, high * low, low * low


def of_squares(high: int, middle: int, low: int) -> int:
    """The sum of squares from the sums of their parts."""
    return (high << 2 * LIMB) + (middle << LIMB + 1) + low


UNIT, SQUARE_UNIT = 52, 40  # binary digits kept of values, and of values to be squared
LARGEST = 1024.0  # values beyond do not fit
BITS = 20


def limb_sums(value: Array, starts: Ints) -> tuple[list[int], list[int], list[int]]:
    """Per group that begins at `starts`: sum in 2^-52, sum in 2^-40, sum of squares in 2^-80."""
    coarse = _limbs(value, SQUARE_UNIT)
    return _total(_limbs(value, UNIT), starts), _total(coarse, starts), _squares(coarse, starts)


def _limbs(value: Array, digits: int) -> list[Ints]:
    """The value in units of 2^-digits, as integers of BITS bits, the lowest first."""
    whole, mask = units(value, digits), (1 << BITS) - 1
    return [whole & mask, (whole >> BITS) & mask, (whole >> (2 * BITS)) & mask, whole >> (3 * BITS)]


def _total(limbs: list[Ints], starts: Ints) -> list[int]:
    totals = [np.add.reduceat(limb, starts) for limb in limbs]
    return [
        sum(int(total[i]) << (BITS * place) for place, total in enumerate(totals))
        for i in range(len(starts))
    ]


def _squares(limbs: list[Ints], starts: Ints) -> list[int]:
    products = {
        (a, b): np.add.reduceat(limbs[a] * limbs[b], starts) for a in range(4) for b in range(4)
    }
    return [
        sum(int(total[i]) << (BITS * (a + b)) for (a, b), total in products.items())
        for i in range(len(starts))
    ]
