"""How often the verdicts of `distinguishability` are right, for rankers of known quality."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from ndcg_spark.distinguish.compute import growing_measures
from ndcg_spark.distinguish.curves_kernel import CurveSums, pairs_of
from ndcg_spark.distinguish.growth_kernel import Growth, grow
from ndcg_spark.distinguish.verdicts import SAME, SEPARATES, UNDECIDED, pairs

RELEVANT, GRID, QUERIES = 0.3, (1000, 2000, 5000), 40
MEASURES = "nDCG,nDCG@n/5,nDCG(dis='power:0.5'),nDCG(dis='exp2'),nDCG@10"
# y(s) = .3 (m + 1) s^m of both rankers: alike, and by how much apart
PAIRS = {"identical": (1.0, 1.0), "close": (1.0, 1.1), "apart": (1.0, 1.5)}


def documents(powers: tuple[float, float], seed: int) -> pa.RecordBatch:
    """QUERIES queries of two rankers with scores drawn given the label."""
    rng, size = np.random.default_rng(seed), GRID[-1]
    label = (rng.random(QUERIES * size) < RELEVANT).astype(float)
    grid = np.linspace(0, 1, 4001)
    scores = []
    for m in powers:
        score = np.empty(len(label))
        good = RELEVANT * (m + 1) * grid**m
        for value, density in ((1.0, good), (0.0, 1 - good)):
            below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
            own = label == value
            score[own] = np.interp(rng.random(np.count_nonzero(own)), below / below[-1], grid)
        scores.append(score)
    offsets = pa.array(np.arange(QUERIES + 1) * size, pa.int32())
    hashes = rng.integers(0, 2**63, len(label))

    def lists(values: np.ndarray) -> pa.Array:
        return pa.ListArray.from_arrays(offsets, pa.array(values))

    return pa.RecordBatch.from_pydict(
        {
            "query_id": [f"q{query}" for query in range(QUERIES)],
            "hash": lists(hashes),
            "label": lists(label),
            "score_0": lists(scores[0]),
            "score_1": lists(scores[1]),
            "repeats": [0] * QUERIES,
        }
    )


def verdicts(powers: tuple[float, float], repeats: int) -> dict[str, Counter[str]]:
    """By measure, how often each verdict is given."""
    measures, gain = growing_measures(MEASURES)
    growth = Growth(("a", "b"), measures, gain, GRID)
    found: dict[str, Counter[str]] = {str(m): Counter() for m in measures}
    for seed in range(repeats):
        sums = CurveSums(growth, pairs_of(growth), GRID[-1])
        for batch in grow(iter([documents(powers, seed)]), growth):
            sums.add(batch)
        for row in pairs(sums, [(0.0, 1 - RELEVANT), (1.0, RELEVANT)]):
            if row["n"] == GRID[-1]:
                found[row["measure"]][row["verdict"]] += 1
    return found


def print_tables(repeats: int) -> None:
    print("\n| rankers | measure | separates | does not | undecided |")
    print("|---|---|---:|---:|---:|")
    for name, powers in PAIRS.items():
        for measure, own in verdicts(powers, repeats).items():
            cells = " | ".join(f"{own[v] / repeats:.0%}" for v in (SEPARATES, SAME, UNDECIDED))
            print(f"| {name} | {measure} | {cells} |", flush=True)
