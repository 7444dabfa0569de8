"""Estimates from sums per bucket: IPS and SNIPS with errors: numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.clicks.clusters_kernel import Arm, interval, standard_error
from ndcg_spark.measures.batch import Array

ESTIMATES = (
    "name string, run string, utility string, n_impressions bigint, n_clicks bigint, ips double, "
    "se double, ci_low double, ci_high double, n_buckets bigint, snips_click double, ess double, "
    "ess_share double, max_weight_share double, n_clipped bigint, n_unsupported bigint"
)


def ips_estimate(
    rows: Sequence[Mapping[str, Any]], impressions: Array, pull: Array | None = None
) -> dict[str, Any]:
    """The estimate of one table of propensities from its rows of IPS_STATE.

    impressions: (buckets,) impressions of each bucket, clickless ones included
    pull: (buckets,) what each bucket's clicks move the estimate by way of the propensities that
        were fitted to them; None where the propensities are given

    ips: mean worth of an impression, (1/N) sum of lambda / propensity, with an error clustered by
    user. snips_click: the same sum divided by the clicks' weights: a mean per relevant document,
    not per impression. ess = (sum w)^2 / sum w^2 clicks; max_weight_share: of the largest weight.
    """
    sums = _by_bucket(rows, len(impressions))
    arm = Arm(sums, impressions)
    clicks = sum(int(row["n_clicks"]) for row in rows)
    weight = math.fsum(row["sum_weight"] for row in rows)
    squared = math.fsum(row["sum_weight_squared"] for row in rows)
    largest = max((row["max_weight"] for row in rows), default=0.0)
    se = standard_error(_pulled(arm, pull), arm.used)
    low, high = interval(arm.mean or 0.0, se, arm.used, 0.95)
    ess = weight**2 / squared if squared else None
    return {
        "n_impressions": int(arm.n),
        "n_clicks": clicks,
        "ips": arm.mean,
        "se": se,
        "ci_low": low,
        "ci_high": high,
        "n_buckets": arm.used,
        "snips_click": float(sums.sum()) / weight if weight else None,
        "ess": ess,
        "ess_share": ess / clicks if ess is not None and clicks else None,
        "max_weight_share": largest / weight if weight else None,
        "n_clipped": sum(int(row["n_clipped"]) for row in rows),
        "n_unsupported": sum(int(row["n_unsupported"]) for row in rows),
    }


def ips_difference(
    one: Sequence[Mapping[str, Any]],
    other: Sequence[Mapping[str, Any]],
    impressions: Array,
    pull: Array | None = None,
) -> tuple[float, float | None]:
    """IPS of `one` less that of `other`, and its error: both are sums over the same users."""
    buckets = len(impressions)
    arm = Arm(_by_bucket(one, buckets) - _by_bucket(other, buckets), impressions)
    return arm.mean or 0.0, standard_error(_pulled(arm, pull), arm.used)


def _pulled(arm: Arm, pull: Array | None) -> Array:
    return arm.residuals if pull is None else arm.residuals + pull / (arm.n or 1.0)


def _by_bucket(rows: Sequence[Mapping[str, Any]], buckets: int) -> Array:
    sums = np.zeros(buckets)
    for row in rows:  # one row a bucket and rank
        sums[row["bucket"]] += row["sum_value"]
    return sums


def sign_flips(points: Iterable[tuple[float, float]]) -> list[float]:
    """Where a curve of (eta, difference) crosses zero, between its points on a straight line.

    >>> sign_flips([(0.5, -0.1), (1.0, 0.1)])
    [0.75]
    """
    ordered = sorted(points)
    found = []
    for (a, left), (b, right) in itertools.pairwise(ordered):
        if left == 0:
            found.append(a)
        elif left * right < 0:
            found.append(a + (b - a) * left / (left - right))
    return found
