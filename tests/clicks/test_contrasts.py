"""Differences between arms over days: exact sums, the users' past, looking every night."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize, stats

from ndcg_spark.arrays.schemas import arrow_schema
from ndcg_spark.clicks.contrasts_kernel import CELL, PAST, Design, contrasts
from ndcg_spark.clicks.summary import DIFFERENCES
from ndcg_spark.clicks.sums_kernel import MOST, high_and_low
from ndcg_spark.errors import InputError
from ndcg_spark.stats.distributions import chi_square_above
from ndcg_spark.stats.sequences import always_valid_p, half_width, planned_mixture


def cells_of(sums, counts, day="2026-11-01", arms="AB"):
    """Cells of (arms, buckets) sums and counts; each bucket's sum as one value times its count."""
    found = []
    for arm, name in enumerate(arms):
        for bucket, (total, n) in enumerate(zip(sums[arm], counts[arm], strict=True)):
            (high,), (low,) = high_and_low(np.array([total]))
            found.append(
                dict(zip(CELL, (day, name, bucket, int(n), 0, int(high), int(low)), strict=True))
            )
    return found


def rows_of(cells, smallest=1, baseline="A", segment="all", **options):
    kinds = [(name, pa.string() if name in CELL[:2] else pa.int64()) for name in CELL]
    column = pa.array([cells], pa.list_(pa.struct(kinds)))
    batch = pa.record_batch(
        {"segment": pa.array([segment]), "measure": pa.array(["RR"]), "cells": column}
    )
    design = Design(smallest, baseline, **options)
    return next(contrasts(iter([batch]), design, arrow_schema(DIFFERENCES))).to_pylist()


@pytest.fixture
def two_arms():
    rng = np.random.default_rng(5)
    user = rng.normal(0.5, 0.2, 30)  # what a bucket of users brings to both arms
    n = rng.integers(5, 15, (2, 30))
    return n * (user + rng.normal(0, 0.02, (2, 30)) + [[0.0], [0.05]]), n


def test_what_two_arms_owe_to_the_same_users_is_taken_together(two_arms):
    """Users in both arms: the error of the difference of means, bucket by bucket, by hand."""
    sums, n = two_arms
    (row,) = rows_of(cells_of(sums, n))
    means = sums.sum(axis=1) / n.sum(axis=1)
    own = (sums - means[:, None] * n) / n.sum(axis=1)[:, None]
    se = np.sqrt(30 / 29 * np.sum((own[1] - own[0]) ** 2))
    assert row["delta"] == pytest.approx(means[1] - means[0])
    assert row["se"] == pytest.approx(se)
    assert row["se"] < 0.5 * np.sqrt(30 / 29 * np.sum(own**2))  # as if the users were others
    assert (row["first_date"], row["days"], row["estimate"]) == ("2026-11-01", 1, "plain")
    assert row["cs_low"] is row["p_anytime"] is row["theta"] is None


def test_days_add_up_exactly_in_any_order(two_arms):
    sums, n = two_arms
    thirds = [cells_of(sums, n, f"2026-11-0{k}") for k in (1, 2, 3)]
    one = cells_of(sums, n)
    for cell in one:
        for name in CELL[3:]:
            cell[name] *= 3
    (whole,) = rows_of(one)
    for order in ((0, 1, 2), (2, 0, 1)):
        (row,) = rows_of([cell for k in order for cell in thirds[k]])
        assert row["days"] == 3
        assert {k: v for k, v in row.items() if k != "days"} == {
            k: v for k, v in whole.items() if k != "days"
        }


def test_without_a_baseline_a_mean_is_compared_with_0(two_arms):
    sums, n = two_arms
    (row,) = rows_of(cells_of(sums[:1], n[:1], arms="A"), baseline=None)
    mean = sums[0].sum() / n[0].sum()
    assert row["delta"] == pytest.approx(mean)
    own = (sums[0] - mean * n[0]) / n[0].sum()
    assert row["se"] == pytest.approx(math.sqrt(30 / 29 * np.sum(own**2)))


def test_the_past_is_a_regression_over_buckets(two_arms):
    """theta, the adjusted difference, its error and what it removes, against least squares."""
    sums, n = two_arms
    rng = np.random.default_rng(6)
    earlier_n = rng.integers(5, 15, (2, 30))
    earlier = earlier_n * (sums / n + rng.normal(0, 0.1, (2, 30)))
    plain, adjusted = rows_of([*cells_of(sums, n), *cells_of(earlier, earlier_n, PAST)])

    def linear(values, counts):
        mean = values.sum(axis=1) / counts.sum(axis=1)
        own = (values - mean[:, None] * counts) / counts.sum(axis=1)[:, None]
        return mean[1] - mean[0], own[1] - own[0]

    (delta, now), (before, past) = linear(sums, n), linear(earlier, earlier_n)
    fit = stats.linregress(past, now)
    assert adjusted["theta"] == pytest.approx(fit.slope)
    assert adjusted["variance_removed"] == pytest.approx(fit.rvalue**2)
    assert adjusted["delta"] == pytest.approx(delta - fit.slope * before)
    rest = now - fit.slope * past
    assert adjusted["se"] == pytest.approx(math.sqrt(30 / 28 * np.sum(rest**2)))
    half = stats.t.ppf(0.975, 28) * adjusted["se"]
    assert adjusted["ci_high"] - adjusted["delta"] == pytest.approx(half)
    assert (plain["estimate"], adjusted["estimate"]) == ("plain", "cuped")
    assert plain["delta"] == pytest.approx(delta)


def smallest_alpha(delta, v, f):
    """The alpha whose sequence just reaches 0, found by bisection."""
    if half_width(v, f, 1.0) > delta:
        return 1.0
    return optimize.brentq(lambda alpha: half_width(v, f, alpha) - delta, 1e-9, 1.0)


def test_the_sequence_of_nights_by_hand(two_arms):
    _, n = two_arms
    rng = np.random.default_rng(7)
    days = [(n * rng.normal(0.5, 0.1, n.shape), n) for _ in range(4)]
    cells = [c for k, day in enumerate(days, 1) for c in cells_of(*day, f"2026-11-0{k}")]
    rows = [
        rows_of([c for c in cells if c["event_date"] <= f"2026-11-0{k}"], planned=4)[0]
        for k in range(1, 5)
    ]
    f = 6 * rows[0]["se"] ** 2 * (1 / 4) ** 0.25
    smallest = 1.0
    for row in rows:
        v = row["se"] ** 2
        half = math.sqrt(v * (v + f) / f * math.log((v + f) / (0.05**2 * v)))
        assert row["mixture"] == pytest.approx(f)  # fixed on the first night
        assert row["cs_high"] - row["delta"] == pytest.approx(half)
        assert row["cs_low"] < row["ci_low"] < row["ci_high"] < row["cs_high"]
        own = smallest_alpha(abs(row["delta"]), v, f)
        smallest = min(smallest, own)
        assert row["p_anytime"] == pytest.approx(smallest)
    (row,) = rows_of(cells, planned=4, mixtures={("all", "RR", "B", "plain"): 2.5})
    assert row["mixture"] == 2.5


def test_what_cannot_be_known_is_left_empty(two_arms):
    sums, n = two_arms
    few = cells_of(sums[:, :19], n[:, :19])
    (row,) = rows_of(few, planned=14)
    assert row["se"] is row["cs_low"] is row["p_anytime"] is row["mixture"] is None
    same = cells_of(np.ones((2, 30)), np.ones((2, 30), int))
    (row,) = rows_of(same, planned=14)
    assert row["delta"] == 0
    assert row["cs_low"] is row["p_anytime"] is None
    assert rows_of(cells_of(sums, n), smallest=10**6) == []
    assert rows_of(cells_of(sums, n), baseline="C") == []
    # an arm that comes later: the sequence begins with it
    later = [*cells_of(sums[:1], n[:1], "2026-10-31", "A"), *cells_of(sums, n)]
    (row,) = rows_of(later, planned=14)
    assert (row["days"], row["p_anytime"] is None) == (2, False)


def test_more_than_the_parts_can_hold_is_refused(two_arms):
    sums, n = two_arms
    cells = cells_of(sums, n)
    cells[3]["n"] = MOST + 1
    with pytest.raises(InputError, match="E136: more than 67108864 impressions of one bucket"):
        rows_of(cells)


def test_sequences_against_the_table_of_the_design():
    """Width over that of the fixed 95 percent interval, with mixture 6 V and 84 V (night 1)."""
    fixed = stats.norm.ppf(0.975)
    assert half_width(1.0, 6.0, 0.05) / fixed == pytest.approx(1.55, abs=0.005)
    assert half_width(14.0, 6.0, 0.05) / fixed / math.sqrt(14) == pytest.approx(2.35, abs=0.005)
    assert half_width(14 / 30, 6.0, 0.05) / fixed / math.sqrt(14 / 30) == pytest.approx(
        1.56, abs=0.01
    )
    assert always_valid_p(0.0, 1.0, 6.0) == 1.0
    assert always_valid_p(half_width(3.0, 2.0, 0.001), 3.0, 2.0) == pytest.approx(0.001)
    # between the plan's two worlds neither costs more than 5 percent
    for at, left in ((14, 1.0), (14, 1 / 14)):
        width = half_width(left, planned_mixture(1.0, 1, at), 0.05) / math.sqrt(left)
        assert width < 1.05 * half_width(1.0, 6.0, 0.05)
    assert planned_mixture(2.0, 20, 14) == 12.0


@pytest.mark.parametrize("df", range(1, 9))
def test_chi_square(df):
    for x in (0.0, 1e-9, 0.1, 1.0, 5.0, 30.0, 200.0, 1400.0):
        assert chi_square_above(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-10)
