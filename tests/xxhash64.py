"""xxHash64 of short texts, as Spark's `xxhash64` computes it (seed 42): an oracle of the tests."""

from __future__ import annotations

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)  # fmt: skip


def _left(x, by):
    return ((x << by) | (x >> (64 - by))) & MASK


def xxhash64(text: str, seed: int = 42) -> int:
    data = text.encode()
    assert len(data) < 32
    h, at = (seed + P5 + len(data)) & MASK, 0
    while at + 8 <= len(data):
        word = int.from_bytes(data[at : at + 8], "little")
        h = (_left(h ^ (_left(word * P2 & MASK, 31) * P1 & MASK), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        word = int.from_bytes(data[at : at + 4], "little")
        h = (_left(h ^ (word * P1 & MASK), 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        h = _left(h ^ (byte * P5 & MASK), 11) * P1 & MASK
    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)
