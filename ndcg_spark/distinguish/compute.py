"""Curves, pairs and advice: what growing samples say, as small rows on the driver."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.distinguish import documents as docs
from ndcg_spark.distinguish import verdicts
from ndcg_spark.distinguish.advice import advice
from ndcg_spark.distinguish.curves_kernel import CurveSums, pairs_of, sum_curves
from ndcg_spark.distinguish.growth_kernel import Growth
from ndcg_spark.engine.running import refused
from ndcg_spark.errors import DiscountWarning, InputError, UsageError, unknown
from ndcg_spark.measures import nDCG, parse_measures, resolve
from ndcg_spark.measures.gains import Gain
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.tables import checks
from ndcg_spark.tables.contracts import lacks

STEPS = (1, 2, 5)  # times powers of ten: the default sizes, from 20 on


@dataclass(frozen=True)
class Judged:
    """What growing samples say.

    curves, pairs: rows of CURVES and PAIRS (verdicts.py)
    counts: queries used and left out, odd rankers
    advice: sentences
    """

    curves: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    counts: dict[str, int]
    advice: list[str]


def judged(
    grown: DataFrame,
    growth: Growth,
    baseline: str | None,
    fewest: int,
    longest: int,
    margin: float,
) -> Judged:
    if not 0 < margin < 1:
        raise UsageError(f"margin must be between 0 and 1, not {margin}")
    if baseline is not None and baseline not in growth.runs:
        raise unknown("baseline", baseline, growth.runs)
    sums = _sums(grown, growth, baseline, fewest)
    counts = verdicts.counts(sums)
    docs.refuse_few(counts["queries"], longest, fewest)
    shares = _shares(grown)
    curves, pairs = verdicts.curves(sums, shares), verdicts.pairs(sums, shares, margin)
    words = advice(growth.measures, curves, pairs, verdicts.pooled(sums), shares, counts)
    return Judged(curves, pairs, counts, words)


def growing_measures(
    measures: MeasureLike | Iterable[MeasureLike], gain: str = "linear"
) -> tuple[tuple[nDCG, ...], Gain]:
    """The measures, all with the gain that was asked for.

    Raises:
        UsageError: for another measure than nDCG, the cut-off R, or several gains.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)  # the advice says it
        found = resolve(parse_measures(measures), 1.0, None)
        wanted: list[nDCG] = []
        for measure in found:
            if type(measure) is not nDCG or measure.cutoff == "R":
                raise UsageError(
                    f"{measure} is not nDCG with a cut-off of this kind: n, n/5, sqrt(n), 10"
                )
            own = measure if gain == "linear" else dataclasses.replace(measure, gain=gain)
            wanted.append(own)
    gains = {measure.gain_function() for measure in wanted}
    if len(gains) > 1:
        raise UsageError("the measures have several gains; run the job once for each")
    return tuple(wanted), gains.pop()


@contextlib.contextmanager
def diagnosed(runs: DataFrame | None) -> Iterator[None]:
    """Where the kernel refused the runs, say why."""
    try:
        yield
    except Exception as problem:
        found = refused(problem)
        if isinstance(found, InputError) and found.code == "E132" and runs is not None:
            where = checks.repeats(runs, ("run_id", "query_id", "doc_id"))
            found = InputError("E132", f"{found.message}: {where}")
        raise found from problem.__cause__


def rankers(runs: DataFrame, where: str = "no rows") -> tuple[tuple[str, ...], int]:
    """The rankers by name, and how many documents nine of ten queries have in each."""
    nameless = lacks("run_id", "query_id", "doc_id")
    sizes = runs.groupBy("run_id", "query_id").agg(
        F.count(F.lit(1)).alias("n"), F.sum(F.when(nameless, 1).otherwise(0)).alias("n_null")
    )
    rows = (
        sizes.groupBy("run_id")
        .agg(F.percentile_approx("n", 0.1).alias("usual"), F.sum("n_null").alias("n_null"))
        .collect()
    )
    nulls = sum(row["n_null"] for row in rows)
    if nulls:
        raise InputError("E120", f"{nulls} rows of the runs have a null run, query or document")
    if not rows:
        raise InputError("E103", f"the runs have no rows: {where}")
    usual = {str(row["run_id"]): int(row["usual"]) for row in rows}
    return tuple(sorted(usual)), min(usual.values())


def default_grid(longest: int) -> tuple[int, ...]:
    """20, 50, 100, 200, … as far as nine of ten queries reach."""
    steps = [step * 10**power for power in range(1, 8) for step in STEPS]
    found = tuple(size for size in steps if 20 <= size <= longest)
    if not found:
        raise InputError(
            "E172", f"the queries have too few documents ({longest}); give sizes with --grid"
        )
    return found


def _sums(grown: DataFrame, growth: Growth, baseline: str | None, fewest: int) -> CurveSums:
    pairs = pairs_of(growth, baseline)
    found = CurveSums(growth, pairs, fewest)
    partial = functools.partial(sum_curves, growth=growth, pairs=pairs, fewest=fewest)
    for row in grown.mapInArrow(partial, "one int, sums binary").collect():
        found.totals.merge(np.frombuffer(bytes(row["sums"]), np.int64))
    return found


def _shares(grown: DataFrame) -> list[tuple[float, float]]:
    """The gains of the largest samples, and which share of the documents has each."""
    levels = grown.select(F.explode(F.arrays_zip("level", "level_count")).alias("own"))
    rows = levels.groupBy("own.level").agg(F.sum("own.level_count").alias("n")).collect()
    total = sum(row["n"] for row in rows)
    return sorted((float(row["level"]), row["n"] / total) for row in rows)
