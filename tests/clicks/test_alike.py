"""Stored days are only put together where they were made alike; and their sums are exact."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest

from ndcg_spark.clicks import sums_kernel
from ndcg_spark.clicks.states import with_doubles
from tests.clicks.test_job import stored as stored
from tests.clicks.test_patterns import DAY

BEFORE = "2026-11-28"
CELL = (
    "event_date string, segment string, arm string, bucket int, measure string, n bigint, "
    "n_undefined bigint, sum_high bigint, sum_low bigint, sumsq_high bigint, sumsq_low bigint"
)


@pytest.fixture
def clicks(stored, run_cli, tmp_path):
    def call(date, *more):
        return run_cli(
            "clicks", "--impressions", stored, "--date", date, "--out", tmp_path / "out", *more
        )

    return call


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (("-m", "RR"), "measures"),
        (("--buckets", "20", "--clickless", "zero"), "buckets"),
        (("--dwell", "10=0.5,30=1", "--bot-impressions", "5"), "dwell"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_days_of_other_options_are_refused(clicks, run_cli, tmp_path, more, name):
    assert clicks(BEFORE)[0] == 0
    code, out, err = clicks(DAY, *more)
    assert (code, out) == (3, "")
    assert (
        f"E173: stored days of {tmp_path / 'out'} were made with other options than this run" in err
    )
    assert f"{name} ({BEFORE})" in err
    assert not (tmp_path / "out" / "daily_state" / f"event_date={DAY}").exists()  # before the work
    assert clicks(DAY, *more, "--days", "2")[0] == 0  # both days anew
    assert clicks(DAY, *more)[0] == 0
    assert clicks(DAY, "--window", "0")[0] == 0  # nothing is looked back at
    code, out, err = run_cli("compare", "--state", tmp_path / "out", "--baseline", "A")
    assert (code, out) == (3, "")
    assert "E173" in err
    assert f"than {BEFORE}: " in err
    assert f"{name} ({DAY})" in err
    one_day = ("compare", "--state", tmp_path / "out", "--baseline", "A", "--dates", DAY)
    assert run_cli(*one_day)[0] == 0


def test_days_of_an_earlier_version_are_refused(clicks, tmp_path):
    assert clicks(BEFORE)[0] == 0
    path = tmp_path / "out" / "click_manifest" / f"event_date={BEFORE}" / "_manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["options"]
    path.write_text(json.dumps(manifest))
    code, _, err = clicks(DAY)
    assert code == 3
    assert f"unit ({BEFORE})" in err


def test_a_mean_of_45_hundredths_is_45_hundredths(spark):
    rows = []
    for bucket in range(40):
        (high,), (low,) = sums_kernel.high_and_low(np.array([0.45]))
        n = 7 + bucket
        cell = (DAY, "all", "A", bucket, "nDCG", n, 0)
        rows.append((*cell, int(high) * n, int(low) * n, 0, 0))
    found = with_doubles(spark.createDataFrame(rows, CELL)).collect()
    assert all(row["sum"] == row["n"] * 0.45 for row in found)
    assert math.fsum(r["sum"] for r in found) / sum(r["n"] for r in found) == 0.45


def test_parts_are_exact():
    values = np.concatenate([np.random.default_rng(1).random(1000) * 2.0**k for k in (-8, 0, 9)])
    high, low = sums_kernel.high_and_low(values)
    whole = [(int(h) << sums_kernel.LOW) + int(w) for h, w in zip(high, low, strict=True)]
    for value, number in zip(values.tolist(), whole, strict=True):
        assert abs(number / 2**sums_kernel.UNIT - value) <= 2.0 ** -(sums_kernel.UNIT + 1)
        assert number >= 0
    assert low.max() <= 2**sums_kernel.LOW
    assert sums_kernel.MOST * 2**sums_kernel.LOW < 2**63


def test_more_than_the_parts_can_hold_is_refused(spark):
    row = (DAY, "all", "A", 0, "nDCG", sums_kernel.MOST + 1, 0, 1, 1, 1, 1)
    with pytest.raises(Exception, match="E136: more than 67108864 impressions of one bucket"):
        with_doubles(spark.createDataFrame([row], CELL)).collect()


def test_the_manifest_has_the_options(clicks, tmp_path):
    assert clicks(DAY, "-m", "RR,nDCG@10")[0] == 0
    path = tmp_path / "out" / "click_manifest" / f"event_date={DAY}" / "_manifest.json"
    options = json.loads(path.read_text())["options"]
    assert options["measures"] == ["RR", "nDCG@10"]
    assert options["unit"] == sums_kernel.UNIT
    state = pq.read_table(tmp_path / "out" / "daily_state")
    assert set(state.column("measure").to_pylist()) == {"RR", "nDCG@10"}
