"""Effect sizes, detectable differences and sample sizes."""

from __future__ import annotations

import math
from statistics import NormalDist

from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.stats.distributions import exact_power, noncentrality

METHODS = ("guenther", "normal", "exact")


def hedges(n: int) -> float:
    """The factor that takes the bias out of a standardized mean difference of n pairs.

    >>> round(1.0225 * hedges(10), 4)
    0.9349
    """
    return 1 - 3 / (4 * (n - 1) - 1)


def detectable(std: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that n queries detect with this power in a two-sided t test.

    std: standard deviation of the per-query differences

    By the noncentral t distribution: the normal formula promises too much for few queries (at ten
    a power of .70 where .80 is asked for).

    >>> round(detectable(0.056725, 10), 6)
    0.056498
    """
    return noncentrality(n, alpha, power) * std / math.sqrt(n)


def sample_size(
    std: float, difference: float, alpha: float = 0.05, power: float = 0.8, method: str = "guenther"
) -> int:
    """How many queries detect a true difference with this power in a two-sided paired t test.

    std: standard deviation of the per-query differences
    method: normal; guenther, which adds z^2 / 2 for the t distribution (Guenther 1981); exact, by
        the noncentral t distribution

    >>> [sample_size(0.056725, 0.03, method=m) for m in ("normal", "guenther")]
    [29, 30]

    Raises:
        UsageError: for a difference of 0, a negative deviation, or a method that does not exist.
    """
    if not difference or std < 0:
        raise UsageError("sample_size needs a difference other than 0 and a deviation >= 0")
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    plain = (_z(alpha, power) * std / difference) ** 2
    if method == "normal":
        return max(2, math.ceil(plain))
    guenther = max(2, math.ceil(plain + _z(alpha, 0.5) ** 2 / 2))
    if method == "guenther":
        return guenther
    n = max(2, math.ceil(plain))  # never more than the exact size
    while std and exact_power(abs(difference) / std, n, alpha) < power:
        n += 1
    return n


def _z(alpha: float, power: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
