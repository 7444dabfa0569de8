"""64-bit hashes of ids, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ndcg_spark.measures.batch import Ints

Words = npt.NDArray[np.unsignedinteger[Any]]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)


def hashed(ids: pa.Array) -> Words:
    if not pa.types.is_integer(ids.type):
        return _text_hashes(ids)
    words: Words = ids.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    return mixed(np.zeros(len(words), np.uint64), words)


def _text_hashes(texts: pa.Array) -> Words:
    """A hash of each text's bytes, eight at a time."""
    words, start, size = words_of(texts)
    hashes: Words = size.astype(np.uint64)
    done, longest, open_ = 0, int(size.max(initial=0)), np.arange(len(size))
    while done < longest:
        if done:
            open_ = open_[size[open_] > done]
        word = words[start[open_] + done] & _LOW_BYTES[np.minimum(size[open_] - done, 8)]
        hashes[open_] = mixed(hashes[open_], word)
        done += 8
    return hashes


def words_of(texts: pa.Array) -> tuple[npt.NDArray[np.uint64], Ints, Ints]:
    """The eight bytes from every byte on of all texts' UTF-8, and where each text begins in these
    and how many bytes it has; the last word reaches beyond the end, into zeros."""
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data and len(ends) else b""
    padded = np.zeros(len(used) + 8, np.uint8)
    padded[: len(used)] = used
    words = np.ndarray((len(used) + 1,), "<u8", padded.data, strides=(1,))
    return words, ends[:-1] - (ends[0] if len(ends) else 0), np.diff(ends)


def mixed(state: Words, word: Words) -> Words:
    mixed = (state ^ word) * _ODD
    mixed ^= mixed >> np.uint64(29)
    return mixed
