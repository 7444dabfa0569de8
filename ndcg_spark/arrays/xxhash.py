"""xxHash64 of texts, as Spark's `xxhash64` computes it (seed 42): buckets outlive a job."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ndcg_spark.arrays.hashes import words_of
from ndcg_spark.measures.batch import Ints

Words = npt.NDArray[np.uint64]
SEED = np.uint64(42)
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9),
    np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5),
)  # fmt: skip
_STRIPE = 32


def xxhash64(texts: pa.Array) -> Ints:
    """(texts,) the hash of each text's UTF-8 bytes; of a null as of an empty text."""
    words, at, size = words_of(texts.cast(pa.large_string()).fill_null(""))
    with np.errstate(over="ignore"):
        state = _stripes(words, at, size) + size.astype(np.uint64)
        return _finished(_tail(state, words, at, size)).view(np.int64)


def _stripes(words: Words, at: Ints, size: Ints) -> Words:
    """What whole stripes of 32 bytes come to; texts that have none begin with the seed."""
    state = np.full(len(size), SEED + _P5)
    long = np.flatnonzero(size >= _STRIPE)
    if not len(long):
        return state
    lanes = [
        np.full(len(long), start) for start in (SEED + _P1 + _P2, SEED + _P2, SEED, SEED - _P1)
    ]
    open_, done = np.arange(len(long)), 0
    while len(open_):
        start = at[long[open_]] + done
        for place, lane in enumerate(lanes):
            lane[open_] = _round(lane[open_], words[start + 8 * place])
        done += _STRIPE
        open_ = open_[size[long[open_]] >= done + _STRIPE]
    merged = sum(
        (_left(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)), np.uint64(0)
    )
    for lane in lanes:
        merged = (merged ^ _round(np.zeros_like(lane), lane)) * _P1 + _P4
    state[long] = merged
    return state


def _tail(state: Words, words: Words, at: Ints, size: Ints) -> Words:
    """With the bytes after the last whole stripe: eight, then four, then one at a time."""
    done = size // _STRIPE * _STRIPE
    for _ in range(3):
        open_ = np.flatnonzero(size - done >= 8)
        word = _round(np.zeros(len(open_), np.uint64), words[(at + done)[open_]])
        state[open_] = _left(state[open_] ^ word, 27) * _P1 + _P4
        done[open_] += 8
    open_ = np.flatnonzero(size - done >= 4)
    word = (words[(at + done)[open_]] & np.uint64(0xFFFFFFFF)) * _P1
    state[open_] = _left(state[open_] ^ word, 23) * _P2 + _P3
    done[open_] += 4
    for _ in range(3):
        open_ = np.flatnonzero(size > done)
        byte = (words[(at + done)[open_]] & np.uint64(0xFF)) * _P5
        state[open_] = _left(state[open_] ^ byte, 11) * _P1
        done[open_] += 1
    return state


def _round(lane: Words, word: Words) -> Words:
    return _left(lane + word * _P2, 31) * _P1


def _left(x: Words, by: int) -> Words:
    turned: Words = (x << np.uint64(by)) | (x >> np.uint64(64 - by))
    return turned


def _finished(state: Words) -> Words:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))
