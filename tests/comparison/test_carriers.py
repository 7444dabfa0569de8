"""How few queries carry a difference, and what the table then says."""

from __future__ import annotations

import numpy as np
import pytest

from ndcg_spark.comparison import carriers_kernel as carriers
from ndcg_spark.comparison.options import CompareOptions
from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.power_kernel import power_of
from ndcg_spark.comparison.table import Found, Names, comparison
from tests.comparison.test_pair_tests import sums
from tools.simulated_comparisons import coverage


@pytest.mark.parametrize("n", [51, 400, 20_000])
@pytest.mark.parametrize("kind", ["normal", "rare", "few", "tiny", "one"])
def test_sizes_tell_what_all_differences_do(n, kind):
    """Against the definition: sort all squares, add up the largest twentieth."""
    random = np.random.default_rng(n)
    d = {
        "normal": random.normal(0.1, 0.2, n).clip(-1, 1),
        "rare": np.where(random.random(n) < 0.08, 0.7, random.normal(0, 0.01, n)),
        "few": np.where(np.arange(n) < 3, 0.9, 0.0),
        "tiny": random.normal(0, 1e-7, n),
        "one": np.where(np.arange(n) == 7, 0.3, 0.0),
    }[kind]
    pair = Pair.of(sums([np.zeros(n), d]), 0, 0)
    found = pair.carriers
    squares = np.sort(d**2)[::-1]
    share = squares[: int(np.ceil(n / 20))].sum() / squares.sum()
    assert found.top_share == pytest.approx(share, abs=0.03)
    needed = np.searchsorted(np.cumsum(squares), 0.9 * squares.sum() * (1 - 1e-9)) + 1
    assert found.queries == pytest.approx(needed, rel=0.06, abs=1)
    exact = carriers.of_all(d)
    assert exact.top_share == pytest.approx(share, abs=1e-9)
    assert exact.queries == pytest.approx(needed, abs=1)
    assert found.few == (kind in ("few", "one") or (kind == "rare" and n == 51 and share > 0.5))


def test_few_queries_are_taken_exactly():
    d = np.array([0.5] + [0.01, -0.01] * 10)
    found = Pair.of(sums([np.zeros(21), d]), 0, 0).carriers
    squares = np.sort(d**2)[::-1]
    assert found.top_share == pytest.approx(squares[:2].sum() / squares.sum(), rel=1e-9)
    assert Pair.of(sums([np.zeros(9), np.full(9, 0.1)]), 0, 0).carriers is None  # nothing differs


def notes(d, test, **design):
    names = Names(("a", "b"), ("nDCG",), ((0, 1),))
    own = Found({"all": sums([np.zeros(len(d)), d], **design)}, {})
    (row,) = comparison(own, names, test, CompareOptions())
    return row["note"] or "", row["top_share"]


def test_the_table_says_that_few_queries_carry_the_difference():
    random = np.random.default_rng(1)
    rare = np.where(np.arange(60) < 5, 0.6, random.normal(0, 0.01, 60))
    note, share = notes(rare, "t")
    assert "rough p and interval: 5 of 60 queries carry 90%" in note
    assert share > 0.5
    assert "rough interval" in notes(rare, "fisher", signs=1000)[0]
    plain = random.normal(0.1, 0.1, 60)
    assert notes(plain, "t")[0] == ""
    note, share = notes(plain[:30], "bootstrap", weights=200)
    assert "the interval is short for 30 queries" in note
    assert 0.1 < share < 0.5
    assert "short" not in notes(plain, "bootstrap", weights=200)[0]


def test_so_many_pairs_that_sizes_are_not_counted():
    n = carriers.MOST_COLUMNS + 1
    found = sums([np.zeros(60), np.arange(60) / 60], pairs=((0, 1),) * n)
    assert found.totals.doubles("sizes").size == 0
    assert Pair.of(found, 0, 0).carriers is None


@pytest.mark.slow
def test_the_warning_stands_where_intervals_are_short():
    """Rare large changes: Student's interval of 50 queries holds 90 percent, and is marked."""
    own = coverage("one in ten changes", 50, 150)
    assert own["t"] < 0.945
    assert own["warned"] > 0.8
    own = coverage("normal", 50, 150)
    assert own["t"] > 0.9
    assert own["warned"] < 0.05


@pytest.mark.parametrize(("n", "systems"), [(50, 5), (200, 6)])
def test_the_required_difference_moves_with_the_seed_as_far_as_it_says(n, systems):
    random = np.random.default_rng(0)
    x = random.random((n, 1)) + 0.2 * random.normal(size=(n, systems))
    found = [power_of(x, 0.05, 1000, seed) for seed in range(25)]
    spread = np.std([own.required for own in found], ddof=1)
    said = np.mean([own.required_se for own in found])
    assert 0.6 * spread < said < 1.8 * spread
