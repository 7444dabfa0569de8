"""Integers that sort as values do: one total order for every type of score and id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.measures.batch import Array, Ints

LAST = np.iinfo(np.int64).max  # no entry at all: beyond null and NaN
_NULL = LAST - 1
_SIGN = np.int64(LAST)


def order_keys(values: pa.Array, descending: bool) -> Ints:
    """Integers that ascend from best to worst as the values do; null and NaN come last."""
    if pa.types.is_decimal(values.type):
        keys = dense_ranks(values)
    elif pa.types.is_integer(values.type):
        keys = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        numbers: Array = values.to_numpy(zero_copy_only=False).astype(np.float64)
        bits = (numbers + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
        keys = bits ^ ((bits >> 63) & _SIGN)
        values = pa.array(numbers, from_pandas=True)  # NaN becomes null
    keys = np.minimum(~keys if descending else keys, _NULL - 1)
    if values.null_count:
        keys[values.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return keys


def sorted_within(keys: Ints, offsets: Ints) -> Ints:
    """The order of the entries that sorts each list ascending.

    Lists of like length are sorted together, as the rows of a matrix.
    """
    order = np.empty(len(keys), np.int64)
    sizes = np.diff(offsets)
    doublings = np.frexp(np.maximum(sizes - 1, 0))[1]
    for doubling in np.flatnonzero(np.bincount(doublings[sizes > 0])):
        rows = np.flatnonzero((doublings == doubling) & (sizes > 0))
        start, size = offsets[rows][:, None], sizes[rows][:, None]
        column = np.arange(int(size.max()))
        inside = column < size
        entry = np.minimum(start + column, start + size - 1)
        matrix = np.where(inside, keys[entry], LAST)
        order[(start + column)[inside]] = (start + np.argsort(matrix, axis=1))[inside]
    return order


def dense_ranks(values: pa.Array) -> Ints:
    """Equal numbers for equal values, ascending with them; of any comparable type."""
    coded = values.dictionary_encode()
    rank = np.empty(len(coded.dictionary), np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
    code = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return rank[code] if len(rank) else np.zeros(len(values), np.int64)
