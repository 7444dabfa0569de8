"""Ragged Arrow columns: the entries of many lists, flat, with where each list begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of

ENTRIES = 300_000  # entries a kernel call works on: bounds memory, not the result


@dataclass(frozen=True)
class Ragged:
    """Lists of rows: `order` has the rows of one list after another, `offsets` (n + 1,) where each
    begins, `row` the list of each.

    Columns stay as they came, and are gathered only where they are needed.
    """

    rows: pa.StructArray
    order: Ints
    offsets: Ints
    row: Ints

    @classmethod
    def gathered(cls, rows: pa.StructArray, order: Ints, sizes: Ints) -> Ragged:
        """The rows in this order, as lists of these sizes."""
        offsets = offsets_of(sizes)
        return cls(rows, order, offsets, rows_of(offsets))

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def has(self, name: str) -> bool:
        return any(field.name == name for field in self.rows.type)

    def column(self, name: str) -> pa.Array:
        """A column of all rows, in no order."""
        return pc.struct_field(self.rows, name)

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


def offsets_of(sizes: npt.NDArray[Any]) -> Ints:
    """Where ragged lists of these sizes begin, and where the last ends."""
    offsets: Ints = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return offsets


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """The numbers of several ranges, one after another: those from starts[0], from starts[1], …"""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """LISTS out of ROWS (evaluation/query_rows.py): whole queries, ENTRIES documents at a time.

    Holds back the rows of the last query, which may go on in the next batch.
    """
    held: list[pa.RecordBatch] = []
    rows = cut = 0  # rows held, and where the last query of them begins
    last = None
    for batch in batches:
        if not batch.num_rows:
            continue
        queries = batch.column("query_id")
        end = queries[batch.num_rows - 1]
        if end.is_valid and (last is None or end != last):
            cut = rows + pc.index(queries, end).as_py()
        held.append(batch)
        rows, last = rows + batch.num_rows, end
        if rows >= ENTRIES and cut:
            whole = _joined(held)
            yield _listed(whole.slice(0, cut))
            held, rows, cut = [whole.slice(cut)], rows - cut, 0
    if held:
        yield _listed(_joined(held))


def _listed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of whole queries, one after another, as a row a query."""
    queries, n = rows.column("query_id"), rows.num_rows
    new = np.ones(n, np.bool_)
    changes = pc.not_equal(queries.slice(1), queries.slice(0, n - 1)).fill_null(True)
    new[1:] = changes.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(new)
    kept = [name for name in rows.schema.names if name not in ("query_id", "names")]
    docs = pa.StructArray.from_arrays([rows.column(name) for name in kept], names=kept)
    known = rows.column("names")
    given = np.flatnonzero(lengths(known) > 0)
    # without a judgement nothing can be missing: the runs that are here are enough
    names = (
        known.slice(given[0], 1).flatten()
        if len(given)
        else rows.column("run_id").unique().drop_null()
    )
    ends = pa.array([0, *[len(names)] * len(starts)], pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            pa.ListArray.from_arrays(ends, names),  # the first row stands for all
            queries.take(pa.array(starts)),
            pa.ListArray.from_arrays(pa.array([*starts, n], pa.int32()), docs),
        ],
        names=["names", "query_id", "docs"],
    )


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
                yield _joined(held)
                held, size = [], 0
            held.append(batch.slice(start, end - start))
            size += more
    if held:
        yield _joined(held)


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
