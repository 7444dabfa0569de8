"""Tests of one pair of systems, from sums over queries.

Every test takes a `Pair` and gives an `Outcome`; a test without a defined answer says why in its
note and has no p-value.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.paired_kernel import COARSE, COARSER, DIGITS, TIE
from ndcg_spark.measures.batch import Array, Ints
from ndcg_spark.stats.distributions import t_quantile, t_two_sided
from ndcg_spark.stats.sample_size import hedges

ENUMERATED = 20  # pairs up to which all sign patterns are counted
SAMPLED = 100_000  # queries up to which sign patterns are drawn; beyond them the normal limit


@dataclass(frozen=True)
class Outcome:
    """What a test says of a pair."""

    statistic: float | None = None
    p_value: float | None = None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    note: str | None = None
    replicates: int | None = None
    least: float | None = None  # the smallest p-value that the test could have given here

    def times(self, scale: float) -> Outcome:
        """The outcome of a mean difference that was judged in units of its scale."""
        own = (None if x is None else x * scale for x in (self.statistic, self.low, self.high))
        statistic, low, high = own
        return dataclasses.replace(self, statistic=statistic, low=low, high=high)


NO_DIFFERENCE = Outcome(p_value=1.0, low=0.0, high=0.0, note="no query differs")


@dataclass(frozen=True)
class Ranks:
    """Wilcoxon's ranks of many differences: twice the sums of ranks, and sum(t^3 - t) over ties."""

    positive: int
    negative: int
    ties: float


def undecided(pair: Pair) -> Outcome | None:
    """The outcome where no test can say anything: too few queries, or differences all alike."""
    if pair.n < 2:
        return Outcome(note=f"{pair.n} common queries" if pair.n != 1 else "1 common query")
    if pair.std == 0:
        if abs(pair.delta or 0.0) <= TIE * pair.scale:
            return NO_DIFFERENCE
        return Outcome(note="all queries differ by the same amount")
    return None


def t_test(pair: Pair, alpha: float) -> Outcome:
    """Student's paired t."""
    delta, std = pair.spread
    error = std / math.sqrt(pair.n)
    half = t_quantile(1 - alpha / 2, pair.n - 1) * error
    t = delta / error
    return Outcome(t, t_two_sided(t, pair.n - 1), delta - half, delta + half, delta / std)


def wilcoxon(pair: Pair, ranks: Ranks | None, zeros: str, alpha: float) -> Outcome:
    """Wilcoxon's signed ranks; exact (given the ties) for up to SMALL queries, else normal.

    zeros: "wilcox" drops queries without a difference, "pratt" ranks them and drops their ranks
    The interval is that of the mean difference (t); the effect is the rank-biserial correlation.
    """
    plain = t_test(pair, alpha)
    none = pair.n - pair.wins - pair.losses
    kept, least = pair.kept, None
    if none == pair.n or (kept is None and ranks is None):
        return NO_DIFFERENCE
    if kept is not None:
        doubled, sign = signed_ranks(kept, TIE * pair.scale, zeros)
        positive, negative = int(doubled[sign > 0].sum()), int(doubled[sign < 0].sum())
        p, least = _rank_sum_p(doubled, min(positive, negative)), _rank_sum_p(doubled, 0)
        note = "exact"
    else:
        assert ranks is not None  # some query differs
        positive, negative = ranks.positive, ranks.negative
        count, lost = (pair.n, none) if zeros == "pratt" else (pair.n - none, 0)
        mean = (count * (count + 1) - lost * (lost + 1)) / 2  # of twice the sum
        cubes = [k * (k + 1) * (2 * k + 1) for k in (count, lost)]
        variance = (cubes[0] - cubes[1]) / 6 - ranks.ties / 12
        p = math.erfc(abs(min(positive, negative) - mean) / math.sqrt(2 * variance))
        note = "normal"
    effect = (positive - negative) / (positive + negative)
    note = f"{note}, {none} without a difference {'ranked' if zeros == 'pratt' else 'dropped'}"
    low = min(positive, negative) / 2
    said = note if none else note.split(",")[0]
    return Outcome(low, p, plain.low, plain.high, effect, said, least=least)


def signed_ranks(d: Array, tie: float, zeros: str) -> tuple[Ints, Ints]:
    """Twice the mean ranks of |d|, and the signs of d; `tie`: half the width of a tie."""
    size = np.rint(np.abs(d) / (2 * tie)).astype(np.int64)
    if zeros == "wilcox":
        d, size = d[size > 0], size[size > 0]
    _, group, times = np.unique(size, return_inverse=True, return_counts=True)
    before = np.cumsum(times) - times
    doubled = (2 * before + times + 1)[group]
    return doubled[size > 0], np.sign(d[size > 0]).astype(np.int64)


def _rank_sum_p(doubled: Ints, least: int) -> float:
    """P(min(W+, W-) <= least) over all signs of these ranks, counted one by one."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:  # at most SMALL ranks
        ways[rank:] += ways[: len(ways) - rank].copy()
    return float(min(1.0, 2 * ways[: least + 1].sum() / 2.0 ** len(doubled)))


def fisher(pair: Pair, alpha: float) -> Outcome:
    """Fisher's randomization: how often random signs give as large a mean difference.

    All sign patterns up to ENUMERATED queries; drawn ones, counting the observed, (1 + hits) /
    (B + 1), up to SAMPLED; the normal limit of the same test beyond. The interval is the t one.
    """
    delta, std = pair.spread
    plain = t_test(pair, alpha)

    def outcome(
        p: float, note: str, replicates: int | None = None, least: float | None = None
    ) -> Outcome:
        return Outcome(delta, p, plain.low, plain.high, plain.effect, note, replicates, least)

    kept = pair.kept
    if kept is not None and pair.n <= ENUMERATED:
        totals = np.zeros(1)
        for d in kept:
            totals = np.concatenate([totals + d, totals - d])
        observed = abs(kept.sum()) - 1e-12 * pair.n * pair.scale
        largest = np.abs(totals).max() - 1e-12 * pair.n * pair.scale
        shares = [float(np.mean(np.abs(totals) >= least)) for least in (observed, largest)]
        return outcome(shares[0], "exact", least=shares[1])
    design = pair.sums.design
    if not design.signs:
        rms = math.hypot(std * math.sqrt((pair.n - 1) / pair.n), delta)
        z = delta * math.sqrt(pair.n) / rms
        return outcome(math.erfc(abs(z) / math.sqrt(2)), "normal limit")
    changed = pair.sums.totals.doubles("signs", pair.column)
    total = delta * pair.n / (pair.scale * 2.0 ** (COARSE - DIGITS))
    # every difference is rounded to a unit, which must not break a tie
    hits = np.count_nonzero(np.abs(total - 2 * changed) >= abs(total) - pair.n)
    p, least = (1 + int(hits)) / (design.signs + 1), 1 / (design.signs + 1)
    return outcome(p, "sampled", design.signs, least)


def poisson_bootstrap(pair: Pair, alpha: float) -> Outcome:
    """Bootstrap with Poisson(1) counts: percentile interval, p of the bootstrap t."""
    sums, column = pair.sums, pair.column
    counts = sums.totals.doubles("weights", column)
    some = counts > 1
    counts = counts[some]
    unit, coarse = (2.0 ** (k - DIGITS) for k in (COARSE, COARSER))
    means = sums.totals.doubles("weighted", column)[some] * unit / counts
    squares = sums.totals.doubles("squares", column)[some] * coarse**2 / counts
    spread = np.maximum(squares - means**2, 0.0) * counts / (counts - 1)
    return bootstrapped(pair.scaled, means, spread / counts, alpha, "poisson").times(pair.scale)


def bootstrapped(pair: Pair, means: Array, variances: Array, alpha: float, note: str) -> Outcome:
    """The outcome from replicates of the mean difference and of its squared standard error."""
    delta, std = pair.spread
    low, high = np.quantile(means, (alpha / 2, 1 - alpha / 2))
    return Outcome(
        delta,
        studentized_p(pair, means, variances),
        float(low),
        float(high),
        delta / std,
        note,
        len(means),
        1 / (len(means) + 1),
    )


def studentized_p(pair: Pair, means: Array, variances: Array) -> float:
    """Sakai's achieved significance level: how often |t*| of centred replicates reaches |t|."""
    delta, std = pair.spread
    t = abs(delta) / (std / math.sqrt(pair.n))
    away = np.abs(means - delta)
    hits = int(np.count_nonzero(away >= t * np.sqrt(variances) * (1 - 1e-12)))
    return (1 + hits) / (len(means) + 1)


def resampled(
    pair: Pair, d: Array, alpha: float, replicates: int, seed: int, corrected: bool
) -> Outcome:
    """Bootstrap by drawing queries with replacement, of all differences in one array.

    corrected: the BCa interval (Efron 1987) instead of the percentiles
    """
    scale, pair, d = pair.scale, pair.scaled, d / pair.scale
    delta, _ = pair.spread
    random = np.random.default_rng(seed)
    means, variances = np.empty(replicates), np.empty(replicates)
    for b in range(replicates):
        drawn = d[random.integers(0, len(d), len(d))]
        means[b], variances[b] = drawn.mean(), drawn.var(ddof=1) / len(d)
    if not corrected:
        return bootstrapped(pair, means, variances, alpha, "percentile").times(scale)
    normal = NormalDist()
    tie = 1e-12 * float(np.abs(d).max())
    less, more = np.count_nonzero(means < delta - tie), np.count_nonzero(means > delta + tie)
    below = (less + replicates - more) / 2
    z0 = normal.inv_cdf(min(max(below / replicates, 0.5 / replicates), 1 - 0.5 / replicates))
    away = d - d.mean()  # in proportion to how the mean moves when a query is left out
    skew = float(np.sum(away**3) / (6 * np.sum(away**2) ** 1.5))
    ends = []
    for z in (normal.inv_cdf(alpha / 2), normal.inv_cdf(1 - alpha / 2)):
        shifted = z0 + (z0 + z) / (1 - skew * (z0 + z))
        ends.append(float(np.quantile(means, normal.cdf(shifted))))
    plain = bootstrapped(pair, means, variances, alpha, "bca")
    return dataclasses.replace(plain, low=ends[0], high=ends[1]).times(scale)


def corrected_effect(pair: Pair) -> float | None:
    """d_z without its small-sample bias."""
    if pair.n < 2 or not pair.std or pair.delta is None:
        return None
    return pair.delta / pair.std * hedges(pair.n)
