"""The one vectorized function of the plan: lists in, every measure's value out."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame

from ndcg_spark.kernel.score import score_batches
from ndcg_spark.measures import Measure, Policies


def score(rows: DataFrame, measures: Sequence[Measure], policies: Policies) -> DataFrame:
    """SCORES(run_id, query_id, status, scored, n_ret, …, values) of ROWS or LISTS (lists.py): a
    row for each run and query.

    `values` holds one double per measure, in the measures' order. A list that the `queries`
    policy leaves out comes with ``scored = false``, so that it can be counted.
    """
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    kernel = functools.partial(score_batches, measures=tuple(measures), policies=policies)
    return rows.mapInArrow(
        kernel,
        f"run_id string, query_id {kinds['query_id']}, status string, scored boolean, "
        "n_ret bigint, n_rel bigint, n_judged bigint, n_duplicates bigint, tied boolean, "
        "values array<double>",
    )
