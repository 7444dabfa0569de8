"""What the scores hold, as small rows: systems, measures, counts; or their values as a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from ndcg_spark.comparison import plan
from ndcg_spark.comparison.paired_kernel import Design
from ndcg_spark.errors import InputError, unknown
from ndcg_spark.measures import parse_measures
from ndcg_spark.measures.batch import Array
from ndcg_spark.measures.names import MeasureLike

Measures = MeasureLike | Iterable[MeasureLike]
Counts = dict[tuple[str, str], dict[str, Any]]


def inventory(table: DataFrame, measures: Measures | None) -> Counts:
    """By run and measure, of the measures that are wanted: queries, with a value, largest value."""
    found = plan.inventory(table).collect()
    nulls = sum(row["n_null"] for row in found)
    if nulls:
        raise InputError("E120", f"{nulls} rows of the scores have a null run, query or measure")
    rows = {(row["run_id"], row["measure"]): row.asDict() for row in found}
    if not rows:
        raise InputError("E103", "the scores have no rows")
    there = {measure for _, measure in rows}
    if measures is not None:
        wanted = [str(measure) for measure in parse_measures(measures)]
        for name in wanted:
            if name not in there:
                raise unknown("measure of the scores", name, sorted(there))
        rows = {key: row for key, row in rows.items() if key[1] in wanted}
    return rows


def ordered(counts: dict[tuple[str, str], Any], measures: Measures | None) -> tuple[str, ...]:
    if measures is None:
        return tuple(sorted({measure for _, measure in counts}))
    return tuple(dict.fromkeys(str(measure) for measure in parse_measures(measures)))


def matrix(together: DataFrame, design: Design, limit: int | None = None) -> tuple[Array, Array]:
    """Hashes and (queries, measures, systems) values, in the order of the hashes."""
    rows = plan.matrices(together, design, limit).collect()
    hashes = np.concatenate([np.frombuffer(row["hashes"], np.int64) for row in rows])
    x = np.concatenate([np.frombuffer(row["x"], float) for row in rows])
    x = x.reshape(len(hashes), design.measures, design.systems)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], x[order]
