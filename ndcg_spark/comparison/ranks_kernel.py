"""How often every size of a difference occurs: what Wilcoxon's ranks are made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ndcg_spark.comparison.paired_kernel import (
    TIE_UNITS,
    Design,
    blocks_of,
    matrix,
    paired_columns,
    segments_of,
)
from ndcg_spark.measures.batch import Ints

SIZES = pa.schema(
    [
        ("segment", pa.string()),
        ("column", pa.int32()),
        *[(name, pa.int64()) for name in ("size", "positive", "negative", "n")],
    ]
)


def difference_sizes(batches: Iterator[pa.RecordBatch], design: Design) -> Iterator[pa.RecordBatch]:
    """How often every size of a difference occurs, in units of 1e-9 of the scale, with its sign."""
    for batch in batches:
        for block in blocks_of(batch, design):
            x, present = matrix(block, design)
            for segment, rows in segments_of(block):
                _, valid, left, right, _ = paired_columns(x[rows], present[rows], design)
                d = right - left
                for column in range(d.shape[1]):
                    yield _sizes(segment, column, d[valid[:, column], column], 2 * TIE_UNITS)


def _sizes(segment: str, column: int, d: Ints, width: float) -> pa.RecordBatch:
    rounded = np.rint(np.abs(d) / width).astype(np.int64)
    size, group = np.unique(rounded, return_inverse=True)
    n = len(size)
    counts = [np.bincount(group[own], minlength=n) for own in (d > 0, d < 0)]
    names = pa.array([segment]).take(pa.array(np.zeros(n, np.int32)))
    columns = [np.full(n, column, np.int32), size, *counts, np.bincount(group, minlength=n)]
    return pa.RecordBatch.from_arrays([names, *map(pa.array, columns)], schema=SIZES)
