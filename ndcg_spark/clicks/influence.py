"""What the propensities' own error adds to an estimate, by bucket of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.influence_kernel import influence, rank_influence
from ndcg_spark.clicks.options import ClickBiasJob
from ndcg_spark.clicks.positions import Positions
from ndcg_spark.engine.inputs import from_arrow
from ndcg_spark.engine.whole_sums import whole_sum
from ndcg_spark.measures.batch import Array

Rows = Sequence[Mapping[str, Any]]


def pulls(
    job: ClickBiasJob, shown: DataFrame, position: Positions, states: Mapping[str, Rows]
) -> dict[str, Array]:
    """(buckets,) for each run what the clicks of a bucket move its estimate by the propensities.

    states: by run the rows of IPS_STATE under the method's own propensities

    Empty where the propensities are given (power_law).
    """
    if position.cells is None and position.rates is None:
        return {}
    p = np.array([position.propensities.get(rank, np.nan) for rank in range(1, job.depth + 1)])
    slopes = np.stack([_slopes(rows, p, job.clip) for rows in states.values()])
    table, keys = _coefficients(job, position, p, slopes)
    every = from_arrow(table, shown.sparkSession)
    rows = shown.where(F.col("doc_id").isNotNull())
    if "hash" in keys:
        rows = rows.withColumn("hash", F.xxhash64("query_id", "doc_id"))
    else:
        every = F.broadcast(every)
    clicked, missed = (F.lit(known) - F.col("q") for known in (1.0, 0.0))
    k, n = F.col("n_clicks"), F.col("n_impressions")
    names = [f"h_{place}" for place in range(len(slopes))]
    sums = (
        rows.join(every, keys)
        .groupBy("bucket")
        .agg(*[_surprises(F.col(name), clicked, missed, k, n - k).alias(name) for name in names])
    )
    found = {run: np.zeros(job.buckets) for run in states}
    for row in sums.collect():
        for run, name in zip(states, names, strict=True):
            found[run][row["bucket"]] = row[name]
    return found


def _surprises(h: Column, clicked: Column, missed: Column, k: Column, others: Column) -> Column:
    """The sum of h times what was not expected, over k clicks and the results without one."""
    sums = whole_sum(h * clicked, 24, times=k) + whole_sum(h * missed, 24, times=others)
    return sums / F.lit(2.0**24)


def _slopes(rows: Rows, p: Array, clip: float) -> Array:
    """(ranks,) the derivative of the sum of values by log propensity; clipped ranks do not move."""
    slopes = np.zeros(len(p))
    for row in rows:
        rank = row["rank"] - 1
        if rank < len(p) and np.isfinite(p[rank]) and p[rank] >= clip:
            slopes[rank] -= row["sum_value"]
    return slopes


def _coefficients(
    job: ClickBiasJob, position: Positions, p: Array, slopes: Array
) -> tuple[pa.Table, list[str]]:
    """(hash?, rank, q, h_0, …) and the columns that a result is joined by."""
    if position.rates is not None:
        h, q = rank_influence(*position.rates, slopes)
        ranks = np.arange(1, len(q) + 1)
        columns = {"rank": ranks.astype(np.int32), "q": q}
        return pa.table({**columns, **{f"h_{i}": own for i, own in enumerate(h)}}), ["rank"]
    cells = position.cells
    assert cells is not None
    assert cells.hashes is not None
    h, q = influence(job.method, cells, p, slopes)
    doc, rank = np.nonzero(cells.shown)
    columns = {"hash": cells.hashes[doc], "rank": (rank + 1).astype(np.int32), "q": q[doc, rank]}
    pulled = {f"h_{i}": own[doc, rank] for i, own in enumerate(h)}
    return pa.table({**columns, **pulled}), ["hash", "rank"]
