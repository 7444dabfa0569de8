"""Rows of runs or judgements packed into lists, in the task that read them.

The engine then moves a few records instead of every row: a record has the lists of one part of the
queries (by a hash of the query id), out of about a million rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.grouping import coded
from ndcg_spark.arrays.hashes import Words, hashed
from ndcg_spark.arrays.keys import order_keys, sorted_within
from ndcg_spark.arrays.ragged import joined, offsets_of, ranges
from ndcg_spark.measures.batch import Ints

PACKED = "part int, kind int, lists binary"
NAMES, RUNS, QRELS = range(3)  # kinds of records
CHUNK = 1_000_000  # rows packed together
SCHEMA = pa.schema([("part", pa.int32()), ("kind", pa.int32()), ("lists", pa.binary())])
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Packing:
    """How rows are packed.

    parts: of how many parts a query belongs to one
    deepest: with the policy `prune`, how many of a list's first documents are kept
    descending: whether the highest score is the best
    others_only: leave out what a run lists under the query's own id
    """

    parts: int
    deepest: int | None = None
    descending: bool = True
    others_only: bool = False


def pack(batches: Iterable[pa.RecordBatch], packing: Packing) -> Iterator[pa.RecordBatch]:
    """PACKED, of rows (query_id, run_id, doc_id, place) of runs or (query_id, doc_id, relevance,
    gain?) of judgements.

    Every part gets the names of the runs that are here, so that it knows which lists are missing.
    """
    names: set[str] = set()
    for rows in chunks(batches):
        if "run_id" in rows.schema.names:
            names.update(_texts(rows.column("run_id")).unique().to_pylist())
            if packing.others_only:
                rows = _others(rows)
        if rows.num_rows:
            yield _packed(rows, packing)
    if names:
        text = _record(pa.record_batch({"run_id": pa.array(sorted(names), pa.string())}))
        every = np.arange(packing.parts, dtype=np.int32)
        kinds = np.full(len(every), NAMES, np.int32)
        columns = [pa.array(every), pa.array(kinds), pa.array([text] * len(every), pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _others(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows whose doc_id is not the query's id."""
    query, doc = (rows.column(name).cast(pa.string()) for name in ("query_id", "doc_id"))
    return rows.filter(pc.not_equal(query, doc).fill_null(True))


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows put together, about CHUNK at a time; files of other types apart."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if held and batch.schema != held[0].schema:
            yield joined(held)
            held, rows = [], 0
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= CHUNK // 2:
            yield joined(held)
            held, rows = [], 0
    if held:
        yield joined(held)


def _texts(run: pa.Array) -> pa.Array:
    """The runs' names; a null one is empty, which the scoring kernel refuses."""
    values = run.dictionary if pa.types.is_dictionary(run.type) else run.unique()
    some = [values.cast(pa.string()).fill_null("")] + [pa.array([""])] * bool(run.null_count)
    return pa.concat_arrays(some)


def _packed(rows: pa.RecordBatch, packing: Packing) -> pa.RecordBatch:
    query, queries = coded(rows.column("query_id"))
    is_run = "run_id" in rows.schema.names
    key = query
    if is_run:
        run, runs = coded(rows.column("run_id"))
        key = query * len(runs) + run
    order, starts = _lists(key)
    first = starts if order is None else order[starts]
    sizes = np.diff(starts, append=len(key))
    part = parts_of(queries, packing.parts)[query[first]]
    by_part = np.argsort(part, kind="stable")
    entries = ranges(starts[by_part], sizes[by_part])
    entries = entries if order is None else order[entries]
    sizes, first, part = sizes[by_part], first[by_part], part[by_part]
    if is_run and packing.deepest is not None:
        kept = _first(rows.column("place"), entries, sizes, packing)
        sizes = np.diff(offsets_of(kept)[offsets_of(sizes)])
        entries = entries[kept]
    names = [name for name in rows.schema.names if name not in ("query_id", "run_id")]
    taken = pa.array(entries)
    docs = pa.StructArray.from_arrays([rows.column(n).take(taken) for n in names], names=names)
    lists = {"query_id": queries.take(pa.array(query[first]))}
    if is_run:
        lists["run_id"] = runs.cast(pa.string()).fill_null("").take(pa.array(run[first]))
    ends = pa.array(offsets_of(sizes).astype(np.int32))
    lists["docs"] = pa.ListArray.from_arrays(ends, docs)
    return _by_part(pa.record_batch(lists), part, RUNS if is_run else QRELS)


def _by_part(lists: pa.RecordBatch, part: Ints, kind: int) -> pa.RecordBatch:
    """A record for each part, of lists in the order of their parts."""
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    sizes = np.diff(starts, append=len(part))
    records = [_record(lists.slice(start, size)) for start, size in zip(starts, sizes, strict=True)]
    kinds = np.full(len(starts), kind, np.int32)
    columns = [
        pa.array(part[starts].astype(np.int32)), pa.array(kinds), pa.array(records, pa.binary())
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _record(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpacked(record: pa.Scalar) -> pa.RecordBatch:
    """The lists of one record."""
    with pa.ipc.open_stream(record.as_buffer()) as stream:
        return stream.read_next_batch()


def parts_of(queries: pa.Array, parts: int) -> Ints:
    """The part that each query belongs to: the same on every machine, for runs and judgements."""
    words: Words = (hashed(queries) * _SPREAD) >> np.uint64(33)
    return (words % np.uint64(parts)).astype(np.int64)


def _lists(key: Ints) -> tuple[Ints | None, Ints]:
    """An order that brings equal keys together, None where they are so already; and where each list
    begins in it."""
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    found = key[starts]
    if len(starts) < len(key) // 2 and len(np.unique(found)) == len(found):
        return None, starts
    order = _stable_order(key)
    return order, np.flatnonzero(np.diff(key[order], prepend=-1))


def _stable_order(key: Ints) -> Ints:
    """As argsort, in linear time: numpy sorts numbers of 16 bits by their digits."""
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    high = key >> 16
    while high.any():
        order = order[np.argsort((high & 0xFFFF).astype(np.uint16)[order], kind="stable")]
        high = high >> 16
    return order


def _first(place: pa.Array, entries: Ints, sizes: Ints, packing: Packing) -> npt.NDArray[np.bool_]:
    """Which entries are among the first of their list: every one of those that share the last
    place's score."""
    assert packing.deepest is not None
    keys = order_keys(place, packing.descending)[entries]
    offsets = offsets_of(sizes)
    ordered = keys[sorted_within(keys, offsets)]
    last = ordered[offsets[:-1] + np.minimum(sizes, packing.deepest) - 1]
    kept: npt.NDArray[np.bool_] = keys <= np.repeat(last, sizes)
    return kept
