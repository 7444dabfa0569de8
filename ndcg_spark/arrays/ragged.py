"""Ragged Arrow columns: the entries of many lists, flat, with where each list begins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of

Made = TypeVar("Made")
ENTRIES = 300_000  # entries a kernel call works on: bounds memory, not the result


class Columns:
    """Columns of all rows, in no order, and what was made of them."""

    def __init__(self, arrays: Mapping[str, pa.Array]) -> None:
        self.arrays = dict(arrays)
        self._made: dict[Hashable, Any] = {}

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, computed once for all lists of these rows."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found


@dataclass(frozen=True)
class Ragged:
    """Lists of rows: `order` has the rows of one list after another, `offsets` (n + 1,) where each
    begins, `row` the list of each.

    Columns stay as they came, and are gathered only where they are needed.
    """

    rows: Columns
    order: Ints
    offsets: Ints
    row: Ints

    @classmethod
    def gathered(cls, rows: Columns, order: Ints, sizes: Ints) -> Ragged:
        """The rows in this order, as lists of these sizes."""
        offsets = offsets_of(sizes)
        return cls(rows, order, offsets, rows_of(offsets))

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def has(self, name: str) -> bool:
        return name in self.rows.arrays

    def column(self, name: str) -> pa.Array:
        """A column of all rows, in no order."""
        return self.rows.arrays[name]

    def at(self, name: str, entries: Ints) -> pa.Array:
        """A column at some of the lists' entries."""
        return self.column(name).take(pa.array(self.order[entries]))

    def numbers(self, name: str) -> Array:
        """A column of the lists as doubles, null as NaN."""
        numbers: Array = self.column(name).to_numpy(zero_copy_only=False)[self.order]
        return numbers.astype(np.float64, copy=False)

    def only(self, kept: Mask) -> Ragged:
        """Without the entries that are not kept."""
        offsets = offsets_of(kept)[self.offsets]
        return Ragged(self.rows, self.order[kept], offsets, self.row[kept])


def lengths(column: pa.ListArray) -> Ints:
    counts: Ints = (
        pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return counts


def with_entries(lists: pa.Array, entries: pa.Array) -> pa.ListArray:
    """Plain lists of the same lengths with these entries; null stays null."""
    ends = pa.array(offsets_of(lengths(lists)).astype(np.int32))
    missing = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(ends, entries, mask=missing)


def offsets_of(sizes: npt.NDArray[Any]) -> Ints:
    """Where ragged lists of these sizes begin, and where the last ends."""
    offsets: Ints = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return offsets


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """The numbers of several ranges, one after another: those from starts[0], from starts[1], …"""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


def pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The queries of LISTS in pieces of about ENTRIES documents: batches cut, or put together.

    A query is never cut: a longer one is a piece of its own.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        ends = offsets_of(lengths(batch.column("docs")))
        part = ends[1:] // ENTRIES
        starts = np.flatnonzero(np.diff(part, prepend=-1))
        for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            more = int(ends[end] - ends[start])
            if held and size + more > ENTRIES:
                yield joined(held)
                held, size = [], 0
            held.append(batch.slice(start, end - start))
            size += more
    if held:
        yield joined(held)


def joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches of one schema as one batch."""
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()[0]
