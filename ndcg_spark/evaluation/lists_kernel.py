"""The lists of a batch of queries, as the runs have them and as they lack them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.ragged import Columns, Ragged, lengths, offsets_of
from ndcg_spark.measures.batch import Ints, Mask, rows_of


@dataclass(frozen=True)
class Lists:
    """The lists of some queries; one that a run lacks is empty.

    listed:    the documents of each list
    query:     (n,) the query of each list, as its row
    run:       (n,) its run, as its place in `names`
    retrieved: (n,) whether the run has it
    judged:    the judgements of each query
    is_judged: (queries,) whether there are any
    """

    listed: Ragged
    query: Ints
    run: Ints
    retrieved: Mask
    judged: Ragged
    is_judged: Mask
    names: pa.Array
    queries: pa.Array  # their ids

    @classmethod
    def of(cls, queries: pa.RecordBatch) -> Lists:
        """Of LISTS (query_rows.py), a row a query."""
        rows = queries.column("docs").flatten()
        columns = Columns({field.name: pc.struct_field(rows, field.name) for field in rows.type})
        query = rows_of(offsets_of(lengths(queries.column("docs"))))
        names = queries.column("names").slice(0, 1).flatten()
        code = pc.index_in(columns.arrays["run_id"], value_set=names)
        run = code.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int64)
        n_queries, n_runs = queries.num_rows, len(names)
        # a query's lists one after another, its judgements the last
        by_list = query * (n_runs + 1) + run
        order = np.argsort(by_list, kind="stable")
        sizes = np.bincount(by_list, minlength=n_queries * (n_runs + 1)).reshape(n_queries, -1)
        is_label = (by_list[order] + 1) % (n_runs + 1) == 0
        return cls.of_matrix(
            (columns, order[~is_label], sizes[:, :n_runs].ravel()),
            (columns, order[is_label], sizes[:, n_runs]),
            names,
            queries.column("query_id"),
        )

    @classmethod
    def of_matrix(
        cls,
        listed: tuple[Columns, Ints, Ints],
        judged: tuple[Columns, Ints, Ints],
        names: pa.Array,
        queries: pa.Array,
    ) -> Lists:
        """Of documents, their order by list, and the sizes of lists, for runs (queries by runs) and
        judgements (queries)."""
        rows, order, sizes = listed
        retrieved = sizes.reshape(len(queries), -1) > 0
        is_judged = judged[2] > 0
        query, run = np.nonzero(retrieved | is_judged[:, None])
        return cls(
            listed=Ragged.gathered(rows, order, sizes.reshape(len(queries), -1)[query, run]),
            query=query,
            run=run,
            retrieved=retrieved[query, run],
            judged=Ragged.gathered(*judged),
            is_judged=is_judged,
            names=names,
            queries=queries,
        )
