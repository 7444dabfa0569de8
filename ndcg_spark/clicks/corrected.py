"""Position bias out of a log: propensities, estimates that they correct, and a sweep over eta."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.clicks import estimates, propensities
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.influence import pulls
from ndcg_spark.clicks.labels import click_counts
from ndcg_spark.clicks.off_policy import off_policy
from ndcg_spark.clicks.options import ClickBiasJob
from ndcg_spark.clicks.positions import Positions, positions_of
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array
from ndcg_spark.tables.contracts import RUNS, conform

ETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


PROPENSITIES = "segment string, rank int, propensity double, method string, n_documents bigint"
SWEEP = "name string, delta double, se double"
Row = dict[str, Any]


@dataclass(frozen=True)
class Bias:
    """Propensities by rank, the power law's exponent that fits them, how many documents link a rank
    with the others, rows of ESTIMATES and SWEEP, and the exponents at which the candidate's
    difference changes its sign. fit: how an iterative method ended; support: how much of the
    candidate was ever shown; off_policy: a row of OFF_POLICY; None where there is none."""

    propensities: dict[int, float]
    eta: float | None
    links: dict[int, int]
    fit: dict[str, float] | None
    support: dict[str, float] | None
    estimates: list[Row]
    sweep: list[Row]
    sign_flips: list[float]
    off_policy: Row | None = None

    def propensity_rows(self, method: str) -> list[Row]:
        """Rows of PROPENSITIES."""
        return [
            {
                "segment": "all",
                "rank": rank,
                "propensity": p,
                "method": method,
                "n_documents": self.links.get(rank),
            }
            for rank, p in self.propensities.items()
        ]


def bias_of(job: ClickBiasJob, log: Impressions, candidate: DataFrame | None) -> Bias:
    """What the job asks of a log.

    Raises:
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    shown = log.shown(["bucket", "query_id"])
    position = positions_of(job, click_counts(shown))
    found = position.propensities
    counts = _impressions(log, job.buckets)
    deepest = shown.where("n_clicks > 0").agg(F.max("rank")).collect()[0][0]
    if not counts.sum() or deepest is None:
        raise InputError("E103", f"no click of {', '.join(job.dates)} in {job.impressions}")
    _refuse_bare(job, position, deepest, candidate is not None)
    tables = {job.method: found, **_powers(deepest)}
    eta = propensities.fitted_eta(found) if len(found) > 1 else None
    ranks = None if candidate is None else propensities.candidate_ranks(conform(candidate, RUNS))
    support = None if ranks is None else _support(job, log, shown, ranks, deepest)
    values = _values(job, shown, position, tables, counts, ranks)
    matched = None
    if ranks is not None:
        matched = off_policy(log, ranks, job.utility, job.cutoff or job.depth)
    return Bias(found, eta, position.links, position.fit, support, **values, off_policy=matched)


def _support(
    job: ClickBiasJob, log: Impressions, shown: DataFrame, ranks: DataFrame, deepest: int
) -> dict[str, float]:
    """How much of the candidate's top was ever shown, by documents and by weight.

    Raises:
        InputError: E182 where it is less than the job asks for.
    """
    depth = min(job.cutoff or deepest, deepest)
    queries = log.people(["query_id"]).where("query_id is not null")
    (row,) = propensities.candidate_support(queries, shown, ranks, job.utility, depth).collect()
    found = {
        "depth": depth,
        "share": (row["n_shown"] or 0) / row["n_documents"] if row["n_documents"] else 0.0,
        "share_by_weight": row["weight_shown"] / row["weight"] if row["weight"] else 0.0,
        "n_queries": row["n_queries"],
        "n_queries_missing": row["n_missing"],
    }
    if found["share_by_weight"] < job.min_shown:
        raise InputError(
            "E182",
            f"{found['share_by_weight']:.1%} of the weight of the candidate's top {depth} was ever "
            f"shown ({found['share']:.1%} of its documents; {row['n_missing']} of "
            f"{row['n_queries']} queries are not in it), less than {job.min_shown:.0%}: what was "
            "never shown has no clicks and would count as worthless. Only re-rankings of shown "
            "documents can be judged; --min-shown says how much must have been",
        )
    return found


def _impressions(log: Impressions, buckets: int) -> Array:
    """(buckets,) impressions of people."""
    counts = np.zeros(buckets)
    for row in log.people(["bucket"]).collect():
        counts[row["bucket"]] = row["n"]
    return counts


def _powers(depth: int) -> dict[str, dict[int, float]]:
    laws = {f"eta={eta:g}": propensities.power_law(eta, depth) for eta in ETAS}
    return {name: dict(enumerate(map(float, law), 1)) for name, law in laws.items()}


def _refuse_bare(job: ClickBiasJob, position: Positions, deepest: int, has_candidate: bool) -> None:
    """Refuse clicks at ranks that have no propensity, naming the cause."""
    reach = deepest if has_candidate else min(deepest, job.cutoff or deepest)
    bare = [rank for rank in range(1, reach + 1) if rank not in position.propensities]
    if not bare:
        return
    cause = f"--depth is {job.depth}; take a larger one, or --cutoff"
    if bare[0] <= job.depth:
        n = position.links.get(bare[0], 0)
        cause = (
            f"{n} clicked documents were shown there and at another rank that leads to rank 1, too "
            f"few for {job.method}; take --method em or power_law, more days, or --cutoff"
        )
    raise InputError(
        "E137", f"clicks down to rank {deepest}, but no propensity for rank {bare[0]}: {cause}"
    )


def _values(
    job: ClickBiasJob,
    shown: DataFrame,
    position: Positions,
    tables: dict[str, dict[int, float]],
    counts: Array,
    ranks: DataFrame | None,
) -> dict[str, Any]:
    """The estimates of the shown order and of the candidate under every table of propensities."""
    states = _states(job, shown, tables, ranks)
    pulled = pulls(job, shown, position, {run: own[job.method] for run, own in states.items()})

    def pull(name: str, run: str) -> Array | None:
        return pulled.get(run) if name == job.method else None

    found = [
        {
            "name": name,
            "run": run,
            "utility": job.utility,
            **estimates.ips_estimate(states[run][name], counts, pull(name, run)),
        }
        for run, name in itertools.product(states, tables)
    ]
    sweep: list[Row] = []
    if ranks is not None:
        for name in tables:
            sides = states["candidate"][name], states["shown"][name]
            own = [pull(name, run) for run in ("candidate", "shown")]
            between = None if own[0] is None or own[1] is None else own[0] - own[1]
            delta, se = estimates.ips_difference(*sides, counts, between)
            sweep.append({"name": name, "delta": delta, "se": se})
    by_eta = [(float(row["name"][4:]), row["delta"]) for row in sweep if row["name"][:4] == "eta="]
    return {"estimates": found, "sweep": sweep, "sign_flips": estimates.sign_flips(by_eta)}


def _states(
    job: ClickBiasJob,
    shown: DataFrame,
    tables: dict[str, dict[int, float]],
    ranks: DataFrame | None,
) -> dict[str, dict[str, list[Row]]]:
    """Rows of IPS_STATE by run (shown, candidate) and table of propensities."""
    rows = [(name, rank, p) for name, found in tables.items() for rank, p in found.items()]
    spark: SparkSession = shown.sparkSession
    table = spark.createDataFrame(rows, "name string, rank int, propensity double")
    runs: dict[str, DataFrame | None] = {"shown": None}
    if ranks is not None:
        runs["candidate"] = ranks
    states: dict[str, dict[str, list[Row]]] = {}
    for run, new_ranks in runs.items():
        states[run] = {name: [] for name in tables}
        state = propensities.weighted_clicks(
            shown, table, job.utility, job.cutoff, job.clip, new_ranks
        )
        for row in state.collect():
            states[run][row["name"]].append(row.asDict())
    return states
