"""Which measure to trust: Sakai's discriminative power, from a matrix of scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ndcg_spark.measures.batch import Array, Ints

CHUNK = 64  # pairs at a time
REDRAWN = 100  # times that the replicates are drawn anew for the error of `required`


@dataclass(frozen=True)
class Power:
    """How well a measure tells systems apart.

    asl: (pairs,) achieved significance levels (two-sided bootstrap t), by pair
    pairs: (a, b), places of systems
    share: of pairs below alpha
    required: the difference of means that was needed for it in this data
    required_se: how far another seed may move it, one standard error
    """

    pairs: list[tuple[int, int]]
    asl: Array
    share: float
    required: float
    required_se: float
    n_queries: int


def power_of(x: Array, alpha: float, replicates: int, seed: int) -> Power:
    """Sakai (2006) of one measure: every pair of systems by the same resampled queries.

    x: (queries, systems) values without gaps, at least two of each

    `required`: of each pair the |mean difference| of the replicate at the alpha quantile of |t*|;
    the largest of these over pairs. Its error is the spread when the replicates are resampled.
    """
    n, systems = x.shape
    scale = float(np.abs(x).max(initial=0.0)) or 1.0
    x = x / scale
    pairs = list(combinations(range(systems), 2))
    random = np.random.default_rng(seed)
    times = np.stack(
        [np.bincount(random.integers(0, n, n), minlength=n) for _ in range(replicates)]
    ).astype(float)
    drawn = random.multinomial(replicates, np.full(replicates, 1 / replicates), REDRAWN)
    times_drawn = np.concatenate([np.ones((1, replicates), np.int64), drawn])
    levels, needed = [], []
    for start in range(0, len(pairs), CHUNK):
        a, b = np.array(pairs[start : start + CHUNK]).T
        d = x[:, b] - x[:, a]
        mean, error = d.mean(axis=0), d.std(axis=0, ddof=1) / np.sqrt(n)
        same = error <= 1e-12
        centred = d - mean
        means = times @ centred / n
        spread = np.maximum(times @ centred**2 / n - means**2, 0.0) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(spread > 0, np.abs(means) / np.sqrt(spread), np.inf)
            observed = np.abs(mean) / error
        hits = np.count_nonzero(t >= observed * (1 - 1e-12), axis=0)
        level = (1 + hits) / (replicates + 1)
        levels.append(np.where(same, np.where(np.abs(mean) > 1e-12, 0.0, 1.0), level))
        needed.append(np.where(same, 0.0, _needed(t, np.abs(means), alpha, times_drawn)))
    asl = np.concatenate(levels)
    required, *others = np.concatenate(needed, axis=1).max(axis=1) * scale
    return Power(
        pairs, asl, float(np.mean(asl < alpha)), float(required), float(np.std(others, ddof=1)), n
    )


def _needed(t: Array, size: Array, alpha: float, times: Ints) -> Array:
    """(draws, pairs) the size at the alpha quantile of |t*|, largest first.

    t, size: (replicates, pairs); times: (draws, replicates) how often each replicate counts
    """
    place = max(int(alpha * len(t)), 1)
    found = np.empty((len(times), t.shape[1]))
    for pair, order in enumerate(np.argsort(-t, axis=0, kind="stable").T):
        reached = np.cumsum(times[:, order], axis=1) >= place
        found[:, pair] = size[order[reached.argmax(axis=1)], pair]
    return found
