"""Values of any size: one width of a tie, and no arithmetic that fails."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_spark.arrays import replicates
from ndcg_spark.comparison.compute import _scale
from ndcg_spark.comparison.options import TESTS, CompareOptions
from ndcg_spark.comparison.paired_kernel import SMALL, Design, Sums
from ndcg_spark.comparison.table import Found, Names, comparison, every_pair


def compared(systems, test, **options):
    """The rows of one test of these systems (systems, queries), without an engine."""
    x = np.asarray(systems, float).T[:, None, :]
    names = Names(tuple(f"s{i}" for i in range(x.shape[2])), ("M",), ((0, 1),))
    scale = _scale({("s", "M"): {"largest": float(np.abs(x).max())}}, "M")
    together = "tukey" in test
    pairs = every_pair(names) if together else names.pairs
    own = CompareOptions(replicates=40, detect=0.01, **options)
    design = Design(x.shape[2], pairs, (scale,), together, signs=40, weights=40, permutations=40)
    sums = Sums(design)
    hashes = replicates.splitmix64(np.arange(len(x), dtype=np.uint64))
    sums.add(x, np.ones(x.shape, bool), hashes)
    return comparison(Found({"all": sums}, {}, x), names, test, own)


SIZES = st.sampled_from([2, 3, 10, SMALL, SMALL + 10])
EXPONENTS = st.integers(-300, 300)


@given(SIZES, EXPONENTS, st.sampled_from(["spread", "alike", "near", "one", "zero"]), st.data())
@settings(max_examples=25, deadline=None)
def test_no_input_fails(n, exponent, kind, data):
    scale = 10.0**exponent
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    base = rng.uniform(0, 1, (3, n))
    if kind == "alike":
        base[1:] = base[0]
    elif kind == "near":
        base[1:] = base[0] + rng.choice([-4e-10, 4e-10, 0], (2, n))
    elif kind == "one":
        base[1:] = base[0]
        base[1, 0] += 0.5
    elif kind == "zero":
        base[:] = 0.0
    for test in TESTS:
        for row in compared(base * scale, test):
            p = row["p_value"]
            assert p is None or 0 <= p <= 1
            for name in ("delta", "std_delta", "ci_low", "ci_high", "mdd", "effect_size"):
                assert row[name] is None or np.isfinite(row[name]), (test, name)


@pytest.mark.parametrize("test", [t for t in TESTS if t != "tukey"])
def test_a_power_of_two_changes_no_p(test):
    rng = np.random.default_rng(2)
    for n in (8, 30, 80):
        systems = np.round(rng.uniform(0, 1, (3, n)), 1) * 0.99
        (plain,) = compared(systems, test)
        for exponent in (-900, -33, -1, 1, 40, 900):
            (row,) = compared(systems * 2.0**exponent, test)
            assert row["p_value"] == plain["p_value"]
            assert (row["wins"], row["losses"]) == (plain["wins"], plain["losses"])
            assert row["ci_low"] == pytest.approx(plain["ci_low"] * 2.0**exponent, rel=1e-12)


def test_wins_and_ranks_have_one_width():
    """A difference is a tie for the counts where it is one for the ranks."""
    for largest, d in itertools.product((0.3, 1.0, 5.0, 1e-10, 1e6), (0.4e-9, 0.6e-9)):
        scale = 2.0 ** np.ceil(np.log2(largest))
        base = np.full(12, largest) - scale * d
        (row,) = compared([base, base + scale * d * np.array([1, -1] * 6)], "wilcoxon")
        tied = d < 0.5e-9
        assert row["wins"] == (0 if tied else 6), (largest, d)
        assert (row["note"] == "no query differs") == tied
        (exact,) = compared([base, base + scale * d], "wilcoxon")
        assert exact["wins"] == (0 if tied else 12)


def test_what_used_to_fail():
    tiny = np.random.default_rng(1).uniform(0, 1e-10, (2, 60))
    (row,) = compared(tiny, "wilcoxon")  # many queries need Spark's ranks: here there are none
    assert row["p_value"] == 1.0
    (row,) = compared([[0.5, 0.5], [0.5 + 4e-10, 0.5 - 4e-10]], "wilcoxon")
    assert (row["p_value"], row["note"]) == (1.0, "no query differs")
