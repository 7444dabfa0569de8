"""Shown lists with what their clicks are worth: numpy and pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.grouping import counted, grouped
from ndcg_spark.arrays.ragged import offsets_of
from ndcg_spark.clicks.patterns_kernel import Gains, Read

MARK = "\x1f"  # between the documents of a list


@dataclass(frozen=True)
class ListValues:
    """Counts (n) of people's impressions with equal query, bucket, list, propensity and value.

    worths: what a click is worth at each of the first places
    list: the documents of these places; value: the sum of their clicks' worth
    Impressions without a query, with a problem, or whose documents are not known are left out.
    """

    gains: Gains
    worths: tuple[float, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from counted(map(self._rows, batches), lambda rows: grouped(rows, ("n",)))

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        known = pc.and_(batch.column("doc_ids").is_valid(), batch.column("query_id").is_valid())
        batch = batch.filter(pc.and_(known, pc.invert(batch.column("is_bot"))))
        docs = batch.column("doc_ids")
        read = Read.of(batch, self.gains, (docs,))
        ids = (docs if read.fit.all() else docs.filter(pa.array(read.fit))).flatten()
        row = read.row[read.order]
        place = np.arange(len(row)) - read.offsets[row]
        top = place < len(self.worths)
        entries, row, place = read.order[top], row[top], place[top]
        worth = np.array(self.worths)
        value = np.bincount(
            row, weights=worth[place] * (read.code[entries] > 0), minlength=batch.num_rows
        )
        ends = pa.array(offsets_of(np.bincount(row, minlength=batch.num_rows)).astype(np.int32))
        lists = pa.ListArray.from_arrays(ends, ids.take(pa.array(entries)))
        good = pa.array(read.problem == 0)
        made = pa.record_batch(
            {
                **{name: batch.column(name) for name in ("query_id", "bucket", "propensity")},
                "list": pc.binary_join(lists, MARK),
                "value": pa.array(value),
                "n": pa.array(np.ones(batch.num_rows, np.int64)),
            }
        )
        return grouped(made.filter(good), ("n",))
