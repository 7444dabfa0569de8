"""What intervals, tests and verdicts promise, against simulated data whose truth is known.

usage: python -m tools.simulations [--repeats 400] [--impressions 20000,200000]
           [--only clicks,comparisons,growth,experiments]

Clicks: a log of three rankers on 40 queries of ten documents; clicks by the position-based model with
propensities 1 / r. For each method the value of a re-ranking (a log that randomizes for
`randomized`): how often a nominal 95 percent interval holds the truth, by the error that takes the
propensities as known and by the one that counts their error too; the estimate's deviation, and the
median over logs of the largest relative error of a propensity.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from ndcg_spark.clicks.clusters_kernel import Arm, interval, standard_error
from ndcg_spark.clicks.influence_kernel import influence, rank_influence
from ndcg_spark.clicks.position_kernel import Cells, fitted
from ndcg_spark.clicks.propensities import chained
from tools import simulated_comparisons, simulated_experiments, simulated_growth

DEPTH, QUERIES, BUCKETS = 10, 40, 1000
METHODS = ("em", "adjacent_chain", "pivot", "randomized")
TRUTH = 1.0 / np.arange(1, DEPTH + 1)


class World:
    """Relevance, three rankers, and the places of a candidate."""

    def __init__(self, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.relevance = rng.beta(1.2, 2.5, (QUERIES, DEPTH))
        seen = self.relevance + rng.normal(0, 0.25, self.relevance.shape)
        orders = [np.argsort(-(seen + rng.normal(0, s, seen.shape)), 1) for s in (0, 0.3, 0.5)]
        self.orders = np.stack(orders, 1)
        better = self.relevance + np.random.default_rng(5).normal(0, 0.1, seen.shape)
        self.worth = 1 / np.log2(2 + np.argsort(np.argsort(-better, 1), 1))

    @property
    def value(self) -> float:
        return float((self.relevance * self.worth).sum(1).mean())

    def log(self, n: int, seed: int, randomized: bool) -> Log:
        rng = np.random.default_rng(seed)
        query = rng.integers(0, QUERIES, n)
        docs = self.orders[query, rng.integers(0, 3, n)]
        if randomized:
            docs = np.argsort(rng.random((n, DEPTH)), 1)
        clicked = rng.random((n, DEPTH)) < self.relevance[query[:, None], docs] * TRUTH
        bucket = rng.integers(0, n // 3, n) % BUCKETS
        return Log(query[:, None] * DEPTH + docs, clicked.astype(float), bucket)


@dataclass(frozen=True)
class Log:
    """(impressions, ranks) documents and clicks, and (impressions,) the user's bucket."""

    docs: np.ndarray
    clicked: np.ndarray
    bucket: np.ndarray

    @property
    def cells(self) -> Cells:
        rank = np.broadcast_to(np.arange(DEPTH), self.docs.shape)
        place, size = (self.docs * DEPTH + rank).ravel(), QUERIES * DEPTH * DEPTH
        shown = np.bincount(place, minlength=size).astype(float)
        clicked = np.bincount(place, weights=self.clicked.ravel(), minlength=size)
        shown, clicked = shown.reshape(-1, DEPTH), clicked.reshape(-1, DEPTH)
        useful = (np.count_nonzero(shown, 1) > 1) & (clicked.sum(1) > 0)
        return Cells(shown * useful[:, None], clicked * useful[:, None])


def propensities(method: str, log: Log, cells: Cells) -> np.ndarray:
    if method == "em":
        return fitted(cells).propensities
    if method == "randomized":
        return log.clicked.mean(0) / log.clicked.mean(0)[0]
    rate = cells.clicked / np.maximum(cells.shown, 1)
    pairs = [(r, r + 1) if method == "adjacent_chain" else (0, r + 1) for r in range(DEPTH - 1)]
    ratios = []
    for one, other in pairs:
        weight = np.minimum(cells.shown[:, one], cells.shown[:, other])
        rates = [float((weight * rate[:, rank]).sum()) for rank in (one, other)]
        ratios.append((one + 1, other + 1, *rates))
    found = chained(ratios, method)
    return np.array([found.get(rank, np.nan) for rank in range(1, DEPTH + 1)])


def estimated(method: str, log: Log, worth: np.ndarray) -> tuple[float, list[float], np.ndarray]:
    """The value, its error without and with that of the propensities, and these."""
    cells = log.cells
    p = propensities(method, log, cells)
    values = worth.ravel()[log.docs] * log.clicked / p
    slopes = -values.sum(0)[None, :]
    if method == "randomized":
        n = np.full(DEPTH, float(len(log.docs)))
        h, q = rank_influence(n, log.clicked.sum(0), slopes)
        moved = (h[0] * (log.clicked - q)).sum(1)
    else:
        h, q = influence(method, cells, p, slopes)
        rank = np.arange(DEPTH)
        moved = (h[0][log.docs, rank] * (log.clicked - q[log.docs, rank])).sum(1)

    def by_bucket(x: np.ndarray | None) -> np.ndarray:
        return np.bincount(log.bucket, weights=x, minlength=BUCKETS).astype(float)

    sums, counts, pull = by_bucket(values.sum(1)), by_bucket(None), by_bucket(moved)
    value, used = float(sums.sum() / counts.sum()), int(np.count_nonzero(counts))
    plain = (sums - value * counts) / counts.sum()
    errors = [
        float(np.sqrt(used / (used - 1) * np.sum(residual**2)))
        for residual in (plain, plain + pull / counts.sum())
    ]
    return value, errors, p


def coverage(method: str, n: int, repeats: int) -> dict[str, float]:
    """Shares of intervals that hold the truth, and sizes of errors, over so many logs."""
    world, rows = World(), []
    for repeat in range(repeats):
        log = world.log(n, 1000 + repeat, method == "randomized")
        value, errors, p = estimated(method, log, world.worth)
        if not np.isfinite(value):
            continue  # a rank without a propensity: the job refuses it
        ends = [interval(value, se, BUCKETS, 0.95) for se in errors]
        held = [low <= world.value <= high for low, high in ends]
        rows.append([*held, value - world.value, errors[1], np.max(np.abs(p / TRUTH - 1))])
    table = np.array(rows, float)
    return {
        "plain": table[:, 0].mean(),
        "full": table[:, 1].mean(),
        "deviation": table[:, 2].std(),
        "error": table[:, 3].mean(),
        "propensity": float(np.median(table[:, 4])),
        "logs": len(table),
    }


def trend_coverage(buckets: int, lasting: float, repeats: int) -> tuple[float, float]:
    """How often intervals of the change of a day against seven hold 0: with the two as independent
    samples, and by the buckets' differences; lasting: deviation of what a user's bucket keeps."""
    rng, held = np.random.default_rng(11), np.zeros(2)
    for _ in range(repeats):
        kept = rng.normal(0.5, lasting, buckets)
        n = rng.poisson(40, (8, buckets)) + 1
        sums = n * (kept + rng.normal(0, 0.05, (8, buckets)))
        now, before = Arm(sums[0], n[0].astype(float)), Arm(sums[1:].sum(0), n[1:].sum(0) * 1.0)
        change = (now.mean or 0.0) - (before.mean or 0.0)
        apart = [standard_error(arm.residuals, buckets) or 0.0 for arm in (now, before)]
        together = standard_error(now.residuals - before.residuals, buckets)
        for place, se in enumerate((float(np.hypot(*apart)), together)):
            low, high = interval(change, se, buckets, 0.95)
            held[place] += low <= 0 <= high
    return held[0] / repeats, held[1] / repeats


def print_tables(repeats: int, impressions: list[int]) -> None:
    print(
        "| method | impressions | coverage, propensities as known | coverage | deviation | mean error | largest propensity error |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for n in impressions:
        for method in METHODS:
            found = coverage(method, n, repeats)
            print(
                f"| {method} | {n} | {found['plain']:.1%} | {found['full']:.1%} | "
                f"{found['deviation']:.4f} | {found['error']:.4f} | {found['propensity']:.1%} |",
                flush=True,
            )
    print("\n| trend: buckets | users last | coverage, independent | coverage, differences |")
    print("|---:|---|---:|---:|")
    for buckets in (20, 50, 200, 1000):
        for lasting, word in ((0.0, "no"), (0.2, "yes")):
            apart, together = trend_coverage(buckets, lasting, 10 * repeats)
            print(f"| {buckets} | {word} | {apart:.1%} | {together:.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--impressions", default="20000,200000")
    parser.add_argument("--only", default="clicks,comparisons,growth,experiments")
    given = parser.parse_args()
    parts = given.only.split(",")
    if "clicks" in parts:
        print_tables(given.repeats, [int(n) for n in given.impressions.split(",")])
    if "comparisons" in parts:
        simulated_comparisons.print_tables(2 * given.repeats)
    if "growth" in parts:
        simulated_growth.print_tables(max(given.repeats // 4, 1))
    if "experiments" in parts:
        simulated_experiments.print_tables(5 * given.repeats)


if __name__ == "__main__":
    main()
