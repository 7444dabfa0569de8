"""Rows for figures, out of whatever a user has: small tables as they are, large ones counted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError
from ndcg_spark.tables.paths import filesystem

MOST_ROWS = 200_000  # of a table that is looked at as it is
_CUTOFF = re.compile(r"(.+)@(\d+)")

Row = Mapping[str, Any]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a small table: a path, a DataFrame, something with an Arrow stream, or rows.

    Raises:
        UsageError: for what is none of these, and for more rows than a figure can show.
    """
    if isinstance(table, (str, os.PathLike)):
        system, path = filesystem(os.fspath(table))
        found = ds.dataset(path, filesystem=system, partitioning="hive").head(MOST_ROWS + 1)
        return _limited(found.to_pylist())
    if type(table).__module__.startswith("pyspark.sql."):
        return _limited([row.asDict() for row in table.limit(MOST_ROWS + 1).collect()])
    if hasattr(table, "__arrow_c_stream__"):
        return _limited(pa.RecordBatchReader.from_stream(table).read_all().to_pylist())
    if isinstance(table, Iterable):
        return _limited([dict(row) for row in table])
    raise UsageError(f"{type(table).__name__} is no table; give a DataFrame, a path or rows")


def _limited(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(rows) > MOST_ROWS:
        raise UsageError(f"more than {MOST_ROWS:,} rows; give a summary, or filter the table first")
    return rows


def need(rows: Sequence[Row], what: str, *columns: str) -> None:
    """Refuse rows that lack columns, by name."""
    if not rows:
        raise UsageError(f"{what}: there is no row to draw")
    missing = [column for column in columns if column not in rows[0]]
    if missing:
        raise UsageError(
            f"{what} needs the column(s) {', '.join(missing)}; there are: {', '.join(rows[0])}"
        )


def by_cutoff(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows of measures with a cut-off, for families that have two at least.

    >>> found = by_cutoff([{"measure": m, "mean": 0.5} for m in ("AP", "P@5", "P@10", "RR@3")])
    >>> [(row["family"], row["cutoff"]) for row in found]
    [('P', 5), ('P', 10)]
    """
    found = [
        {**row, "family": name[1], "cutoff": int(name[2])}
        for row in rows
        if (name := _CUTOFF.fullmatch(row["measure"]))
    ]
    sizes = {(row["family"], row["cutoff"]) for row in found}
    return [row for row in found if sum(f == row["family"] for f, _ in sizes) > 1]


def counted(scores: DataFrame, measure: str, bins: int = 20) -> list[dict[str, Any]]:
    """How many queries of each run have a value in each of `bins` equal ranges: two passes of the
    engine over the scores, of which bins x runs rows come back.

    Rows of run_id, low, high, n; of the runs with the highest means.
    """
    own = scores.where((F.col("measure") == measure) & F.col("value").isNotNull())
    own = own.where(~F.isnan("value"))
    runs = (
        own.groupBy("run_id")
        .agg(
            F.avg("value").alias("mean"), F.min("value").alias("low"), F.max("value").alias("high")
        )
        .orderBy(F.desc("mean"), "run_id")
        .limit(8)
        .collect()
    )
    if not runs:
        return []
    low, high = min(0.0, *(r["low"] for r in runs)), max(r["high"] for r in runs)
    high = 1.0 if low >= 0 and 0.5 < high <= 1 else high if high > low else low + 1.0
    width = (high - low) / bins
    place = F.least(F.floor((F.col("value") - low) / width).cast("int"), F.lit(bins - 1))
    names = [r["run_id"] for r in runs]
    found = own.where(F.col("run_id").isin(names)).groupBy("run_id", place.alias("bin")).count()
    known = {(row["run_id"], row["bin"]): row["count"] for row in found.collect()}
    return [
        {"run_id": run, "low": low + b * width, "high": low + (b + 1) * width,
         "n": known.get((run, b), 0)}
        for run in names
        for b in range(bins)
    ]  # fmt: skip


def extremes(scores: DataFrame, measure: str, baseline: str, n: int) -> list[dict[str, Any]]:
    """The n biggest wins and losses of every other run against the baseline.

    Rows of run_id, query_id, value, baseline_value, delta; losses first, by run and delta.
    """
    own = scores.where(F.col("measure") == measure).select("run_id", "query_id", "value")
    base = own.where(F.col("run_id") == baseline).select(
        "query_id", F.col("value").alias("baseline_value")
    )
    pairs = own.where(F.col("run_id") != baseline).join(base, "query_id")
    pairs = pairs.withColumn("delta", F.col("value") - F.col("baseline_value"))
    pairs = pairs.where(F.col("delta").isNotNull() & (F.col("delta") != 0))
    by_run = Window.partitionBy("run_id")
    ranked = pairs.withColumn(
        "up", F.row_number().over(by_run.orderBy(F.desc("delta"), "query_id"))
    ).withColumn("down", F.row_number().over(by_run.orderBy("delta", "query_id")))
    near = ((F.col("up") <= n) & (F.col("delta") > 0)) | (
        (F.col("down") <= n) & (F.col("delta") < 0)
    )
    found = ranked.where(near).orderBy("run_id", "delta", "query_id")
    return [row.asDict() for row in found.drop("up", "down").collect()]
