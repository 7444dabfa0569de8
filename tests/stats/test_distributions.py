"""Student's t quantile against scipy."""

import pytest
from scipy import stats

from ndcg_spark.stats.distributions import t_quantile


@pytest.mark.parametrize("df", [1, 2, 3.5, 9, 49, 1000, 9e3, 2e4, 1e5, 9e6, 1e9])
@pytest.mark.parametrize("p", [0.9, 0.975, 0.9995, 0.025])
def test_equal_to_scipy(df, p):
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9)
