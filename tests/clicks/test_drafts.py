"""Interleaved lists: against a slow reference, by hand, and what clicks on them say."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcg_spark as nd
from ndcg_spark.clicks.drafts_kernel import NONE, drafted

RUN = "query_id string, doc_id string, score double"


def slow(a, b, coins, depth):
    """One query, as the paper says it."""
    shown = []
    for coin in coins:
        for team in (coin, 1 - coin):
            rest = [d for d in (a, b)[team] if d not in [x for x, _ in shown]]
            if rest and len(shown) < depth:
                shown.append((rest[0], team))
    return shown


@pytest.mark.parametrize("seed", range(30))
def test_as_the_paper_says_it(seed):
    rng = random.Random(seed)
    n, depth = rng.randint(1, 40), rng.randint(1, 8)
    wanted, coins = np.full((2, n, depth), NONE), np.zeros((n, depth), int)
    expected = []
    for query in range(n):
        documents = [100 * query + k for k in range(rng.randint(0, 9))]
        own = [rng.sample(documents, rng.randint(0, len(documents)))[:depth] for _ in (0, 1)]
        for team in (0, 1):
            wanted[team, query, : len(own[team])] = own[team]
        coins[query] = [rng.randint(0, 1) for _ in range(depth)]
        expected.append(slow(*own, coins[query].tolist(), depth))
    found, owner = drafted(wanted, coins)
    for query in range(n):
        size = int((found[query] != NONE).sum())
        assert list(zip(found[query, :size], owner[query, :size], strict=True)) == expected[query]
        assert (found[query, size:] == NONE).all()


def lists(rows):
    found = {}
    for row in sorted(rows, key=lambda r: (r["query_id"], r["rank"])):
        found.setdefault(row["query_id"], []).append((row["rank"], row["doc_id"], row["team"]))
    return found


@pytest.mark.every_engine
def test_lists_of_two_runs(spark):
    queries = [f"q{i}" for i in range(200)]
    a = [(q, d, -float(i)) for q in queries for i, d in enumerate("abcdef")]
    b = [(q, d, -float(i)) for q in queries for i, d in enumerate("cagbxy")]
    b += [("only b", "z", 1.0), ("only b", "z", 2.0), ("only b", "n", float("nan"))]
    runs = spark.createDataFrame(a, RUN), spark.createDataFrame(b, RUN)
    found = lists(nd.clicks.team_draft(*runs, 7, depth=5).collect())
    assert found["only b"] == [(1, "z", "B"), (2, "n", "B")]
    first = set()
    for query in queries:
        own = found[query]
        assert [rank for rank, _, _ in own] == [1, 2, 3, 4, 5]
        assert len({doc for _, doc, _ in own}) == 5
        assert sorted(team for _, _, team in own[:4]) == ["A", "A", "B", "B"]  # two rounds
        first.add(tuple(own[:2]))
    assert first == {((1, "a", "A"), (2, "c", "B")), ((1, "c", "B"), (2, "a", "A"))}
    scattered = [run.repartition(5) for run in runs]
    assert lists(nd.clicks.team_draft(*scattered, 7, depth=5).collect()) == found
    assert lists(nd.clicks.team_draft(*runs, 8, depth=5).collect()) != found


@pytest.mark.every_engine
def test_minus_zero_is_zero(spark):
    run = spark.createDataFrame([("q", "a", 0.0), ("q", "b", -0.0), ("q", "c", -1.0)], RUN)
    found = lists(nd.clicks.team_draft(run, run).collect())["q"]
    assert [doc for _, doc, _ in found] == ["b", "a", "c"]  # equal scores by descending doc_id


def clicked(wanted, click, rounds=400):
    """The mean of clicks on A less clicks on B, and its error, over many coins."""
    rng = np.random.default_rng(3)
    _, n, depth = wanted.shape
    differences = []
    for _ in range(rounds):
        found, owner = drafted(wanted, rng.integers(0, 2, (n, depth)))
        clicks = click(found, rng) & (found != NONE)
        differences.append(np.where(owner == 0, clicks, -1 * clicks).sum(axis=1))
    each = np.array(differences, float).ravel()
    return each.mean(), each.std() / np.sqrt(len(each))


@pytest.mark.parametrize("seed", range(5))
def test_a_random_clicker_prefers_no_team(seed):
    rng = np.random.default_rng(seed)
    own = [np.stack([100 * q + rng.permutation(12)[:6] for q in range(50)]) for _ in (0, 1)]
    mean, error = clicked(np.stack(own), lambda found, rng: rng.random(found.shape) < 0.3)
    assert abs(mean) < 4 * error
    # the counter-example to balanced interleaving: A = abc, B = bca
    mean, error = clicked(
        np.array([[[0, 1, 2]], [[1, 2, 0]]]), lambda found, rng: rng.random(found.shape) < 0.3, 5000
    )
    assert abs(mean) < 4 * error


def test_the_better_ranker_wins():
    """Three of six documents are clicked half of the time; A has them first, B in any order."""
    rng = np.random.default_rng(1)
    good = np.arange(50)[:, None] * 100 + np.arange(6)
    other = np.stack([rng.permutation(row) for row in good])

    def click(found, rng):
        return (found % 100 < 3) & (rng.random(found.shape) < 0.5)

    mean, error = clicked(np.stack([good, other]), click, 50)
    assert mean > 10 * error > 0
    swapped, _ = clicked(np.stack([other, good]), click, 50)
    assert swapped < -10 * error


def test_what_is_refused(spark):
    run = spark.createDataFrame([("q", "d", 1.0)], RUN)
    for depth in (0, 1001):
        with pytest.raises(nd.UsageError, match=f"between 1 and 1000, not {depth}"):
            nd.clicks.team_draft(run, run, depth=depth)
    other = spark.createDataFrame([("q", 1, 1.0)], RUN.replace("doc_id string", "doc_id bigint"))
    with pytest.raises(nd.InputError, match="E140"):
        nd.clicks.team_draft(run, other)
    with pytest.raises(nd.InputError, match="E110"):
        nd.clicks.team_draft(run, run.drop("score"))
