"""The lists of whole queries, out of the records that the packing tasks made (pack_kernel.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.ragged import ENTRIES, Columns, lengths, offsets_of, ranges
from ndcg_spark.evaluation.lists_kernel import Lists
from ndcg_spark.evaluation.pack_kernel import NAMES, QRELS, RUNS, unpacked
from ndcg_spark.measures.batch import Ints


def lists_of_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[Lists]:
    """Lists of about ENTRIES documents at a time, of PARTS(records[(kind, lists)]), a row a part.

    A query is in one part, and never cut.
    """
    for batch in batches:
        for place in range(batch.num_rows):
            records = batch.column("records").slice(place, 1).flatten()
            yield from _lists(records)


def _lists(records: pa.StructArray) -> Iterator[Lists]:
    kinds = pc.struct_field(records, "kind").to_numpy(zero_copy_only=False)
    blobs = pc.struct_field(records, "lists")
    found = {
        kind: [unpacked(blobs[int(place)]) for place in np.flatnonzero(kinds == kind)]
        for kind in (NAMES, RUNS, QRELS)
    }
    if not found[RUNS] and not found[QRELS]:
        return
    known = {name for batch in found[NAMES] for name in batch.column("run_id").to_pylist()}
    names = pa.array(sorted(known), pa.string())
    ids = (found[RUNS] or found[QRELS])[0].schema.field("docs").type.value_type.field("doc_id").type
    runs = _Pieces.of(found[RUNS], {"doc_id": ids, "place": pa.float64()})
    qrels = _Pieces.of(found[QRELS], {"doc_id": ids, "relevance": pa.float64()})
    queries, (by_run, by_judged) = _numbered([runs.queries, qrels.queries])
    run = pc.index_in(runs.runs, value_set=names).to_numpy(zero_copy_only=False).astype(np.int64)
    by_list = by_run * len(names) + run
    yield from _calls(runs, by_list, qrels, by_judged, queries, names)


def _calls(
    runs: _Pieces,
    by_list: Ints,
    qrels: _Pieces,
    by_judged: Ints,
    queries: pa.Array,
    names: pa.Array,
) -> Iterator[Lists]:
    """The queries in groups whose documents fit in the cache."""
    n, width = len(queries), len(names)
    run_order, judged_order = (np.argsort(by, kind="stable") for by in (by_list, by_judged))
    by_list, by_judged = by_list[run_order], by_judged[judged_order]
    documents = np.zeros(n + 1, np.int64)
    query = by_list // max(width, 1)
    np.add.at(documents, query + 1, runs.sizes[run_order])
    np.add.at(documents, by_judged + 1, qrels.sizes[judged_order])
    ends = np.cumsum(documents)
    part = ends[1:] // ENTRIES
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for start, end in zip(starts, [*starts[1:], n], strict=True):
        a, b = np.searchsorted(query, (start, end))
        c, d = np.searchsorted(by_judged, (start, end))
        own, judged = by_list[a:b] - start * width, by_judged[c:d] - start
        yield Lists.of_matrix(
            runs.at(run_order[a:b], own, (end - start) * width),
            qrels.at(judged_order[c:d], judged, end - start),
            names,
            queries.slice(start, end - start),
        )


class _Pieces:
    """Pieces of lists, as records have them: whose each is, and its documents.

    A list that was read in several chunks has several pieces.
    """

    def __init__(self, queries: pa.Array, runs: pa.Array, sizes: Ints, docs: Columns) -> None:
        self.queries, self.runs, self.sizes, self.docs = queries, runs, sizes, docs
        self._starts = offsets_of(sizes)

    @classmethod
    def of(cls, batches: list[pa.RecordBatch], kinds: Mapping[str, pa.DataType]) -> _Pieces:
        """kinds: of the documents' columns where there are none."""
        nothing = pa.nulls(0, pa.string())
        if not batches:
            empty = Columns({name: pa.nulls(0, kind) for name, kind in kinds.items()})
            return cls(nothing, nothing, np.zeros(0, np.int64), empty)
        queries = pa.concat_arrays([batch.column("query_id") for batch in batches])
        runs = nothing
        if "run_id" in batches[0].schema.names:
            runs = pa.concat_arrays([batch.column("run_id") for batch in batches])
        docs = [batch.column("docs").flatten() for batch in batches]
        columns = {
            field.name: _joined([pc.struct_field(own, field.name) for own in docs])
            for field in docs[0].type
        }
        sizes = np.concatenate([lengths(batch.column("docs")) for batch in batches])
        return cls(queries, runs, sizes, Columns(columns))

    def at(self, pieces: Ints, lists: Ints, n_lists: int) -> tuple[Columns, Ints, Ints]:
        """Documents, their order by list, the sizes of lists; lists: of each piece, ascending."""
        sizes = self.sizes[pieces]
        order = ranges(self._starts[pieces], sizes)
        totals = np.bincount(lists, weights=sizes, minlength=n_lists).astype(np.int64)
        return self.docs, order, totals


def _joined(columns: list[pa.Array]) -> pa.Array:
    """The columns one after another; numbers of several types as doubles."""
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.float64(), safe=False) for column in columns]
    return pa.concat_arrays(columns)


def _numbered(ids: list[pa.Array]) -> tuple[pa.Array, list[Ints]]:
    """Different ids, and of each array the place of every id among them."""
    some = [own for own in ids if len(own)]
    every = pa.concat_arrays(some)
    distinct = every.unique()
    places = pc.index_in(every, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    found, at = [], 0
    for own in ids:
        found.append(places[at : at + len(own)])
        at += len(own)
    return distinct, found
