"""Limits, rates and growing samples without Spark: quadrature, simulation, and by the definition."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.special

from ndcg_spark import theory
from ndcg_spark.distinguish.growth_kernel import EDGES
from ndcg_spark.errors import UsageError

POWERS = {"A": 2, "B": 1, "random": 0}
P = 0.3
NAMES = {
    "log": "log2", "pow0.25": "power:0.25", "pow0.5": "power:0.5", "pow0.75": "power:0.75",
    "pow1.5": "power:1.5", "zipf": "zipf", "exp2": "exp2",
}  # fmt: skip
# 0.4 percent of documents with gain 3, 5 percent with 1; a ranker that is not of the family
GRADED = ((3.0, 0.004), (1.0, 0.05), (0.0, 0.946))


def graded(s):
    return 0.02 + 0.6 * s**8


def expected():
    """Simulated means with errors, made apart from this code: measure, ranker, n, …"""
    with open(Path(__file__).parent / "theory_expected.csv") as file:
        for row in csv.DictReader(file):
            if row["se"]:
                name, _, cutoff = row["measure"].partition("@")
                yield row, NAMES[name], cutoff or None


@pytest.mark.parametrize("b", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("ranker", POWERS)
def test_limits_of_powers(b, ranker):
    m = POWERS[ranker]
    y, shares = theory.power_family(m)
    closed = (1 - b) * P ** (b - 1) * P * (m + 1) * scipy.special.beta(m + 1, 1 - b)
    assert theory.limit(y, shares, f"power:{b}") == pytest.approx(closed, abs=1e-9)


@pytest.mark.parametrize(
    ("ranker", "values"),
    [
        ("A", (0.922701, 0.876356, 0.864768, 0.9, 0.732, 0.7872)),
        ("B", (0.845809, 0.730297, 0.648576, 0.6, 0.54, 0.56)),
        ("random", (0.740083, 0.547723, 0.405360, 0.3, 0.3, 0.3)),
    ],
)
def test_the_published_limits(ranker, values):
    y, shares = theory.power_family(POWERS[ranker])
    asked = [("power:0.25", None), ("power:0.5", None), ("power:0.75", None), ("zipf", None),
             ("log2", "n/5"), ("power:0.5", "n/5")]  # fmt: skip
    found = [theory.limit(y, shares, *what) for what in asked]
    assert found == pytest.approx(values, abs=1e-6)
    assert theory.limit(y, shares) == 1.0
    assert theory.limit(y, shares, "log2", "sqrt(n)") == pytest.approx(values[3])
    for none in (("exp2", None), ("power:1.5", None), ("log2", 10)):
        assert theory.limit(y, shares, *none) is None


@pytest.mark.parametrize("cutoff", [None, "n/5", "n/100"])
@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.8])
def test_limits_of_grades_against_quadrature(b, cutoff):
    to = {None: 1.0, "n/5": 0.2, "n/100": 0.01}[cutoff]
    top = scipy.integrate.quad(lambda u: graded(1 - u), 0, to, weight="alg", wvar=(-b, 0))[0]
    edges = np.minimum(np.cumsum([0, *(share for _, share in GRADED)]), to)
    ideal = sum(
        g * (e ** (1 - b) - s ** (1 - b)) / (1 - b)
        for (g, _), s, e in zip(GRADED, edges, edges[1:], strict=False)
    )
    name = f"power:{b}" if b else "none"
    assert theory.limit(graded, GRADED, name, cutoff) == pytest.approx(top / ideal, rel=1e-8)


def test_three_labels():
    shares = ((2, 0.02), (1, 0.20), (0, 0.78))
    found = theory.limit(lambda s: 0.24 + 0 * s, shares, "power:0.5")
    assert found == pytest.approx(0.393144, abs=1e-6)


def test_a_pure_top_converges():
    pure = lambda s: (s > 0.9).astype(float)  # noqa: E731
    for what in (("exp2", None), ("power:2", None), ("log2", 10)):
        assert theory.limit(pure, ((1.0, 0.1), (0.0, 0.9)), *what) == 1.0


def test_no_label_has_a_gain():
    for call in (theory.limit, theory.log_constant):
        with pytest.raises(UsageError, match="undefined"):
            call(lambda s: 0 * s, ((0.0, 1.0),))
    with pytest.raises(UsageError, match="undefined"):
        theory.expected_random([0, 0, 0])


@pytest.mark.parametrize(("ranker", "c"), [("A", 0.370639), ("B", 0.703973), ("random", 1.203973)])
def test_the_rate_of_the_log_discount(ranker, c):
    m = POWERS[ranker]
    y, shares = theory.power_family(m)
    first, second = theory.log_constant(y, shares)
    harmonic = sum(1 / i for i in range(1, m + 2))
    assert first == pytest.approx(1 - math.log(P) - harmonic, abs=1e-8)
    assert first == pytest.approx(c, abs=1e-6)
    # (1 - nDCG) ln n at ln n = 10^4, by integration: .37067, .70405, 1.20409
    at = {"A": 0.37067, "B": 0.70405, "random": 1.20409}[ranker]
    assert first - second / 1e4 == pytest.approx(at, abs=6e-6)
    assert 1 - first / -math.log(P) == pytest.approx(
        {"A": 0.6922, "B": 0.4153, "random": 0.0}[ranker], abs=1e-4
    )


def test_moments_of_grades_against_quadrature():
    first, _ = theory.log_constant(graded, GRADED)
    mean = sum(g * share for g, share in GRADED)
    own = scipy.integrate.quad(lambda u: graded(1 - u) * math.log(u), 0, 1, limit=200)[0]
    ideal = sum(
        g * scipy.integrate.quad(math.log, start, start + share)[0]
        for (g, share), start in zip(GRADED, (0, 0.004, 0.054), strict=True)
    )
    assert first == pytest.approx((own - ideal) / mean, rel=1e-7)


def test_values_at_a_million_documents():
    for ranker, zipf in (("A", 0.879799), ("B", 0.609279), ("random", 0.327386)):
        y, shares = theory.power_family(POWERS[ranker])
        assert theory.at_size(y, shares, 1e6, "zipf") == pytest.approx(zipf, abs=1e-6)
        for b in (0.25, 0.5, 0.75):
            right = theory.pseudo_expectation(y, shares, 10**6, f"power:{b}")
            assert theory.at_size(y, shares, 1e6, f"power:{b}") == pytest.approx(right, abs=2e-6)
        log = theory.pseudo_expectation(y, shares, 10**6)
        assert theory.at_size(y, shares, 1e6, "log2") == pytest.approx(log, abs=3e-3)
    assert theory.at_size(y, shares, 1e6, "exp2") is None


@pytest.mark.slow
def test_pseudo_expectations():
    checked = 0
    for row, dis, cutoff in expected():
        if row["ranker"] not in POWERS or (cutoff == "sqrt(n)" and int(row["n"]) == 1000):
            continue  # sqrt(1000) is 31 here, 32 there
        y, shares = theory.power_family(POWERS[row["ranker"]])
        found = theory.pseudo_expectation(y, shares, int(row["n"]), dis, cutoff)
        assert found == pytest.approx(float(row["pseudo_expectation"]), abs=1e-6), row
        checked += 1
    assert checked > 150


def test_the_expected_value_of_a_random_order():
    for gains, (dis, k) in itertools.product(
        ([1, 1, 0, 0, 0], [3, 1, 0, 2, 0]), (("log2", None), ("exp2", 3), ("power:0.5", "n/2"))
    ):
        depth = {None: 5, 3: 3, "n/2": 2}[k]
        weight = [
            {"log2": 1 / math.log2(r + 1), "exp2": 2.0**-r, "power:0.5": r**-0.5}[dis]
            for r in range(1, depth + 1)
        ]
        ideal = sum(g * w for g, w in zip(sorted(gains, reverse=True), weight, strict=False))
        every = [
            sum(g * w for g, w in zip(order, weight, strict=False)) / ideal
            for order in itertools.permutations(gains)
        ]
        found = theory.expected_random(gains, dis, k)
        assert found == pytest.approx(np.mean(every))
    assert theory.corrected(0.9, 0.5) == pytest.approx(0.8)
    assert theory.corrected(1.0, 1.0) is None


def test_noise_that_stays():
    for ranker, values in (
        ("A", (0.1732, 0.1259, 0.1043)),
        ("B", (0.2828, 0.2056, 0.1703)),
        ("random", (0.2646, 0.1923, 0.1593)),
    ):
        q = P * (POWERS[ranker] + 1)
        found = [theory.noise(q, "exp2"), theory.noise(q, "power:1.5"), theory.noise(q, "log2", 10)]
        assert found == pytest.approx(values, abs=1e-4)
    for k, factor in ((5, 0.4776), (10, 0.3476), (20, 0.2509), (100, 0.1127)):
        assert 2 * theory.noise(0.5, "log2", k) == pytest.approx(factor, abs=1e-4)
    assert theory.noise(0.5, "log2") is None
    assert theory.zeta(1.5) == pytest.approx(scipy.special.zeta(1.5), rel=1e-10)
    exponents = [
        theory.growth_exponent(*what)
        for what in (
            ("log2",),
            ("power:0.75",),
            ("zipf",),
            ("exp2",),
            ("log2", 10),
            ("log2", "sqrt(n)"),
            ("power:0.75", "n/5"),
            ("power:0.25", "n/5"),
            ("power:0.75", "sqrt(n)"),
        )
    ]
    assert exponents == [0.5, 0.25, None, 0.0, 0.0, 0.25, 0.25, 0.5, 0.125]


SLOPES = [(b, cutoff) for b in (0.0, 0.25, 0.5, 0.75, 0.9) for cutoff in (None, "n/5", "sqrt(n)")]


def _signal_to_noise(b, cutoff, n, random=None, repeats=800):
    """Of DCG between two rankers whose labels are drawn by rank; without `random` in closed form."""
    k = {None: n, "n/5": n // 5, "sqrt(n)": int(n**0.5)}[cutoff]
    rank = np.arange(1, k + 1)
    weight = 1 / np.log2(rank + 1) if b == 0 else rank**-b
    s = 1 - (rank - 0.5) / n
    better, worse = 0.9 * s**2, 0.6 * s
    if random is None:
        noise = better * (1 - better) + worse * (1 - worse)
        return np.sum(weight * (better - worse)) / math.sqrt(np.sum(weight**2 * noise))
    gaps = [
        np.sum(((random.random(k) < better) * 1.0 - (random.random(k) < worse)) * weight)
        for _ in range(repeats)
    ]
    return np.mean(gaps) / np.std(gaps)


def _slope(sizes, values):
    return np.polyfit(np.log(sizes), np.log(values), 1)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("b", "cutoff"), SLOPES)
def test_growth_by_simulation_and_by_sums(b, cutoff):
    """Simulated signal to noise grows as its closed form does, and that approaches the exponent."""
    random, sizes = np.random.default_rng(7), (2000, 8000, 32_000)
    simulated = _slope(sizes, [_signal_to_noise(b, cutoff, n, random) for n in sizes])
    exact = _slope(sizes, [_signal_to_noise(b, cutoff, n) for n in sizes])
    assert simulated == pytest.approx(exact, abs=0.06)
    name = "log2" if b == 0 else f"power:{b}"
    large = (2_000_000, 8_000_000)
    late = _slope(large, [_signal_to_noise(b, cutoff, n) for n in large])
    limit = theory.growth_exponent(name, cutoff)
    # logarithms and the first ranks fade slowly: what is left must shrink
    assert abs(late - limit) < 0.1
    assert abs(late - limit) <= abs(exact - limit) + 0.02


def test_plug_in_limits():
    y, shares = theory.power_family(2)
    means = [
        scipy.integrate.quad(lambda u: y(1 - u), low, high)[0] / (high - low)
        for low, high in itertools.pairwise(EDGES)
    ]
    for dis, cutoff in (("power:0.5", None), ("power:0.25", None), ("log2", "n/5")):
        right = theory.limit(y, shares, dis, cutoff)
        assert theory.plug_in(EDGES, means, shares, dis, cutoff) == pytest.approx(right, abs=2e-3)
    assert theory.plug_in(EDGES, means, shares, "log2", None) == 1.0
    for none in (("zipf", None), ("log2", 10), ("exp2", None), ("log2", "sqrt(n)")):
        assert theory.plug_in(EDGES, means, shares, *none) is None
    step = theory.step_curve(EDGES, means)
    assert step(np.array([1.0, 0.0])) == pytest.approx([means[0], means[-1]])


# growing samples
