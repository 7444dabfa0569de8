"""The error of an estimate counts that of the propensities: by simulation, and by leaving out."""

from __future__ import annotations

import numpy as np
import pytest

from ndcg_spark.clicks.influence_kernel import influence, rank_influence
from ndcg_spark.clicks.position_kernel import Cells
from tools.simulations import DEPTH, METHODS, World, coverage, propensities, trend_coverage


@pytest.mark.slow
@pytest.mark.parametrize("buckets", [20, 200])
@pytest.mark.parametrize("lasting", [0.0, 0.2])
def test_a_trend_holds_with_users_that_last_and_without(buckets, lasting):
    apart, together = trend_coverage(buckets, lasting, 1000)
    assert together == pytest.approx(0.95, abs=0.025)
    if lasting:
        assert apart > 0.99  # far too wide: nothing would ever be noticed


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_the_truth(method):
    found = coverage(method, 20_000, 150)
    assert found["full"] > 0.88  # 95 percent, and the noise of 150 logs
    if method in ("adjacent_chain", "pivot"):
        assert found["plain"] < 0.6  # as if the propensities were known
    assert found["error"] == pytest.approx(found["deviation"], rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_influence_of_one_click_is_what_one_more_click_does(method):
    """h is the derivative of the estimate by a cell's clicks, through the propensities alone."""
    world = World()
    log = world.log(40_000, 3, method == "randomized")
    cells = log.cells
    slopes = np.linspace(-3.0, -1.0, DEPTH)[None, :] * 1000
    if method == "randomized":
        n = np.full(DEPTH, float(len(log.docs)))
        h, _ = rank_influence(n, log.clicked.sum(0), slopes)
        for rank in (0, 3):
            more = log.clicked.copy()
            more[np.flatnonzero(more[:, rank] == 0)[:20], rank] = 1.0
            changed = type(log)(log.docs, more, log.bucket)
            found = [np.log(propensities(method, x, cells)) for x in (log, changed)]
            assert slopes[0] @ (found[1] - found[0]) / 20 == pytest.approx(h[0, rank], rel=0.02)
        return
    p = propensities(method, log, cells)
    h, _ = influence(method, cells, p, slopes)
    useful = np.argwhere((cells.shown > 300) & (cells.clicked > 20))
    for doc, rank in useful[:: max(len(useful) // 8, 1)]:
        clicked = cells.clicked.copy()
        clicked[doc, rank] += 1.0
        changed = propensities(method, log, Cells(cells.shown, clicked))
        moved = slopes[0] @ (np.log(changed) - np.log(p))
        assert moved == pytest.approx(h[0, doc, rank], rel=0.05, abs=0.02)
