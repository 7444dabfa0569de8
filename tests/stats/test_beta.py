"""Quantiles of beta distributions against scipy."""

import numpy as np
import pytest
from scipy import special

from ndcg_spark.stats.beta import beta_cdfs, beta_quantiles


@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.95])
def test_equal_to_scipy(p):
    a = np.array([1.0, 1.0, 2.0, 8.0, 305.0, 5.0, 5e3, 1.5, 3e5, 1.0])
    b = np.array([1.0, 99.0, 38.0, 102.0, 795.0, 99.0, 95e4, 1.2, 7e5, 1e6])
    found = beta_quantiles(p, a, b)
    assert found == pytest.approx(special.betaincinv(a, b, p), rel=1e-9)
    assert beta_cdfs(found, a, b) == pytest.approx(np.full(len(a), p), rel=1e-8)


def test_on_many_at_once():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 10_000, 5000)
    k = rng.binomial(n, rng.beta(2, 38, 5000))
    a, b = 5.0 + k, 95.0 + n - k
    found = beta_quantiles(0.05, a, b)
    assert found == pytest.approx(special.betaincinv(a, b, 0.05), rel=1e-9)
