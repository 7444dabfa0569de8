"""Curves, pairs and verdicts from sums over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.arrays.whole_sums import of_squares
from ndcg_spark.distinguish.curves_kernel import COARSE, COUNTS, UNIT, CurveSums
from ndcg_spark.distinguish.growth_kernel import BINS, EDGES
from ndcg_spark.theory.limits import Shares, plug_in

CURVES = (
    "run_id string, measure string, n bigint, n_queries bigint, n_undefined bigint, mean double, "
    "se double, sd double, mean_cc double, limit_plugin double, gap_to_limit double"
)
PAIRS = (
    "run_a string, run_b string, measure string, n bigint, n_queries bigint, mean_gap double, "
    "sd_gap double, snr double, win_share double, win_lo double, win_hi double, "
    "settled_share double, snr_exponent double, verdict string"
)
SEPARATES, SAME, UNDECIDED = "separates", "does_not_separate", "undecided"
SETTLED, WON, LOST, FLAT = 0.95, 0.90, 0.95, 0.1  # what a verdict needs
LATE = 3  # sizes, the last ones, at which a pair must be settled
LARGE = 1000  # documents from which on signal to noise is followed

Row = dict[str, Any]


def counts(found: CurveSums) -> Row:
    """Queries used, left out and odd; rankers with constant scores."""
    names = [*COUNTS, *(f"constant_{run}" for run in found.growth.runs)]
    numbers = found.totals.doubles("counts")[0]
    return {
        name: int(n)
        for name, n in zip(names, numbers, strict=True)
        if n or not name.startswith("constant_")
    }


def curves(found: CurveSums, shares: Shares) -> list[Row]:
    """CURVES: a row for each ranker, measure and size.

    mean over queries (and sequences), n_undefined of them without a value; sd of one query in one
    sequence; se of the mean, by query; mean_cc: corrected for chance; limit_plugin: what the
    measure would converge to, by gains per rank fraction pooled over the queries.
    """
    growth, totals = found.growth, found.totals
    queries = int(totals.doubles("counts")[0, 0])
    _, runs, measures, sizes = growth.shape
    rows: list[Row] = []
    for cell, (run, measure, size) in enumerate(np.ndindex(runs, measures, sizes)):
        n, mean, sd = _moments(totals, "values", cell, UNIT)
        by_query, _, spread = _moments(totals, "means", cell, UNIT)
        few, corrected = (totals.exact("corrected", (row, cell)) for row in range(2))
        limit = None
        if shares and any(gain for gain, _ in shares):
            own = growth.measures[measure]
            limit = plug_in(EDGES.tolist(), _gains(found, run), shares, own.dis, own.cutoff)
        rows.append(
            {
                "run_id": growth.runs[run],
                "measure": str(growth.measures[measure]),
                "n": growth.grid[size],
                "n_queries": by_query,
                "n_undefined": queries * growth.sequences - n,
                "mean": mean,
                "se": None if spread is None else spread / math.sqrt(by_query),
                "sd": sd,
                "mean_cc": corrected / few * 2.0**-COARSE if few else None,
                "limit_plugin": limit,
                "gap_to_limit": None if limit is None or mean is None else mean - limit,
            }
        )
    return rows


def pooled(found: CurveSums) -> dict[str, list[float]]:
    """Of each ranker the mean gain by bins of the rank fraction."""
    return {run: _gains(found, place) for place, run in enumerate(found.growth.runs)}


def _gains(found: CurveSums, run: int) -> list[float]:
    """A bin without a rank (in small samples the first ones) is taken for the next."""
    count, total = found.totals.doubles("bins", slice(run * BINS, (run + 1) * BINS))
    means = [t / n * 2.0**-COARSE if n else None for n, t in zip(count, total, strict=True)]
    after = 0.0
    for place in reversed(range(BINS)):
        own = means[place]
        after = after if own is None else own
        means[place] = after
    return [float(mean or 0.0) for mean in means]


def _moments(
    totals: Any, name: str, cell: int, digits: int
) -> tuple[int, float | None, float | None]:
    """How many, their mean, and their deviation."""
    n, total, *parts = (totals.exact(name, (row, cell)) for row in range(5))
    unit = 2.0**-digits
    mean = total / n * unit if n else None
    if n < 2:
        return n, mean, None
    return n, mean, math.sqrt((n * of_squares(*parts) - total**2) / (n * (n - 1))) * unit


def pairs(found: CurveSums) -> list[Row]:
    """PAIRS: a row for each pair of rankers, measure and size; run_a is ahead at the largest size.

    win_share: queries (and sequences) on which run_a has the larger value, ties half, with Wilson's
    95 percent interval by the number of queries; settled_share: on which it has it at this size
    and all larger ones. The verdict stands in every row of a pair and measure.
    """
    growth = found.growth
    _, _, measures, sizes = growth.shape
    rows: list[Row] = []
    for pair, measure in np.ndindex(len(found.pairs), measures):
        first = (pair * measures + measure) * sizes
        cells = [_gap(found, first + size) for size in range(sizes)]
        swapped = (cells[-1]["mean_gap"] or 0.0) < 0
        names = [growth.runs[place] for place in found.pairs[pair]]
        own = [_seen_by(cell, swapped) for cell in cells]
        exponent = snr_exponent(growth.grid, [cell["snr"] for cell in own])
        judged = verdict(own, exponent)
        for size, cell in zip(growth.grid, own, strict=True):
            ends = names[::-1] if swapped else names
            rows.append(
                {
                    "run_a": ends[0],
                    "run_b": ends[1],
                    "measure": str(growth.measures[measure]),
                    "n": size,
                    **cell,
                    "snr_exponent": exponent,
                    "verdict": judged,
                }
            )
    return rows


def _gap(found: CurveSums, cell: int) -> Row:
    n, mean, sd = _moments(found.totals, "gaps", cell, UNIT)
    wins, ahead, behind = (found.totals.exact("gaps", (row, cell)) for row in (5, 6, 7))
    return {"n": n, "mean_gap": mean, "sd": sd, "wins": wins, "ahead": (ahead, behind),
            "queries": n // found.growth.sequences}  # fmt: skip


def _seen_by(cell: Mapping[str, Any], swapped: bool) -> Row:
    """The cell from the side of the ranker that is ahead at the end."""
    n, queries, mean, sd = (cell[name] for name in ("n", "queries", "mean_gap", "sd"))
    gap = -mean if swapped and mean is not None else mean
    share = None
    if n:
        share = 1 - cell["wins"] / 2 / n if swapped else cell["wins"] / 2 / n
    low, high = (None, None) if share is None else wilson(share, queries)
    return {
        "n_queries": queries,
        "mean_gap": gap,
        "sd_gap": sd,
        "snr": gap / sd if sd and gap is not None else None,
        "win_share": share,
        "win_lo": low,
        "win_hi": high,
        "settled_share": cell["ahead"][swapped] / 2 / n if n else None,
    }


def wilson(share: float, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval of a share of n.

    >>> [round(end, 3) for end in wilson(1.0, 40)]
    [0.912, 1.0]
    """
    if n < 1:
        return 0.0, 1.0
    center = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return (center - half) / scale, min(1.0, (center + half) / scale)


def snr_exponent(sizes: Sequence[int], snr: Sequence[float | None]) -> float | None:
    """The slope of ln(signal to noise) by ln n, over sizes of at least LARGE; None for fewer than
    two."""
    points = [
        (math.log(n), math.log(abs(value)))
        for n, value in zip(sizes, snr, strict=True)
        if value and n >= LARGE
    ]
    if len(points) < 2:
        return None
    x, y = np.array(points).T
    x = x - x.mean()
    return float(np.sum(x * (y - y.mean())) / np.sum(x * x))


def verdict(cells: Sequence[Mapping[str, Any]], exponent: float | None) -> str:
    """separates: at the last LATE sizes settled >= 0.95 and win_lo >= 0.9. does_not_separate: the
    last win_hi < 0.95 and signal to noise does not grow (|exponent| < 0.1). Else undecided."""
    late = cells[-LATE:]
    if len(late) == LATE and all(
        (cell["settled_share"] or 0.0) >= SETTLED and (cell["win_lo"] or 0.0) >= WON
        for cell in late
    ):
        return SEPARATES
    high = cells[-1]["win_hi"]
    if high is not None and high < LOST and exponent is not None and abs(exponent) < FLAT:
        return SAME
    return UNDECIDED
