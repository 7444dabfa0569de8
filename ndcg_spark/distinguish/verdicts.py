"""Curves, pairs and verdicts from sums over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.arrays.whole_sums import of_squares
from ndcg_spark.distinguish.curves_kernel import COARSE, COUNTS, UNIT, CurveSums
from ndcg_spark.distinguish.growth_kernel import BINS, EDGES
from ndcg_spark.measures import nDCG
from ndcg_spark.stats.distributions import t_quantile
from ndcg_spark.theory.limits import Shares, exponent, plug_in

CURVES = (
    "run_id string, measure string, n bigint, n_queries bigint, n_undefined bigint, mean double, "
    "se double, sd double, mean_cc double, limit_plugin double, gap_to_limit double"
)
PAIRS = (
    "run_a string, run_b string, measure string, n bigint, n_queries bigint, mean_gap double, "
    "sd_gap double, snr double, cc_gap double, cc_lo double, cc_hi double, win_share double, "
    "win_lo double, win_hi double, settled_share double, snr_exponent double, verdict string"
)
SEPARATES, SAME, UNDECIDED = "separates", "does_not_separate", "undecided"
SETTLED, WON, LOST = 0.95, 0.90, 0.95  # what a verdict needs
MARGIN = 0.02  # differences of corrected values that count as none
PURE = 0.995  # share of the largest gain from which on a ranker's first documents are pure
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


def pairs(found: CurveSums, shares: Shares, margin: float = MARGIN) -> list[Row]:
    """PAIRS: a row for each pair of rankers, measure and size; the sides stand by name (with a
    baseline it is run_b).

    win_share: queries (and sequences) on which run_a has the larger value, ties half, with Wilson's
    95 percent interval by the number of queries; settled_share: on which the ranker that is ahead
    at the largest size is so at this size and all larger ones; cc_gap: the mean difference of the
    values corrected for chance, with Student's 95 percent interval by query. The verdict stands in
    every row of a pair and measure.
    """
    growth = found.growth
    _, _, measures, sizes = growth.shape
    tops = [own[0] for own in pooled(found).values()]
    rows: list[Row] = []
    for pair, measure in np.ndindex(len(found.pairs), measures):
        first = (pair * measures + measure) * sizes
        sides = found.pairs[pair]
        cells = [_gap(found, first + size) for size in range(sizes)]
        second_ahead = (cells[-1]["mean_gap"] or 0.0) < 0
        for cell in cells:
            cell["settled_share"] = cell.pop("ahead")[second_ahead]
        growing = snr_exponent(growth.grid, [cell["snr"] for cell in cells])
        stays_random = has_no_limit(growth.measures[measure]) and not is_pure(
            tops[sides[second_ahead]], shares
        )
        judged = verdict(cells, stays_random, margin)
        for size, cell in zip(growth.grid, cells, strict=True):
            rows.append(
                {
                    "run_a": growth.runs[sides[0]],
                    "run_b": growth.runs[sides[1]],
                    "measure": str(growth.measures[measure]),
                    "n": size,
                    **cell,
                    "snr_exponent": growing,
                    "verdict": judged,
                }
            )
    return rows


def has_no_limit(measure: nDCG) -> bool:
    """Whether the value of one query stays random however many documents there are, unless the top
    is pure: a discount that decays faster than 1/r, or a fixed cut-off (docs, A4)."""
    b = exponent(measure.dis)
    return b is None or b > 1 or isinstance(measure.cutoff, int)


def is_pure(top: float, shares: Shares) -> bool:
    """Whether nearly every first document has the largest gain; top: the mean gain there."""
    largest = max((gain for gain, share in shares if share > 0), default=0.0)
    return bool(largest and top >= PURE * largest)


def _gap(found: CurveSums, cell: int) -> Row:
    n, mean, sd = _moments(found.totals, "gaps", cell, UNIT)
    wins, *ahead = (found.totals.exact("gaps", (row, cell)) / 2 for row in (5, 6, 7))
    by_query, corrected, spread = _moments(found.totals, "corrected_gaps", cell, COARSE)
    queries = n // found.growth.sequences
    low, high = wilson(wins / n, queries) if n else (None, None)
    cc_low, cc_high = None, None
    if corrected is not None and spread is not None:
        half = t_quantile(0.975, by_query - 1) * spread / math.sqrt(by_query)
        cc_low, cc_high = corrected - half, corrected + half
    return {
        "n_queries": queries,
        "mean_gap": mean,
        "sd_gap": sd,
        "snr": mean / sd if sd and mean is not None else None,
        "cc_gap": corrected,
        "cc_lo": cc_low,
        "cc_hi": cc_high,
        "win_share": wins / n if n else None,
        "win_lo": low,
        "win_hi": high,
        "ahead": [side / n if n else None for side in ahead],
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


def verdict(cells: Sequence[Mapping[str, Any]], stays_random: bool, margin: float = MARGIN) -> str:
    """separates: at the last LATE sizes settled >= 0.95, and the winner's share of queries is at
    least 0.9 by its interval; never where the value of a query stays random.

    does_not_separate needs evidence: that the limits are equal (at the last size the interval of
    the difference corrected for chance lies within +- margin), or, where the value stays random,
    that neither wins 95 percent of the queries (the interval's ends). Else undecided.
    """
    late = cells[-LATE:]
    if len(late) < LATE or any(cell["win_lo"] is None for cell in late):
        return UNDECIDED
    if stays_random:
        last = late[-1]
        return SAME if last["win_hi"] < LOST and last["win_lo"] > 1 - LOST else UNDECIDED
    settled = all((cell["settled_share"] or 0.0) >= SETTLED for cell in late)
    if settled and (
        all(cell["win_lo"] >= WON for cell in late)
        or all(cell["win_hi"] <= 1 - WON for cell in late)
    ):
        return SEPARATES
    low, high = late[-1]["cc_lo"], late[-1]["cc_hi"]
    equal = low is not None and -margin <= low and high <= margin
    return SAME if equal else UNDECIDED
