"""Propensities by every method, and whether the log can tell them at all."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks import propensities
from ndcg_spark.clicks.options import ClickBiasJob
from ndcg_spark.clicks.position_kernel import PACKED, Cells, Fit, Links, fitted, pack_cells
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array

MOST_DOCUMENTS = 2_000_000  # that the fit holds; of more, a random sample by hash
COMPARING = ("em", "adjacent_chain", "pivot", "randomized")  # methods that compare ranks


@dataclass(frozen=True)
class Positions:
    """Propensities by rank; clicked documents that link a rank with others; how the fit ended."""

    propensities: dict[int, float]
    links: dict[int, int]
    fit: dict[str, float] | None = None
    cells: Cells | None = None  # what em, chain and pivot were fitted to
    rates: tuple[Array, Array] | None = None  # impressions and clicks by rank, of the others


def positions_of(job: ClickBiasJob, counts: DataFrame) -> Positions:
    """The propensities that the job asks for.

    Raises:
        InputError: E180 for a fit that has not converged, E181 where no document was shown at ranks
            that differ, so that nothing tells position from relevance.
    """
    counts = counts.where(F.col("rank") <= job.depth)
    if job.method == "power_law":
        law = propensities.power_law(job.eta, job.depth)
        return Positions(dict(enumerate(map(float, law), 1)), {})
    numbers: dict[int, int] = {}
    cells = None
    if job.method in COMPARING:
        cells = cells_of(counts, job.depth)
        links = Links.of(cells)
        numbers = dict(enumerate(links.documents.tolist(), 1))
        _refuse_unlinked(job, links)
        if job.method == "em":
            return _by_likelihood(job, cells, numbers)
    rows = propensities.rank_ratios(counts, job.method).collect()
    ratios = [(r["rank"], r["to_rank"], float(r["rate"]), float(r["to_rate"])) for r in rows]
    found = propensities.chained(ratios, job.method)
    if job.method in ("naive", "randomized"):
        return Positions(found, numbers, rates=_rates(counts, job.depth))
    return Positions(found, numbers, cells=cells)


def _rates(counts: DataFrame, depth: int) -> tuple[Array, Array]:
    """(ranks,) impressions and clicks."""
    shown, clicked = np.zeros((2, depth))
    sums = [F.sum(name).alias(name) for name in ("n_impressions", "n_clicks")]
    for row in counts.groupBy("rank").agg(*sums).collect():
        shown[row["rank"] - 1], clicked[row["rank"] - 1] = row["n_impressions"], row["n_clicks"]
    return shown, clicked


def cells_of(counts: DataFrame, depth: int) -> Cells:
    """The counts by rank of the documents that say something of propensities, on the driver."""
    cell = F.struct("rank", "n_impressions", "n_clicks")
    docs = counts.groupBy("query_id", "doc_id").agg(F.collect_list(cell).alias("cells"))
    useful = docs.where(
        (F.size("cells") > 1) & F.exists("cells", lambda own: own["n_clicks"] > 0)
    ).select(F.xxhash64("query_id", "doc_id").alias("hash"), "cells")
    useful = useful.orderBy("hash").limit(MOST_DOCUMENTS)
    packed = useful.mapInArrow(functools.partial(pack_cells, depth=depth), PACKED)
    rows = [tuple(map(bytes, row)) for row in packed.collect()]
    return Cells.of([(row[0], row[1], row[2]) for row in rows], depth)


def _by_likelihood(job: ClickBiasJob, cells: Cells, links: dict[int, int]) -> Positions:
    fit: Fit = fitted(cells, job.iterations)
    if not fit.converged:
        raise InputError(
            "E180",
            f"em has not converged in {fit.steps} steps: the log likelihood would still gain "
            f"{fit.gain:.3g}; give more --iterations",
        )
    known = {r: float(p) for r, p in enumerate(fit.propensities, 1) if np.isfinite(p)}
    ended = {"steps": fit.steps, "gain": fit.gain, "log_likelihood": fit.log_likelihood}
    return Positions(known, links, ended, cells)


def _refuse_unlinked(job: ClickBiasJob, links: Links) -> None:
    linked = [rank for rank, is_linked in enumerate(links.linked, 1) if is_linked]
    if not links.varies:
        raise InputError(
            "E181",
            "no clicked document was shown at two ranks that lead to rank 1: rankings never vary, "
            f"and nothing tells position from relevance. {job.method} cannot be used here; take "
            "days with two rankers or randomized traffic, or --method power_law, an assumption",
        )
    if job.method == "randomized" and len(linked) < job.depth:
        away = ", ".join(str(r) for r in range(1, job.depth + 1) if r not in linked)
        raise InputError(
            "E181",
            f"randomized needs documents that are shown at every rank: rank(s) {away} share none "
            "with rank 1, so this is no randomized traffic; take --depth, or --method em",
        )
