"""The values of growing samples, a row each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ndcg_spark.distinguish.growth_kernel import Growth


def long_values(batches: Iterator[pa.RecordBatch], growth: Growth) -> Iterator[pa.RecordBatch]:
    """GROWN as rows (query_id, sequence, run_id, measure, n, value, e_random, n_rel)."""
    _, _, measures, sizes = growth.shape
    names = pa.array(growth.runs), pa.array([str(measure) for measure in growth.measures])
    for batch in batches:
        shape = (batch.num_rows, *growth.shape)
        query, sequence, run, measure, size = (
            np.broadcast_to(place, shape).ravel() for place in np.ogrid[tuple(map(slice, shape))]
        )
        value = batch.column("values").flatten().to_numpy()
        random = batch.column("e_random").flatten().to_numpy()
        n_rel = batch.column("n_rel").flatten().to_numpy()
        unit = (query * shape[1] + sequence) * sizes + size
        by_measure = ((query * shape[1] + sequence) * measures + measure) * sizes + size
        columns = {
            "query_id": batch.column("query_id").take(pa.array(query)),
            "sequence": pa.array(sequence),
            "run_id": names[0].take(pa.array(run)),
            "measure": names[1].take(pa.array(measure)),
            "n": pa.array(np.array(growth.grid)[size]),
            "value": pa.array(value, from_pandas=True),  # NaN: null
            "e_random": pa.array(random[by_measure], from_pandas=True),
            "n_rel": pa.array(n_rel[unit]),
        }
        yield pa.RecordBatch.from_pydict(columns)
