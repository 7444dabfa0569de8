"""Distributions: t, F and beta without scipy, which a bare cluster node lacks; the others with."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Any

import numpy as np

from ndcg_spark.errors import UsageError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def t_quantile(p: float, df: float) -> float:
    """The p-quantile of Student's t with `df` degrees of freedom.

    Relative error 1e-10.

    >>> round(t_quantile(0.975, 9), 6)
    2.262157
    """
    if df > 1e4:  # the normal quantile's expansion; the next term is of the order of df^-3
        z = NormalDist().inv_cdf(p)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
    low, high = 0.0, 1.0
    tail = 2 * (1 - p) if p > 0.5 else 2 * p
    while t_two_sided(high, df) > tail:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, df) > tail else (low, middle)
        if high - low <= 1e-13 * high:
            break
    return math.copysign((low + high) / 2, p - 0.5)


def t_two_sided(t: float, df: float) -> float:
    """P(|T| > |t|) for Student's t with `df` degrees of freedom. Relative error 1e-9, for more than
    10,000 degrees of freedom 1e-6 (Bailey 1980).

    >>> round(t_two_sided(3.23333, 9), 6)
    0.010268
    """
    if df > 1e4:
        z = (8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df))
        return math.erfc(z / math.sqrt(2))
    return beta_cdf(df / (df + t * t), df / 2, 0.5)  # I_x(df / 2, 1 / 2) at x = df / (df + t^2)


def f_above(f: float, df1: float, df2: float) -> float:
    """P(F > f) for the F distribution with df1 and df2 degrees of freedom.

    >>> round(f_above(16.42, 2, 18), 6)
    8.7e-05
    """
    return beta_cdf(df2 / (df2 + df1 * f), df2 / 2, df1 / 2)


def chi_square_above(x: float, df: int) -> float:
    """P(X > x) for the chi-square distribution with a whole number of degrees of freedom, by its
    finite sums.

    >>> round(chi_square_above(3.841459, 1), 6), round(chi_square_above(9.210340, 2), 6)
    (0.05, 0.01)
    """
    half = max(x, 0.0) / 2
    if half == 0:
        return 1.0
    odd = df % 2
    found = math.erfc(math.sqrt(half)) if odd else 0.0
    # each step of two degrees of freedom adds half^s e^-half / Gamma(s + 1)
    for step in range(df // 2):
        power = step + odd / 2
        found += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(found, 1.0)


def sign_test(wins: int, losses: int) -> float | None:
    """The exact two-sided p of so many wins and losses, were both as likely; None without any.

    >>> round(sign_test(8, 2), 6)
    0.109375
    """
    n, fewer = wins + losses, min(wins, losses)
    if not n:
        return None
    return min(1.0, 2 * beta_cdf(0.5, n - fewer, fewer + 1))  # P(X <= fewer)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b): the distribution of Beta(a, b).

    >>> round(beta_cdf(0.3, 2, 3), 4)
    0.3483
    """
    if not 0 < x < 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Lentz's method)."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d or tiny)
            c = 1 + step / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def scipy_stats(what: str) -> Any:
    """``scipy.stats``.

    Raises:
        UsageError: where scipy is not installed, naming what asked for it.
    """
    try:
        import scipy.stats
    except ImportError:
        raise UsageError(f"{what} needs scipy: pip install 'ndcg-spark[stats]'") from None
    return scipy.stats


def studentized_range_above(q: float, groups: int, df: int) -> float:
    """P(Q > q) for the studentized range of so many groups."""
    return float(scipy_stats("the tukey test").studentized_range.sf(q, groups, df))


@functools.cache  # a fifth of a second each, and the same for all measures
def studentized_range_quantile(p: float, groups: int, df: int) -> float:
    return float(scipy_stats("the tukey test").studentized_range.ppf(p, groups, df))


def exact_power(effect: float, n: int, alpha: float) -> float:
    """The power of a two-sided paired t test of n pairs at a standardized effect.

    The noncentral t distribution, integrated over the deviation's own (chi). Error 1e-10
    from three pairs on.

    >>> round(exact_power(0.9, 12, 0.05), 6)
    0.809785
    """
    df, shift = n - 1, abs(effect) * math.sqrt(n)
    critical = t_quantile(1 - alpha / 2, df)
    reach = 12 / math.sqrt(2 * df)  # deviations of the standard deviation
    low, high = max(0.0, 1 - reach), 1 + reach
    s = low + (high - low) * (_NODES + 1) / 2
    log = (df - 1) * np.log(s) - df * s * s / 2
    density = _WEIGHTS * np.exp(log - log.max())
    beyond = [_normal(shift - critical * x) + _normal(-shift - critical * x) for x in s.tolist()]
    return float(np.dot(density, beyond) / density.sum())


@functools.cache  # the same for every row of one n
def noncentrality(n: int, alpha: float, power: float) -> float:
    """The shift, mean over standard error, at which n pairs have this power; by bisection."""
    low, high = 0.0, 4.0
    while exact_power(high / math.sqrt(n), n, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        enough = exact_power(middle / math.sqrt(n), n, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return (low + high) / 2


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2
