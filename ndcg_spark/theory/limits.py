"""What nDCG converges to when the number of documents grows (Wang et al. 2013, made operational).

A ranker enters only through ``y(s)``: the expected gain of a document at canonical score s, the
share of documents that it ranks below (s = 1 - rank / n); for binary labels P(Y = 1 | s). `shares`
are the (gain, share of documents) of the labels. Status of each statement: [S] said by a public
summary of the paper, [D] derived from the definitions and checked by simulation and quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ndcg_spark.errors import UsageError
from ndcg_spark.measures.batch import Array
from ndcg_spark.measures.cutoffs import cutoff as parse_cutoff
from ndcg_spark.measures.cutoffs import depth_at
from ndcg_spark.measures.discounts import discount as parse_discount
from ndcg_spark.measures.discounts import discounts

Curve = Callable[[Array], Array]
Shares = Sequence[tuple[float, float]]
EULER = 0.5772156649015329
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


def exponent(discount: str) -> float | None:
    """b of a discount r^-b; 0 for log2 and none, whose limits are like no decay; None for exp2."""
    name = parse_discount(discount)
    if name in ("log2", "none"):
        return 0.0
    if name == "zipf":
        return 1.0
    return None if name == "exp2" else float(name.removeprefix("power:"))


def limit(y: Curve, shares: Shares, discount: str = "log2", cutoff: object = None) -> float | None:
    """The limit of nDCG with this discount and cut-off; None where there is none (it stays random).

    - log2, whole list: 1 for every ranker [S].
    - power:b with b < 1, or a cut-off that is a share c of the list: the integral of y(1 - u) u^-b
      over u < c, divided by that of the ideal [S that it exists, D formula]; log2 counts as b = 0.
    - zipf, and sqrt(n): y(1) over the largest gain: only the top counts [S], [D].
    - exp2, power:b with b > 1, a fixed cut-off: none for one query [S], [D]; where the very top is
      pure (y(1) is the largest gain) the value converges to 1 all the same [D].

    Raises:
        UsageError: for labels without a gain, or the cut-off R.
    """
    b, k = exponent(discount), parse_cutoff(cutoff)
    if k == "R":
        raise UsageError(
            "the cut-off R has no limit of this form; give n, c*n, sqrt(n) or a number"
        )
    largest = _largest(shares)
    top = float(y(np.array([1.0]))[0]) / largest
    if isinstance(k, int) or b is None or b > 1:
        return 1.0 if math.isclose(top, 1.0) else None
    if b == 1 or k == "sqrt(n)":
        return top
    share = _share(k)
    if parse_discount(discount) == "log2" and k is None:
        return 1.0
    return _area(lambda u: y(1 - u), b, share) / ideal_area(shares, b, share)


def _share(cutoff: str | None) -> float:
    """How much of a long list a cut-off n/5 leaves."""
    return float(depth_at(cutoff, np.array([10**9]))[0]) / 1e9


def _largest(shares: Shares) -> float:
    largest = max((gain for gain, share in shares if share > 0), default=0.0)
    if largest <= 0:
        raise UsageError("no label has a gain: nDCG is undefined")
    return largest


def _area(curve: Curve, b: float, to: float) -> float:
    """The integral of curve(u) u^-b over (0, to]; u = t^(1 / (1 - b)) takes the pole out."""
    end = to ** (1 - b)
    t = end * (_NODES + 1) / 2
    return float(np.sum(_WEIGHTS * curve(t ** (1 / (1 - b)))) * end / 2 / (1 - b))


def ideal_area(shares: Shares, b: float, to: float = 1.0) -> float:
    """The same integral of Q(u), the gains in descending order, in closed form [D]."""
    _largest(shares)
    total = start = 0.0
    for gain, share in sorted(shares, reverse=True):
        end = min(start + share, to)
        if end > start:
            total += gain * (end ** (1 - b) - start ** (1 - b)) / (1 - b)
        start += share
    return total


def log_constant(y: Curve, shares: Shares) -> tuple[float, float]:
    """(C, K): nDCG with log discount is 1 - C / ln n + K / ln^2 n + …, whole list [D].

    C >= 0; 0 for the ideal order, -ln p for a random one with binary labels.
    """
    mean = sum(gain * share for gain, share in shares)
    _largest(shares)
    a1, a2 = (_log_moment(lambda u: y(1 - u), k) / mean for k in (1, 2))
    b1, b2 = (_ideal_log_moment(shares, k) / mean for k in (1, 2))
    return b1 * -1 + a1, a2 - b2 + b1 * b1 - a1 * b1


def _log_moment(curve: Curve, k: int) -> float:
    """The integral of curve(u) ln^k u over (0, 1], by u = t^4."""
    t = (_NODES + 1) / 2
    values = curve(t**4) * (4 * np.log(t)) ** k * 4 * t**3
    return float(np.sum(_WEIGHTS * values) / 2)


def _ideal_log_moment(shares: Shares, k: int) -> float:
    def primitive(u: float) -> float:
        if u == 0:
            return 0.0
        log = math.log(u)
        return u * (log - 1) if k == 1 else u * (log * log - 2 * log + 2)

    total = start = 0.0
    for gain, share in sorted(shares, reverse=True):
        end = min(start + share, 1.0)
        total += gain * (primitive(end) - primitive(start))
        start += share
    return total


def at_size(y: Curve, shares: Shares, n: float, discount: str) -> float | None:
    """nDCG over the whole list of n documents by the rates [D]: two terms for log2, the zeta term
    for power:b < 1, the Euler terms for zipf (binary labels); None for other discounts.
    """
    name, b = parse_discount(discount), exponent(discount)
    if name == "log2":
        first, second = log_constant(y, shares)
        return 1 - first / math.log(n) + second / math.log(n) ** 2
    top = float(y(np.array([1.0]))[0])
    if b == 1:
        p = sum(share for gain, share in shares if gain > 0)
        away = _area(lambda u: (y(1 - u) - top) / np.maximum(u, 1e-300), 0.0, 1.0)
        return (top * (math.log(n) + EULER) + away) / (
            _largest(shares) * (math.log(n) + math.log(p) + EULER)
        )
    if b is None or not 0 < b < 1:
        return None
    grown, correction = float(n ** (1 - b)), zeta(b)
    return (grown * _area(lambda u: y(1 - u), b, 1.0) + correction * top) / (
        grown * ideal_area(shares, b) + correction * _largest(shares)
    )


def pseudo_expectation(
    y: Curve, shares: Shares, n: int, discount: str = "log2", cutoff: object = None
) -> float:
    """The expected DCG over the ideal one at n documents ([S] the notion, [D] this form).

    The gain at rank r is y at the order statistic U of n uniforms, Beta(n - r + 1, r), by its mean
    and variance; the ideal has exactly n * share documents of each gain. A simulated mean of nDCG
    differs from it by about 3 / n. This, not the limit, is what a finite sample is to be compared
    with: log-nDCG of a million documents is still 0.03 to 0.1 below 1.
    """
    k = int(depth_at(parse_cutoff(cutoff), np.array([n]))[0])
    rank = np.arange(1, min(k, n) + 1)
    weight = discounts(parse_discount(discount), rank)
    mean = 1 - rank / (n + 1)
    variance = mean * (1 - mean) / (n + 2)
    step = 1e-4
    inside = np.clip(mean, step, 1 - step)
    bend = (y(inside + step) - 2 * y(inside) + y(inside - step)) / step**2
    ideal, left = 0.0, np.zeros(len(rank))
    start = 0.0
    for gain, share in sorted(shares, reverse=True):
        end = start + share * n
        left += gain * np.clip(np.minimum(end, rank) - np.maximum(start, rank - 1), 0.0, 1.0)
        start = end
    ideal = float(np.sum(left * weight))
    if not ideal:
        raise UsageError("no label has a gain: nDCG is undefined")
    return float(np.sum((y(mean) + bend * variance / 2) * weight)) / ideal


def expected_random(gains: Sequence[float], discount: str = "log2", cutoff: object = None) -> float:
    """The exact expected nDCG of a random order of these documents [D]: their mean gain times the
    sum of discounts, over the ideal DCG.

    >>> round(expected_random([1, 1, 0, 0, 0]), 6)
    0.723136
    """
    n = len(gains)
    k = int(depth_at(parse_cutoff(cutoff), np.array([n]))[0]) if n else 0
    weight = discounts(parse_discount(discount), np.arange(1, min(k, n) + 1))
    ideal = float(np.sum(np.sort(np.asarray(gains, float))[::-1][: len(weight)] * weight))
    if not ideal:
        raise UsageError("no document has a gain: nDCG is undefined")
    return float(np.mean(gains)) * float(weight.sum()) / ideal


def corrected(value: float, random: float) -> float | None:
    """(value - random) / (1 - random): 0 for a random order, 1 for the ideal; None where all orders
    are alike [D]."""
    return None if random >= 1 - 1e-12 else (value - random) / (1 - random)


def noise(top: float, discount: str, cutoff: object = None) -> float | None:
    """The standard deviation of nDCG of one query where it does not vanish (binary labels) [D].

    top: y(1), the chance that the very first document is relevant. A fixed cut-off, exp2 and
    power:b with b > 1 stay random: sqrt(q (1 - q)) sqrt(sum D^2) / sum D. None for the others.
    """
    k, b = parse_cutoff(cutoff), exponent(discount)
    name = parse_discount(discount)
    if not isinstance(k, int) and b is not None and b <= 1:
        return None
    spread = math.sqrt(top * (1 - top))
    if not isinstance(k, int) and b is not None:
        return spread * math.sqrt(zeta(2 * b)) / zeta(b)
    weight = discounts(name, np.arange(1, (k if isinstance(k, int) else 60) + 1))
    return spread * float(np.sqrt(np.sum(weight**2)) / np.sum(weight))


def growth_exponent(discount: str, cutoff: object = None) -> float | None:
    """How the signal to noise of a fixed pair grows, as a power of n [D]; 0: it does not.

    Over k places it grows as sum D / sqrt(sum D^2): log2 as k^(1/2), power:b as k^(1/2) up to
    b = 1/2 (there less a factor of sqrt(ln k)), then as k^(1-b); k is n, c n, or sqrt(n), which
    halves the exponent. zipf: ln n only, given as None. Fixed cut-offs, exp2, b > 1: 0.
    """
    k, b = parse_cutoff(cutoff), exponent(discount)
    if isinstance(k, int) or b is None or b > 1:
        return 0.0
    if b == 1:
        return None
    exponent_of_k = min(0.5, 1 - b)
    return exponent_of_k / 2 if k == "sqrt(n)" else exponent_of_k


def zeta(s: float) -> float:
    """Riemann's zeta function for s > 0 other than 1, by Euler and Maclaurin.

    >>> round(zeta(0.5), 5), round(zeta(2), 6)
    (-1.46035, 1.644934)
    """
    n = 30.0
    total = float(np.sum(np.arange(1.0, n) ** -s))
    tail = n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12
    return float(total + tail - s * (s + 1) * (s + 2) * n ** (-s - 3) / 720)


def power_family(m: int, p: float = 0.3) -> tuple[Curve, Shares]:
    """y(s) = p (m + 1) s^m and the labels' shares: the family whose limits are in closed form."""
    return (lambda s: p * (m + 1) * s**m), ((1.0, p), (0.0, 1 - p))


def step_curve(edges: Sequence[float], means: Sequence[float]) -> Curve:
    """y from mean gains by bins of the rank fraction u = 1 - s; edges: one more than means."""
    inner, values = np.asarray(edges[1:-1]), np.asarray(means, float)
    return lambda s: values[np.searchsorted(inner, 1 - s, side="left")]


def plug_in(
    edges: Sequence[float], means: Sequence[float], shares: Shares, discount: str, cutoff: object
) -> float | None:
    """The limit by mean gains that were measured in bins of the rank fraction (closed form a bin).

    It sees a ranker only down to the first bin: biased low while y still rises above it. None where
    only the very top decides (zipf, sqrt(n)) or nothing converges.
    """
    b, k = exponent(discount), parse_cutoff(cutoff)
    if isinstance(k, int) or k in ("R", "sqrt(n)") or b is None or b >= 1:
        return None
    if parse_discount(discount) == "log2" and k is None:
        return 1.0
    share = _share(k)
    bounds = np.minimum(np.asarray(edges, float), share) ** (1 - b)
    return (
        float(np.sum(np.asarray(means) * np.diff(bounds))) / (1 - b) / ideal_area(shares, b, share)
    )
