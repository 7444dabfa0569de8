"""What intervals and detectable differences of comparisons promise for few queries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ndcg_spark.arrays.replicates import splitmix64
from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.pair_tests import Outcome, poisson_bootstrap, resampled, t_test
from ndcg_spark.comparison.paired_kernel import Design, Sums
from ndcg_spark.stats.sample_size import detectable

Draw = Callable[[np.random.Generator, int], np.ndarray]
REPLICATES = 500


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(0.02, 0.1, n)


def rare(rng: np.random.Generator, n: int) -> np.ndarray:
    """One query in ten changes, and much."""
    changed = np.where(rng.random(n) < 0.1, rng.normal(0.4, 0.1, n), 0.0)
    found: np.ndarray = changed + rng.normal(0, 0.01, n)
    return found


SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (normal, 0.02),
    "one in ten changes": (rare, 0.04),
}


def pair_of(d: np.ndarray, weights: int) -> Pair:
    """What the sums over queries say of these differences."""
    x = np.stack([np.zeros(len(d)), d], axis=1)[:, None, :]
    sums = Sums(Design(2, ((0, 1),), (1.0,), weights=weights))
    hashes = splitmix64(np.arange(len(d), dtype=np.uint64) + d[:1].view(np.uint64))
    sums.add(x, np.ones(x.shape, bool), hashes)
    return Pair.of(sums, 0, 0)


def outcomes(d: np.ndarray) -> tuple[Pair, dict[str, Outcome]]:
    pair = pair_of(d, REPLICATES)
    found = {
        "t": t_test(pair, 0.05),
        "poisson": poisson_bootstrap(pair, 0.05),
        "percentile": resampled(pair, d, 0.05, REPLICATES, 1, False),
        "bca": resampled(pair, d, 0.05, REPLICATES, 1, True),
    }
    return pair, found


def coverage(shape: str, n: int, repeats: int) -> dict[str, float]:
    """How often nominal 95 percent intervals hold the true mean difference; `warned`: how often
    the table says that few queries carry the difference."""
    draw, mean = SHAPES[shape]
    rng, held = np.random.default_rng(n), dict.fromkeys(("t", "poisson", "percentile", "bca"), 0)
    warned = 0
    for _ in range(repeats):
        d = draw(rng, n)
        pair, found = outcomes(d)
        carriers = pair.carriers
        warned += bool(carriers and carriers.few)
        for name, outcome in found.items():
            if outcome.low is not None and outcome.high is not None:
                held[name] += outcome.low <= mean <= outcome.high
    return {**{name: count / repeats for name, count in held.items()}, "warned": warned / repeats}


def real_power(n: int, repeats: int) -> float:
    """How often a t test finds the difference that `mdd` calls detectable with power .8."""
    rng = np.random.default_rng(n)
    found = 0
    for _ in range(repeats):
        d = rng.normal(detectable(0.1, n), 0.1, n)
        found += (t_test(pair_of(d, 0), 0.05).p_value or 0.0) < 0.05
    return found / repeats


def print_tables(repeats: int) -> None:
    print("\n| differences | queries | t | poisson | percentile | bca | warned |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for shape in SHAPES:
        for n in (10, 20, 50, 200):
            own = coverage(shape, n, repeats)
            cells = " | ".join(f"{share:.1%}" for share in own.values())
            print(f"| {shape} | {n} | {cells} |", flush=True)
    print("\n| queries | power of the detectable difference, asked for 80% |")
    print("|---:|---:|")
    for n in (5, 10, 50):
        error = math.sqrt(0.16 / (10 * repeats))
        print(f"| {n} | {real_power(n, 10 * repeats):.1%} +- {error:.1%} |", flush=True)
