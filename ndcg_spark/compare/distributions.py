"""The distributions that need scipy (the extra ``stats``), and what to do without it."""

from __future__ import annotations

import functools
import math
from typing import Any

from ndcg_spark.errors import UsageError


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
    """The power of a two-sided paired t test of n pairs at a standardized effect."""
    stats = scipy_stats("the exact sample size")
    critical, shift = stats.t.ppf(1 - alpha / 2, n - 1), effect * math.sqrt(n)
    return float(stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift))
