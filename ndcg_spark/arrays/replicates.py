"""Random numbers of a unit and a replicate, from hashes: the same whatever the partitioning.

The word of unit u in block b is ``splitmix64(hash(u) ^ splitmix64(salt ^ (seed << 32) + b))``
(Steele, Lea and Flood 2014). One word gives 64 signs, or four Poisson(1) counts.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
SIGNS_A_WORD, COUNTS_A_WORD = 64, 4
_SIGN, _COUNT, _ORDER = (np.uint64(salt) for salt in (0x5167, 0xB007, 0x0DE2))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def splitmix64(x: Words) -> Words:
    """The finalizer of SplitMix64, element by element.

    >>> [hex(word) for word in splitmix64(np.array([0, 1], np.uint64))]
    ['0xe220a8397b1dcdaf', '0x910a2dec89025cc1']
    """
    z: Words = x + _STEP
    shifted = z >> np.uint64(30)  # in place from here on: new pages cost more than the arithmetic
    z ^= shifted
    z *= _FIRST
    np.right_shift(z, np.uint64(27), out=shifted)
    z ^= shifted
    z *= _SECOND
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z


def _words(units: Words, seed: int, salt: np.uint64, first: int, blocks: int) -> Words:
    """(units, blocks) words; units: their hashes."""
    block = np.arange(first, first + blocks, dtype=np.uint64) + np.uint64((seed << 32) % 2**64)
    return splitmix64(units[:, None] ^ splitmix64(block ^ salt))


def signs(units: Words, seed: int, first: int, blocks: int) -> npt.NDArray[np.uint8]:
    """(units, 64 * blocks) fair bits: whether a unit's difference changes its sign."""
    words = _words(units, seed, _SIGN, first, blocks)
    return np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")


def poisson(units: Words, seed: int, first: int, blocks: int) -> npt.NDArray[np.uint8]:
    """(units, 4 * blocks) Poisson(1) counts, their probabilities rounded to multiples of 2^-16."""
    quarters = _words(units, seed, _COUNT, first, blocks).astype("<u8", copy=False).view("<u2")
    counts = (quarters >= _REACHED[0]).view(np.uint8)
    for threshold in _REACHED[1:]:  # comparisons of 16 bits are faster than a look-up
        counts += (quarters >= threshold).view(np.uint8)
    return counts


def _thresholds() -> list[np.uint16]:
    """The smallest multiples of 2^-16 at which the inverse distribution reaches 1, 2, …"""
    below = [math.exp(-1) / math.factorial(k) for k in range(12)]
    reached = [math.ceil(2**16 * total - 0.5) for total in itertools.accumulate(below)]
    return [np.uint16(place) for place in reached if place < 2**16]


_REACHED = _thresholds()


def orders(units: Words, seed: int, replicate: int, items: int) -> npt.NDArray[np.intp]:
    """(units, items) a random order of the items in every unit."""
    base = _words(units, seed, _ORDER, replicate, 1)
    each: Any = splitmix64(base + np.arange(items, dtype=np.uint64) * _STEP)
    return np.argsort(each, axis=1, kind="stable")
