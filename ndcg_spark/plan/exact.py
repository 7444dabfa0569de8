"""Sums that do not depend on the order of their terms: values as integers in units of 2^-52."""

from __future__ import annotations

import numpy as np

from ndcg_spark.measures.batch import Array, Ints

UNIT, SQUARE_UNIT = 52, 40  # binary digits kept of values, and of values to be squared
LARGEST = 1024.0  # values beyond do not fit
LIMB = 20


def sums(value: Array, starts: Ints) -> tuple[list[int], list[int], list[int]]:
    """Per group that begins at `starts`: sum in 2^-52, sum in 2^-40, sum of squares in 2^-80."""
    coarse = _limbs(value, SQUARE_UNIT)
    return _total(_limbs(value, UNIT), starts), _total(coarse, starts), _squares(coarse, starts)


def _limbs(value: Array, digits: int) -> list[Ints]:
    """The value in units of 2^-digits, as integers of LIMB bits, the lowest first."""
    units = np.rint(np.ldexp(value, digits)).astype(np.int64)
    mask = (1 << LIMB) - 1
    return [units & mask, (units >> LIMB) & mask, (units >> (2 * LIMB)) & mask, units >> (3 * LIMB)]


def _total(limbs: list[Ints], starts: Ints) -> list[int]:
    totals = [np.add.reduceat(limb, starts) for limb in limbs]
    return [
        sum(int(total[i]) << (LIMB * place) for place, total in enumerate(totals))
        for i in range(len(starts))
    ]


def _squares(limbs: list[Ints], starts: Ints) -> list[int]:
    products = {
        (a, b): np.add.reduceat(limbs[a] * limbs[b], starts) for a in range(4) for b in range(4)
    }
    return [
        sum(int(total[i]) << (LIMB * (a + b)) for (a, b), total in products.items())
        for i in range(len(starts))
    ]
