"""Maximum likelihood of the position-based model: four shapes of truth, an oracle, and links."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from ndcg_spark.clicks.position_kernel import Cells, Links, fitted, relevance_of

RANKS = np.arange(1, 11)
SHAPES = {
    "r^-0.5": RANKS**-0.5,
    "0.9^r": 0.9 ** (RANKS - 1),
    "r^-1.5": RANKS**-1.5,
    "r^-1": 1.0 / RANKS,
    "log": 1 / np.log2(RANKS + 1),
    "steps": np.where(RANKS <= 3, 1.0, np.where(RANKS <= 6, 0.6, 0.3)),
}


def cells(truth, impressions=400_000, queries=40, seed=3, rankers=3, swap=True):
    """Counts of a log of some rankers on each query, documents of very different relevance."""
    rng = np.random.default_rng(seed)
    depth = len(truth)
    relevance = rng.beta(1.2, 2.5, (queries, depth))
    shown, clicked = np.zeros((2, queries, depth, depth))
    for q in range(queries):
        order = np.argsort(-relevance[q] + rng.normal(0, 0.25, depth))
        for ranker in range(rankers):
            if swap and ranker:
                order = np.argsort(np.argsort(order) + rng.normal(0, 2.0, depth))
            n = impressions // queries // rankers
            for rank, doc in enumerate(order):
                shown[q, doc, rank] += n
                clicked[q, doc, rank] += rng.binomial(n, relevance[q, doc] * truth[rank])
    return Cells(shown.reshape(-1, depth), clicked.reshape(-1, depth))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_truth_comes_back(shape):
    """Within 8 percent on every rank, from a start that is none of these shapes."""
    truth = SHAPES[shape]
    found = fitted(cells(truth))
    assert found.converged
    assert found.steps < 30
    assert np.max(np.abs(found.propensities / truth - 1)) < 0.08, found.propensities


@pytest.mark.slow
def test_equal_to_a_general_optimizer():
    data = cells(SHAPES["r^-0.5"], impressions=3000, queries=8)
    kept = (np.count_nonzero(data.shown, axis=1) > 1) & (data.clicked.sum(axis=1) > 0)
    shown, clicked = data.shown[kept], data.clicked[kept]

    def loss(theta):
        p = np.exp(np.concatenate(([0.0], theta[:9])))
        chance = np.clip(p * np.exp(theta[9:])[:, None], 1e-12, 1 - 1e-12)
        return -np.sum(clicked * np.log(chance) + (shown - clicked) * np.log1p(-chance))

    start = np.concatenate((np.log(1 / np.arange(2, 11)), np.full(len(shown), np.log(0.3))))
    bounds = [(-8, 3)] * 9 + [(-8, 0)] * len(shown)
    right = scipy.optimize.minimize(loss, start, bounds=bounds, options={"maxfun": 10**7, "ftol": 1e-15, "maxiter": 10**5})  # fmt: skip
    found = fitted(data)
    assert found.log_likelihood >= -right.fun - 1e-6
    assert found.propensities[1:] == pytest.approx(np.exp(right.x[:9]), rel=2e-3)


def test_relevance_given_propensities():
    rng = np.random.default_rng(1)
    p = 1.0 / np.arange(1, 5)
    shown = rng.integers(0, 50, (200, 4)).astype(float)
    clicked = np.minimum(rng.binomial(shown.astype(int), 0.3), shown)
    shown, clicked = shown[clicked.sum(1) > 0], clicked[clicked.sum(1) > 0]
    found = relevance_of(p, shown, clicked)
    chance = p * found[:, None]
    slope = clicked.sum(1) - ((shown - clicked) * chance / (1 - chance)).sum(1)
    free = (
        found * np.where(shown > 0, p, 0).max(1) < 0.999
    )  # the others are clicked more often than a relevance of 1 allows
    assert np.sum(free) > 150
    assert np.max(np.abs(slope[free])) < 1e-6
    alone = relevance_of(np.array([1.0]), np.array([[10.0]]), np.array([[3.0]]))
    assert alone == pytest.approx([0.3])
    every = relevance_of(np.array([1.0]), np.array([[10.0]]), np.array([[10.0]]))
    assert every == pytest.approx([1.0])


def test_an_end_before_the_end_is_said():
    found = fitted(cells(SHAPES["r^-1.5"], impressions=20_000), most_steps=1)
    assert not found.converged
    assert found.gain > 1e-9


def test_ranks_that_never_vary_are_not_linked():
    same = Links.of(cells(SHAPES["r^-1"], impressions=4000, rankers=1))
    assert not same.varies
    assert same.linked.tolist() == [True] + [False] * 9
    assert fitted(cells(SHAPES["r^-1"], impressions=4000, rankers=1)).propensities[0] == 1.0
    # ranks 1-2 and 3-4 swap, but never across
    shown = np.array([[5, 5, 0, 0], [0, 0, 5, 5], [3, 9, 0, 0], [0, 0, 0, 7]], float)
    two = Links.of(Cells(shown, np.ones_like(shown) * (shown > 0)))
    assert two.linked.tolist() == [True, True, False, False]
    assert two.documents.tolist() == [2, 2, 0, 0]
    chain = np.array([[5, 5, 0, 0], [0, 5, 5, 0], [0, 0, 5, 5]], float)
    assert Links.of(Cells(chain, (chain > 0) * 1.0)).linked.all()
    found = fitted(Cells(shown, np.minimum(shown, 2)))
    assert np.isnan(found.propensities[2:]).all()
