"""Position bias out of a log: propensities, estimates that they correct, and a sweep over eta."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.arrays.whole_sums import units
from ndcg_spark.clicks import estimates, propensities
from ndcg_spark.clicks.impressions import Shape, impressions
from ndcg_spark.clicks.labels import click_counts, shown_results
from ndcg_spark.clicks.options import ClickBiasJob
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array
from ndcg_spark.tables.contracts import RUNS, conform

ETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
CLOSE = 1e-7  # EM ends when no propensity moves by more
PROPENSITIES = "segment string, rank int, propensity double, method string"
SWEEP = "name string, delta double, se double"
Row = dict[str, Any]


@dataclass(frozen=True)
class Bias:
    """Propensities by rank, the power law's exponent that fits them, rows of ESTIMATES and SWEEP,
    and the exponents at which the candidate's difference changes its sign."""

    propensities: dict[int, float]
    eta: float | None
    estimates: list[Row]
    sweep: list[Row]
    sign_flips: list[float]

    def propensity_rows(self, method: str) -> list[Row]:
        """Rows of PROPENSITIES."""
        return [
            {"segment": "all", "rank": rank, "propensity": p, "method": method}
            for rank, p in self.propensities.items()
        ]


def bias_of(job: ClickBiasJob, log: DataFrame, shape: Shape, candidate: DataFrame | None) -> Bias:
    """What the job asks of a log.

    Raises:
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    log = impressions(log, shape, job.dates)
    shown = shown_results(log, shape)
    found = _propensities(job, click_counts(shown))
    counts = _impressions(log, job.buckets)
    deepest = shown.where("clicked").agg(F.max("rank")).collect()[0][0]
    if not counts.sum() or deepest is None:
        raise InputError("E103", f"no click of {', '.join(job.dates)} in {job.impressions}")
    _refuse_bare(job, found, deepest, candidate is not None)
    tables = {job.method: found, **_powers(deepest)}
    eta = propensities.fitted_eta(found) if len(found) > 1 else None
    return Bias(found, eta, **_values(job, shown, tables, counts, candidate))


def _impressions(log: DataFrame, buckets: int) -> Array:
    """(buckets,) impressions of people."""
    counts = np.zeros(buckets)
    for row in log.where(~F.col("is_bot")).groupBy("bucket").count().collect():
        counts[row["bucket"]] = row["count"]
    return counts


def _refuse_bare(
    job: ClickBiasJob, found: dict[int, float], deepest: int, has_candidate: bool
) -> None:
    reach = deepest if has_candidate else min(deepest, job.cutoff or deepest)
    bare = [rank for rank in range(1, reach + 1) if rank not in found]
    if bare:
        raise InputError(
            "E137",
            f"clicks down to rank {deepest}, but no propensity for rank {bare[0]}: take "
            "--method power_law, a larger --depth, or --cutoff",
        )


def _propensities(job: ClickBiasJob, counts: DataFrame) -> dict[int, float]:
    counts = counts.where(F.col("rank") <= job.depth)
    if job.method == "power_law":
        return dict(enumerate(map(float, propensities.power_law(job.eta, job.depth)), 1))
    if job.method == "em":
        return _em(counts, job.depth, job.iterations)
    rows = propensities.rank_ratios(counts, job.method).collect()
    ratios = [(r["rank"], r["to_rank"], float(r["rate"]), float(r["to_rate"])) for r in rows]
    return propensities.chained(ratios, job.method)


def _em(counts: DataFrame, depth: int, iterations: int) -> dict[int, float]:
    """EM on the position-based model; each iteration is one pass that sends back `depth` sums.

    A document's relevance is not kept: it is fitted anew to the current propensities.
    """
    cell = F.struct("rank", "n_impressions", "n_clicks")
    docs = counts.groupBy("query_id", "doc_id").agg(F.collect_list(cell).alias("cells"))
    docs = docs.select("cells").persist()
    propensity = 1.0 / np.arange(1, depth + 1)
    for _ in range(iterations):
        step = functools.partial(_em_step, propensity=propensity)
        sums = docs.mapInArrow(step, "rank int, examined bigint, shown bigint").groupBy("rank")
        rows = sums.agg(F.sum("examined").alias("e"), F.sum("shown").alias("n")).collect()
        new = propensity.copy()
        for row in rows:
            new[row["rank"] - 1] = row["e"] / 2**20 / row["n"] if row["n"] else np.nan
        new = new / new[0]
        moved = float(np.nanmax(np.abs(new - propensity)))
        propensity = new
        if moved < CLOSE:
            break
    docs.unpersist()
    return {rank: float(p) for rank, p in enumerate(propensity, 1) if np.isfinite(p) and p > 0}


def _em_step(batches: Iterator[pa.RecordBatch], propensity: Array) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        cells = batch.column("cells")
        flat = cells.flatten()
        row = np.repeat(
            np.arange(batch.num_rows), cells.value_lengths().to_numpy(zero_copy_only=False)
        )
        rank = flat.field("rank").to_numpy() - 1
        n, k = np.zeros((2, batch.num_rows, len(propensity)))
        n[row, rank] = flat.field("n_impressions").to_numpy()
        k[row, rank] = flat.field("n_clicks").to_numpy()
        relevance = estimates.em_relevance(propensity, n, k)
        examined = estimates.em_examined(propensity, relevance, n, k)
        yield pa.RecordBatch.from_pydict(
            {
                "rank": pa.array(np.arange(1, len(propensity) + 1), pa.int32()),
                "examined": pa.array(units(examined, 20)),
                "shown": pa.array(n.sum(axis=0).astype(np.int64)),
            }
        )


def _powers(depth: int) -> dict[str, dict[int, float]]:
    laws = {f"eta={eta:g}": propensities.power_law(eta, depth) for eta in ETAS}
    return {name: dict(enumerate(map(float, law), 1)) for name, law in laws.items()}


def _values(
    job: ClickBiasJob,
    shown: DataFrame,
    tables: dict[str, dict[int, float]],
    counts: Array,
    candidate: DataFrame | None,
) -> dict[str, Any]:
    """The estimates of the shown order and of the candidate under every table of propensities."""
    states = _states(job, shown, tables, candidate)
    found = [
        {
            "name": name,
            "run": run,
            "utility": job.utility,
            **estimates.ips_estimate(states[run][name], counts),
        }
        for run, name in itertools.product(states, tables)
    ]
    sweep: list[Row] = []
    if candidate is not None:
        for name in tables:
            sides = states["candidate"][name], states["shown"][name]
            delta, se = estimates.ips_difference(*sides, counts)
            sweep.append({"name": name, "delta": delta, "se": se})
    by_eta = [(float(row["name"][4:]), row["delta"]) for row in sweep if row["name"][:4] == "eta="]
    return {"estimates": found, "sweep": sweep, "sign_flips": estimates.sign_flips(by_eta)}


def _states(
    job: ClickBiasJob,
    shown: DataFrame,
    tables: dict[str, dict[int, float]],
    candidate: DataFrame | None,
) -> dict[str, dict[str, list[Row]]]:
    """Rows of IPS_STATE by run (shown, candidate) and table of propensities."""
    rows = [(name, rank, p) for name, found in tables.items() for rank, p in found.items()]
    spark: SparkSession = shown.sparkSession
    table = spark.createDataFrame(rows, "name string, rank int, propensity double")
    runs: dict[str, DataFrame | None] = {"shown": None}
    if candidate is not None:
        runs["candidate"] = propensities.candidate_ranks(conform(candidate, RUNS))
    states: dict[str, dict[str, list[Row]]] = {}
    for run, ranks in runs.items():
        states[run] = {name: [] for name in tables}
        state = propensities.weighted_clicks(shown, table, job.utility, job.cutoff, job.clip, ranks)
        for row in state.collect():
            states[run][row["name"]].append(row.asDict())
    return states
