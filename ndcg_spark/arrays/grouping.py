"""Counting rows by keys where they are, so that an engine has to move counts only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.ragged import joined
from ndcg_spark.measures.batch import Ints

HELD = 500_000  # counted rows that a task holds to add to
MOST = 2**62


def coded(values: pa.Array) -> tuple[Ints, pa.Array]:
    """Numbers and what they stand for; a null is the last one, if there is any."""
    found = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    own, code = found.dictionary, found.indices
    if code.null_count or own.null_count:
        own = pa.concat_arrays([own, pa.nulls(1, own.type)])
        code = code.fill_null(len(own) - 1)
    numbers: Ints = code.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, own


def grouped(
    rows: pa.RecordBatch, sums: Sequence[str], largest: Sequence[str] = ()
) -> pa.RecordBatch:
    """The rows with equal other columns as one, with the sums and the largest values of these.

    sums: columns of whole numbers below 2^53 in all; largest: columns of doubles
    """
    keys = [name for name in rows.schema.names if name not in (*sums, *largest)]
    group, first = _groups([rows.column(name) for name in keys], rows.num_rows)
    one = rows.take(pa.array(first))
    found = {name: one.column(name) for name in keys}
    for name in sums:
        column = rows.column(name).to_numpy(zero_copy_only=False)
        total = np.bincount(group, weights=column, minlength=len(first))
        found[name] = pa.array(total.astype(np.int64))
    for name in largest:
        most = np.full(len(first), -np.inf)
        np.maximum.at(most, group, rows.column(name).to_numpy(zero_copy_only=False))
        found[name] = pa.array(most)
    return pa.record_batch({name: found[name] for name in rows.schema.names})


def _groups(keys: Sequence[pa.Array], n: int) -> tuple[Ints, Ints]:
    """The group of every row, and the first row of every group."""
    key, size = np.zeros(n, np.int64), 1
    for column in keys:
        code, values = coded(column)
        if size * len(values) > MOST:
            found = pa.array(key).dictionary_encode()
            key, size = found.indices.to_numpy().astype(np.int64), len(found.dictionary)
        key = key * len(values) + code
        size *= max(len(values), 1)
    found = pa.array(key).dictionary_encode()
    group: Ints = found.indices.to_numpy().astype(np.int64)
    first = np.empty(len(found.dictionary), np.int64)
    first[group[::-1]] = np.arange(n)[::-1]
    return group, first


def counted(
    batches: Iterable[pa.RecordBatch], merge: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What `merge` makes of all rows together, as far as a task can hold them.

    Rows are held while adding to them makes few more; those of a table without repeats pass.
    """
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(merge(batch))
        rows += held[-1].num_rows
        if rows >= HELD:
            one = merge(joined(held))
            held, rows = [one], one.num_rows
            if rows > HELD // 2:
                yield one
                held, rows = [], 0
    if held:
        yield merge(joined(held)) if len(held) > 1 else held[0]
