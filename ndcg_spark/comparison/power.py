"""Which measure to trust: discriminative power, and whether measures agree on the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from ndcg_spark.comparison import plan
from ndcg_spark.comparison.inventory import Measures, inventory, matrix, ordered
from ndcg_spark.comparison.options import BOOTSTRAPS, CompareOptions
from ndcg_spark.comparison.paired_kernel import Design
from ndcg_spark.comparison.power_kernel import Power, power_of
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array
from ndcg_spark.stats.agreement import kendall_tau_b, rbo, tau_ap

MATRIX_CELLS = 5_000_000  # values of one measure that the discriminative power looks at
POWER = (
    "measure string, n_systems bigint, n_queries bigint, n_pairs bigint, share double, "
    "required_difference double, required_difference_se double, alpha double, replicates bigint, "
    "seed bigint"
)
ASL = "measure string, place bigint, baseline string, candidate string, asl double"
AGREEMENT = "measure_a string, measure_b string, tau_b double, tau_ap double, rbo double"
Row = dict[str, Any]


@dataclass(frozen=True)
class PowerRows:
    """Rows of POWER, ASL and AGREEMENT."""

    power: list[Row]
    asl: list[Row]
    agreement: list[Row]


def power_rows(scores: DataFrame, measures: Measures | None, options: CompareOptions) -> PowerRows:
    """Discriminative power of each measure and the agreement of their orderings.

    Collects the scores of up to MATRIX_CELLS / systems queries (those with the smallest hashes, a
    random sample); only queries with a value of every measure in every system count.
    """
    runs, names, x = _complete(plan.conformed(scores), measures)
    replicates = options.replicates or BOOTSTRAPS
    power: list[Row] = []
    asl: list[Row] = []
    for place, name in enumerate(names):
        found = power_of(x[:, place, :], options.alpha, replicates, options.seed)
        power.append(
            {
                "measure": name,
                "n_systems": len(runs),
                "n_queries": found.n_queries,
                "n_pairs": len(found.pairs),
                "share": found.share,
                "required_difference": found.required,
                "required_difference_se": found.required_se,
                "alpha": options.alpha,
                "replicates": replicates,
                "seed": options.seed,
            }
        )
        asl += _levels(name, found, runs)
    return PowerRows(power, asl, _agreement(names, runs, x.mean(axis=0)))


def _complete(
    table: DataFrame, measures: Measures | None
) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    """Systems, measures, and (queries, measures, systems) the values of complete queries."""
    counts = inventory(table, measures)
    runs = tuple(sorted({run for run, _ in counts}))
    names = ordered(counts, measures)
    if len(runs) < 3:
        raise InputError("E171", "which measure to trust is a question for three systems or more")
    design = Design(len(runs), ((0, 1),), tuple(1.0 for _ in names))
    limit = MATRIX_CELLS // len(runs)
    most = max(int(found["n"]) for found in counts.values())
    _, x = matrix(plan.gathered(table, runs, names), design, limit if most > limit else None)
    x = x[np.isfinite(x).all(axis=(1, 2))]
    if len(x) < 2:
        raise InputError("E171", "fewer than two queries have a value in every system and measure")
    return runs, names, x


def _levels(measure: str, found: Power, runs: Sequence[str]) -> list[Row]:
    """The pairs by their achieved significance level, the lowest first."""
    rows = []
    for place, pair in enumerate(np.argsort(found.asl, kind="stable"), 1):
        ends = dict(
            zip(("baseline", "candidate"), (runs[i] for i in found.pairs[pair]), strict=True)
        )
        rows.append({"measure": measure, "place": place, **ends, "asl": float(found.asl[pair])})
    return rows


def _agreement(names: Sequence[str], runs: Sequence[str], means: Array) -> list[dict[str, Any]]:
    """Of every two measures: how alike they order the systems; equal means by name."""
    orders = [
        [runs[i] for i in sorted(range(len(runs)), key=lambda i: (-row[i], runs[i]))]
        for row in np.round(means, 12)
    ]
    return [
        {
            "measure_a": a,
            "measure_b": b,
            "tau_b": kendall_tau_b(means[i].tolist(), means[j].tolist()),
            "tau_ap": tau_ap(orders[j], orders[i]),
            "rbo": rbo(orders[i], orders[j]),
        }
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
    ]
