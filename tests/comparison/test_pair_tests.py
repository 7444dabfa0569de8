"""The statistics of comparisons, without Spark: worked numbers, scipy, and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from ndcg_spark.arrays import replicates
from ndcg_spark.comparison import options, tukey
from ndcg_spark.comparison import pair_tests as tests
from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.pair_tests import Ranks
from ndcg_spark.comparison.paired_kernel import Design, Sums
from ndcg_spark.comparison.power_kernel import power_of
from ndcg_spark.comparison.table import _correct
from ndcg_spark.errors import UsageError
from ndcg_spark.stats.agreement import kendall_tau_b, rbo, tau_ap
from ndcg_spark.stats.corrections import adjusted
from ndcg_spark.stats.distributions import exact_power, f_above, t_two_sided
from ndcg_spark.stats.sample_size import detectable, hedges, sample_size

A = [0.82, 0.41, 0.63, 0.90, 0.55, 0.30, 0.77, 0.68, 0.49, 0.71]
B = [0.75, 0.45, 0.52, 0.84, 0.47, 0.30, 0.70, 0.55, 0.50, 0.60]
C = [0.70, 0.40, 0.55, 0.80, 0.50, 0.22, 0.66, 0.60, 0.42, 0.58]
WORKED = np.array([A, B, C])
# Sakai's example (table 5.1 of his book on evaluation, as public examples show it)
SAKAI = np.array(
    [
        [.7, .3, .2, .6, .4, .4, .0, .7, .1, .3, .5, .4, .0, .6, .5, .3, .1, .5, .2, .1],
        [.5, .1, .0, .2, .4, .3, .0, .5, .3, .3, .4, .4, .1, .4, .2, .1, .1, .6, .3, .2],
        [.0, .0, .2, .1, .3, .3, .1, .2, .4, .4, .4, .3, .3, .2, .2, .2, .1, .5, .4, .3],
    ]
)  # fmt: skip


def sums(systems, pairs=None, hashes=None, present=None, **design):
    """The sums of one measure; systems: (systems, queries)."""
    x = np.asarray(systems, float).T[:, None, :]
    pairs = pairs or tuple(itertools.combinations(range(x.shape[2]), 2))
    if hashes is None:
        hashes = replicates.splitmix64(np.arange(len(x), dtype=np.uint64))
    found = Sums(Design(x.shape[2], pairs, (1.0,), **design))
    present = np.ones(x.shape, bool) if present is None else present
    for start in range(0, len(x), 1000):
        part = slice(start, start + 1000)
        found.add(x[part], present[part], hashes[part])
    return found


def pairs_of(found):
    return {pair: Pair.of(found, 0, i) for i, pair in enumerate(found.design.pairs)}


def a_minus_b(**design):
    return Pair.of(sums([B, A], **design), 0, 0)


def test_b1_paired_t():
    found = tests.t_test(a_minus_b(), 0.05)
    assert found.statistic == pytest.approx(3.233330, abs=1e-6)
    assert found.p_value == pytest.approx(0.010268, abs=1e-6)
    assert (found.low, found.high) == pytest.approx((0.017421, 0.098579), abs=1e-6)
    right = scipy.stats.ttest_rel(A, B)
    assert found.p_value == pytest.approx(right.pvalue, rel=1e-9)


@pytest.mark.parametrize("df", [1, 3, 30, 9_000, 11_000, 10**6])
@pytest.mark.parametrize("t", [0.01, 0.9, 2.0, 5.0, 30.0])
def test_t_and_f_probabilities(t, df):
    right = 2 * scipy.stats.t.sf(t, df)
    assert t_two_sided(t, df) == pytest.approx(right, rel=1e-6 if df > 1e4 else 1e-9)
    assert f_above(t, 2, df) == pytest.approx(scipy.stats.f.sf(t, 2, df), rel=1e-8)


def test_b2_wilcoxon():
    pair = a_minus_b()
    found = tests.wilcoxon(pair, None, "wilcox", 0.05)
    assert (found.statistic, found.p_value) == pytest.approx((3.0, 0.01953125))
    assert found.effect == pytest.approx(0.866667, abs=1e-6)
    # all sign patterns of the ranks, zeros kept: what scipy enumerates
    d = np.round(np.subtract(A, B), 9)
    every = scipy.stats.PermutationMethod(n_resamples=np.inf)
    right = scipy.stats.wilcoxon(d, zero_method="pratt", method=every)
    found = tests.wilcoxon(pair, None, "pratt", 0.05)
    assert (found.statistic, found.p_value) == pytest.approx((5.0, right.pvalue))


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@pytest.mark.parametrize("n", [60, 4000])
def test_b2_wilcoxon_by_the_normal(n, zeros):
    random = np.random.default_rng(n)
    x = np.round(random.random((2, n)), 1)
    d = np.round(x[1] - x[0], 9)
    size, times = np.unique(np.abs(d), return_counts=True)
    ranks = scipy.stats.rankdata(np.abs(d) if zeros == "pratt" else np.where(d == 0, -1, np.abs(d)))
    if zeros == "wilcox":
        ranks -= np.count_nonzero(d == 0)
    given = Ranks(
        round(2 * ranks[d > 0].sum()),
        round(2 * ranks[d < 0].sum()),
        float(sum(t**3 - t for s, t in zip(size, times, strict=True) if s > 0)),
    )
    found = tests.wilcoxon(Pair.of(sums(x), 0, 0), given, zeros, 0.05)
    right = scipy.stats.wilcoxon(d, zero_method=zeros, method="approx")
    assert (found.statistic, found.p_value) == pytest.approx((right.statistic, right.pvalue))


def test_b2_the_worked_normal_value():
    d = np.round(np.subtract(A, B), 9)
    assert scipy.stats.wilcoxon(d, method="approx").pvalue == pytest.approx(0.020655, abs=1e-6)


def test_b3_fisher():
    assert tests.fisher(a_minus_b(), 0.05).p_value == 0.015625
    d = np.subtract(A, B)
    drawn = a_minus_b(signs=100_000)
    many = tests.fisher(_as_if_large(drawn), 0.05)
    assert many.p_value == pytest.approx(0.015625, abs=4 * math.sqrt(0.0156 / 1e5))
    normal = tests.fisher(_as_if_large(a_minus_b()), 0.05)
    z = d.sum() / math.sqrt(np.sum(d**2))
    assert normal.p_value == pytest.approx(2 * scipy.stats.norm.sf(z), rel=1e-9)
    assert normal.p_value == pytest.approx(0.020441, abs=1e-6)


def _as_if_large(pair):
    """The pair without its kept differences: what the tests see of more than 50 queries."""

    class Large(Pair):
        kept = None

    return Large(**{name: getattr(pair, name) for name in pair.__dataclass_fields__})


def test_b3_a_rounded_difference_breaks_no_tie():
    """One query differs: every sign gives as large a sum, however that is rounded."""
    for d in (0.2, 0.1, 0.7, 1 / 3):
        found = sums([[0.0] * 60, [d] + [0.0] * 59], signs=1000)
        outcome = tests.fisher(Pair.of(found, 0, 0), 0.05)
        assert outcome.note == "sampled"
        assert outcome.p_value == 1.0


@pytest.mark.slow
def test_b4_bootstrap():
    pair, d = a_minus_b(weights=20_000), np.subtract(A, B)
    found = tests.poisson_bootstrap(pair, 0.05)
    random = np.random.default_rng(1)
    w = random.poisson(1.0, (20_000, 10))
    means = w @ d / np.maximum(w.sum(axis=1), 1)
    right = np.quantile(means[w.sum(axis=1) > 1], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(tuple(right), abs=0.0025)
    percentile = tests.resampled(pair, d, 0.05, 20_000, 0, corrected=False)
    assert (percentile.low, percentile.high) == pytest.approx((0.0230, 0.0900), abs=0.0015)
    assert percentile.p_value == pytest.approx(0.02656, abs=0.005)
    bca = tests.resampled(pair, d, 0.05, 20_000, 0, corrected=True)
    right = scipy.stats.bootstrap(
        (d,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(3)
    ).confidence_interval
    assert (bca.low, bca.high) == pytest.approx((right.low, right.high), abs=0.0015)
    assert (bca.low, bca.high) == pytest.approx((0.0210, 0.0880), abs=0.0015)


def test_b4_the_level_counts_the_observed():
    """(1 + hits) / (B + 1): every replicate as far away gives 1, none gives the least."""
    pair = a_minus_b()
    delta, std = pair.spread
    error = np.full(9, (std / math.sqrt(pair.n)) ** 2)
    assert tests.studentized_p(pair, np.full(9, delta + 10 * abs(delta)), error) == 1.0
    assert tests.studentized_p(pair, np.full(9, delta), error) == pytest.approx(0.1)


def test_b5_blocked_tukey():
    pairs = pairs_of(sums(WORKED, complete=True))
    table = tukey.anova(pairs, 3)
    assert table.residual == pytest.approx(0.00110407, abs=1e-8)
    assert (table.f, table.p_value) == pytest.approx((16.42, 8.7e-5), abs=6e-3)
    assert table.p_value == pytest.approx(8.7e-5, abs=1e-6)
    found = {pair: tukey.tukey(own, table, 0.05) for pair, own in pairs.items()}
    assert found[0, 1].statistic == pytest.approx(5.5199, abs=1e-4)
    for pair, p in (((0, 1), 0.002847), ((0, 2), 0.000076), ((1, 2), 0.238879)):
        assert found[pair].p_value == pytest.approx(p, abs=1e-6)
    assert abs(found[0, 1].effect) == pytest.approx(1.7455, abs=1e-4)


def test_sakais_published_effect_sizes():
    pairs = pairs_of(sums(SAKAI, complete=True))
    table = tukey.anova(pairs, 3)
    effects = [abs(tukey.tukey(own, table, 0.05).effect) for own in pairs.values()]
    assert effects == pytest.approx([0.5070, 0.6760, 0.1690], abs=5e-5)


@pytest.mark.slow
def test_b6_randomized_tukey():
    pairs = pairs_of(sums(WORKED, complete=True, permutations=20_000))
    table, null = tukey.anova(pairs, 3), tukey.ranges(pairs[0, 1])
    for pair, p in (((0, 1), 0.0336), ((0, 2), 0.0004), ((1, 2), 0.5736)):
        found = tukey.randomized_tukey(pairs[pair], null, table, 0.05)
        assert found.p_value == pytest.approx(p, abs=4 * math.sqrt(p / 20_000) + 1e-4)


def test_b7_corrections():
    raw = [0.010268, 0.000039, 0.123233]
    assert adjusted(raw, "bonferroni") == pytest.approx([0.030804, 0.000117, 0.369699], abs=1e-6)
    assert adjusted(raw, "holm") == pytest.approx([0.020536, 0.000117, 0.123233], abs=1e-6)
    assert adjusted(raw, "bh") == pytest.approx([0.015402, 0.000117, 0.123233], abs=1e-6)
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted([None, 0.01, None, 0.03]) == [None, 0.02, None, 0.03]
    assert adjusted([0.2, 0.4], "none") == [0.2, 0.4]
    random = np.random.default_rng(4).random(30)
    right = scipy.stats.false_discovery_control(random, method="bh")
    assert adjusted(random.tolist(), "bh") == pytest.approx(right.tolist())


def test_b7_the_family_of_tests_of_all_systems():
    """They hold over the pairs already: what is left to correct is measures times segments."""

    def rows():
        return [
            {"p_value": p, "segment": s, "measure": m, "p_least": None, "alpha": 0.05}
            for s in ("all", "x") for m in ("AP", "RR", "P@5") for p in (0.004, 0.02, None)
        ]  # fmt: skip

    for test, correction, right in (
        ("tukey", "holm", 0.024),
        ("randomized-tukey", "bonferroni", 0.024),
        ("tukey", "none", 0.004),
        ("t", "bonferroni", 0.048),
    ):
        found = rows()
        _correct(found, test, correction)
        assert found[0]["p_adjusted"] == pytest.approx(right)
        assert found[2]["p_adjusted"] is None
    for test, correction, least in (
        ("t", "holm", 0.012), ("tukey", "holm", 0.006), ("t", "none", 0.001)
    ):  # fmt: skip
        found = [{**row, "p_least": 0.001, "note": "x"} for row in rows()]
        _correct(found, test, correction)
        assert found[0]["p_least"] == pytest.approx(least)
        assert found[0]["note"] == "x"
    found = [{**row, "p_least": 0.005, "note": "x"} for row in rows()]
    _correct(found, "t", "bh")
    assert found[0]["note"].startswith("undecidable: corrected p is 0.06 at least, over 12")
    found = rows()
    for row in found:
        row["p_value"] = 0.9
    _correct(found, "tukey", "holm")
    assert {row["p_adjusted"] for row in found} == {1.0}


def test_b8_effect_sizes():
    pair = a_minus_b()
    assert tests.t_test(pair, 0.05).effect == pytest.approx(1.0225, abs=1e-4)
    assert tests.corrected_effect(pair) == pytest.approx(0.9348, abs=1e-4)
    assert (pair.wins, pair.losses, pair.n - pair.wins - pair.losses) == (7, 2, 1)
    assert pair.delta / pair.mean_baseline == pytest.approx(0.1021, abs=1e-4)
    assert hedges(10) == pytest.approx(1 - 3 / 35)


def test_b9_sample_sizes():
    sd = 0.056725
    for delta, sizes in ((0.06, (8, 9, 10)), (0.03, (29, 30, 31)), (0.01, (253, 255, 255))):
        found = [sample_size(sd, delta, method=m) for m in ("normal", "guenther", "exact")]
        assert found == list(sizes)
    for n, mdd in ((10, 0.056498), (1000, 0.005030), (10**6, 0.000159)):
        assert detectable(sd, n) == pytest.approx(mdd, abs=1e-6)
    for n, alpha, power in ((3, 0.05, 0.8), (10, 0.05, 0.8), (50, 0.01, 0.9), (1000, 0.05, 0.5)):
        shift = detectable(1.0, n, alpha, power) * math.sqrt(n)
        critical = scipy.stats.t.ppf(1 - alpha / 2, n - 1)
        tails = scipy.stats.nct.sf(critical, n - 1, shift) + scipy.stats.nct.cdf(
            -critical, n - 1, shift
        )
        assert tails == pytest.approx(power, abs=1e-8)
        for effect in (0.0, 0.3, 1.0, -1.0):
            moved = abs(effect) * math.sqrt(n)
            right = alpha if not effect else scipy.stats.nct.sf(critical, n - 1, moved) + np.nan_to_num(
                scipy.stats.nct.cdf(-critical, n - 1, moved)
            )  # fmt: skip
            assert exact_power(effect, n, alpha) == pytest.approx(right, abs=1e-8)
    for bad in ({"difference": 0.0}, {"difference": 0.1, "method": "no"}):
        with pytest.raises(UsageError):
            sample_size(sd, **bad)


def test_b10_power_of():
    """Against Sakai's algorithm written out; a steady measure beats a noisy one."""
    random = np.random.default_rng(2)
    quality = np.linspace(0.40, 0.48, 5)
    steady = quality + 0.05 * random.standard_normal((50, 5))
    noisy = quality + 0.15 * random.standard_normal((50, 5))
    found = power_of(steady, 0.05, 500, 7)
    worse = power_of(noisy, 0.05, 500, 7)
    assert found.share > worse.share
    assert found.required < worse.required
    draw = np.random.default_rng(7)
    drawn = [draw.integers(0, 50, 50) for _ in range(500)]
    required = 0.0
    for place, (a, b) in enumerate(itertools.combinations(range(5), 2)):
        d = steady[:, b] - steady[:, a]
        centred = d - d.mean()
        values = []
        for queries in drawn:
            own = centred[queries]
            values.append((abs(own.mean()) / (own.std(ddof=1) / np.sqrt(50)), abs(own.mean())))
        t = abs(d.mean()) / (d.std(ddof=1) / np.sqrt(50))
        asl = (1 + sum(v >= t for v, _ in values)) / 501
        assert found.asl[place] == pytest.approx(asl)
        required = max(required, sorted(values, reverse=True)[24][1])
    assert found.required == pytest.approx(required)


def test_b11_agreement():
    random = np.random.default_rng(5)
    for _ in range(20):
        x, y = random.integers(0, 5, (2, 12))
        right = scipy.stats.kendalltau(x, y).statistic
        assert kendall_tau_b(x.tolist(), y.tolist()) == pytest.approx(right)
    assert kendall_tau_b([1, 1, 1], [1, 2, 3]) is None
    assert tau_ap("BACDE", "ABCDE") == pytest.approx(0.5)
    assert tau_ap("ABCED", "ABCDE") == pytest.approx(0.875)
    assert tau_ap("ABCDE", "ABCDE") == 1
    assert tau_ap("EDCBA", "ABCDE") == -1
    assert rbo("ABCDE", "BACDE") == pytest.approx(0.9)
    assert rbo("ABCDE", "ABCED") == pytest.approx(0.981775)
    assert rbo("ABCDE", "FGHIJ") == 0
    assert rbo("ABC", "ABC") == pytest.approx(1)
    with pytest.raises(UsageError, match="same"):
        tau_ap("AB", "AC")


def test_b12_poisson_counts():
    units = replicates.splitmix64(np.arange(20_000, dtype=np.uint64))
    counts = replicates.poisson(units, 3, 0, 25).astype(float)
    assert counts.shape == (20_000, 100)
    for k in range(5):
        right = scipy.stats.poisson.pmf(k, 1)
        assert np.mean(counts == k) == pytest.approx(right, abs=5 * math.sqrt(right / 2e6))
    assert counts.var() == pytest.approx(1, abs=0.01)
    assert abs(np.corrcoef(counts[:, 0], counts[:, 1])[0, 1]) < 0.03
    assert abs(np.corrcoef(counts[:-1, 0], counts[1:, 0])[0, 1]) < 0.03
    other = replicates.poisson(units, 4, 0, 25)
    assert not np.array_equal(counts, other)
    # a later block alone is what it is among the others
    assert np.array_equal(counts[:, 40:48], replicates.poisson(units, 3, 10, 2))
    bits = replicates.signs(units, 3, 0, 2)
    assert bits.mean() == pytest.approx(0.5, abs=0.003)
    assert np.array_equal(bits[:, 64:], replicates.signs(units, 3, 1, 1))
    orders = replicates.orders(units, 3, 0, 3)
    _, times = np.unique(orders @ [9, 3, 1], return_counts=True)
    assert len(times) == 6
    assert times.max() - times.min() < 400


def test_sums_do_not_depend_on_order_or_parts():
    random = np.random.default_rng(8)
    x = random.random((3, 5000))
    x[1, ::7] = np.nan
    hashes = replicates.splitmix64(np.arange(5000, dtype=np.uint64))
    order = random.permutation(5000)
    wanted = {"signs": 200, "weights": 100, "permutations": 5, "seed": 9}
    one = sums(x, hashes=hashes, **wanted)
    parts = [sums(x[:, own], hashes=hashes[own], **wanted) for own in np.array_split(order, 7)]
    other = Sums.merged(one.design, [part.pack() for part in parts])
    for name in one.design.shapes:
        assert np.array_equal(one.totals.doubles(name), other.totals.doubles(name)), name
    d = x[1] - x[0]
    pair = Pair.of(other, 0, 0)
    assert pair.n == np.count_nonzero(np.isfinite(d))
    assert pair.dropped == 5000 - pair.n
    assert pair.delta == pytest.approx(np.nanmean(d), abs=1e-11)
    assert pair.std == pytest.approx(np.nanstd(d, ddof=1), abs=1e-9)
    right = scipy.stats.ttest_rel(x[1], x[0], nan_policy="omit").pvalue
    assert tests.t_test(pair, 0.05).p_value == pytest.approx(right, rel=1e-8)


def test_values_of_any_size():
    """Counts in the thousands, and values of a millionth, are as exact as values up to 1."""
    random = np.random.default_rng(8)
    for factor, scale in ((3000.0, 4096.0), (1e-6, 2.0**-19)):
        x = random.random((200, 1, 2)) * factor
        found = Sums(Design(2, ((0, 1),), (scale,)))
        hashes = replicates.splitmix64(np.arange(200, dtype=np.uint64))
        found.add(x, np.ones(x.shape, bool), hashes)
        right = scipy.stats.ttest_rel(x[:, 0, 1], x[:, 0, 0])
        own = tests.t_test(Pair.of(found, 0, 0), 0.05)
        assert own.statistic == pytest.approx(right.statistic, rel=1e-8)


def test_missing_queries():
    x = np.array([[0.2, 0.4, np.nan, 0.6], [0.3, np.nan, 0.5, 0.9]])
    there = np.array([[1, 1, 0, 1], [1, 1, 1, 1]], bool).T[:, None, :]
    pair = Pair.of(sums(x, present=there), 0, 0)
    assert (pair.n, pair.dropped) == (2, 2)  # one undefined, one absent
    pair = Pair.of(sums(x, present=there, missing_zero=True), 0, 0)
    assert (pair.n, pair.dropped) == (3, 1)
    assert pair.delta == pytest.approx((0.1 + 0.5 + 0.3) / 3)


@pytest.mark.parametrize(
    ("systems", "p", "note"),
    [
        ([[0.1], [0.2]], None, "1 common query"),
        ([[np.nan], [0.2]], None, "0 common queries"),
        ([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], 1.0, "no query differs"),
        ([[0.1, 0.2, 0.7], [0.2, 0.3, 0.8]], None, "same amount"),
    ],
)
def test_nothing_to_decide(systems, p, note):
    found = tests.undecided(Pair.of(sums(systems), 0, 0))
    assert found.p_value == p
    assert note in found.note
    pairs = pairs_of(sums(systems, complete=True))
    together = tukey.tukey(pairs[0, 1], tukey.anova(pairs, 2), 0.05)
    assert together.p_value is None
    assert together.note


COLLECTIONS, QUERIES = 1000, 50


def collections(shift=0.0, systems=2, seed=0):
    """(collections * systems, queries) of correlated systems; `shift` in units of d's deviation."""
    random = np.random.default_rng(seed)
    query = random.beta(2, 2, (COLLECTIONS, 1, QUERIES))
    own = random.standard_normal((COLLECTIONS, systems, QUERIES)) * 0.1 / math.sqrt(2)
    own[:, 1] += shift * 0.1
    return (query + own).reshape(-1, QUERIES)


def rejected(p_values):
    return sum(p < 0.05 for p in p_values)


def within(hits, share):
    low, high = scipy.stats.binom.interval(0.999, COLLECTIONS, share)
    return low <= hits <= high


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "wilcoxon", "fisher", "bootstrap"])
def test_false_positives_are_as_rare_as_promised(test):
    pairs = tuple((2 * i, 2 * i + 1) for i in range(COLLECTIONS))
    wanted = {"fisher": {"signs": 1000}, "bootstrap": {"weights": 400}}.get(test, {})
    found = sums(collections() / 2, pairs, **wanted)
    run = {
        "t": tests.t_test,
        "wilcoxon": lambda pair, alpha: tests.wilcoxon(pair, None, "wilcox", alpha),
        "fisher": tests.fisher,
        "bootstrap": tests.poisson_bootstrap,
    }[test]
    hits = rejected(run(Pair.of(found, 0, i), 0.05).p_value for i in range(COLLECTIONS))
    assert within(hits, 0.05), hits


@pytest.mark.slow
@pytest.mark.parametrize("test", ["tukey", "randomized-tukey"])
def test_false_positives_of_all_systems_together(test):
    """The share of collections with any difference among three equal systems."""
    x = collections(systems=3, seed=1).reshape(COLLECTIONS, 3, QUERIES) / 2
    hits = 0
    for own in x:
        permutations = 99 if test == "randomized-tukey" else 0
        pairs = pairs_of(sums(own, complete=True, permutations=permutations))
        table = tukey.anova(pairs, 3)
        if test == "tukey":
            widest = max(pairs.values(), key=lambda pair: abs(pair.delta))
            hits += tukey.tukey(widest, table, 0.05).p_value < 0.05
        else:
            null = tukey.ranges(pairs[0, 1])
            found = [tukey.randomized_tukey(p, null, table, 0.05) for p in pairs.values()]
            hits += min(f.p_value for f in found) <= 0.05
    assert within(hits, 0.05), hits


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_power_is_what_the_sample_size_promises(power):
    shift = next(  # in deviations of d: the one for which 50 queries have this power
        effect
        for effect in np.arange(0.2, 0.7, 0.001)
        if sample_size(1.0, effect, power=power, method="exact") <= QUERIES
    )
    pairs = tuple((2 * i, 2 * i + 1) for i in range(COLLECTIONS))
    found = sums(collections(shift, seed=3) / 2, pairs)
    hits = rejected(tests.t_test(Pair.of(found, 0, i), 0.05).p_value for i in range(COLLECTIONS))
    assert within(hits, power), hits


def test_options():
    assert options.tests_of(["t,wilcoxon", "t"]) == ("t", "wilcoxon")
    assert options.tests_of([]) == ("t",)
    with pytest.raises(UsageError, match="wilcoxon"):
        options.tests_of("wilcoxn")
    for bad in (
        {"alpha": 1.5},
        {"replicates": 3},
        {"seed": -1},
        {"detect": 0},
        {"zeros": "x"},
        {"missing": "zero", "interval": "bca"},
    ):
        with pytest.raises(UsageError):
            options.CompareOptions(**bad)
