"""A candidate judged by the impressions that showed just its list."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DAY = "2026-11-29"
ORDERS = [["a", "b"], ["b", "a"]]
SHOWN = (0.25, 0.75)  # with which the policy shows each order
RATE = {"a": 0.6, "b": 0.2}  # clicks at rank 1; half at rank 2


def write(place, n=6000, propensities=None, seed=4):
    rng = np.random.default_rng(seed)
    which = (rng.random(n) < SHOWN[1]).astype(int)
    docs = [ORDERS[k] for k in which]
    rates = np.array([[RATE[doc] / (rank + 1) for rank, doc in enumerate(own)] for own in docs])
    clicks = (rng.random((n, 2)) < rates).astype(int)
    p = [SHOWN[k] for k in which] if propensities is None else propensities * n
    table = {
        "impression_id": [str(i) for i in range(n)], "event_date": [DAY] * n,
        "query_id": ["q"] * n, "user_id": [f"u{i % 700}" for i in range(n)], "doc_id": docs,
        "clicks": clicks.tolist(), "propensity": p,
    }  # fmt: skip
    pq.write_table(pa.table(table), place / "log.parquet")
    run = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]}
    pq.write_table(pa.table(run), place / "run.parquet")
    return which, clicks


def command(place, *more):
    return ("click-bias", "--impressions", place / "log.parquet", "--date", DAY, "--candidate",
            place / "run.parquet", "--depth", "2", "--utility", "recall", "--format", "json",
            *more)  # fmt: skip


@pytest.mark.parametrize(
    "method", [pytest.param("em", marks=pytest.mark.every_engine), "power_law"]
)
def test_by_hand_and_by_truth(tmp_path, run_cli, method):
    which, clicks = write(tmp_path)
    code, out, err = run_cli(*command(tmp_path, "--method", method, "--out", tmp_path / "out"))
    assert code == 0, err
    found = json.loads(out)["off_policy"]
    weight = np.where(which == 0, 1 / SHOWN[0], 0.0)
    value = clicks.sum(axis=1)
    assert found["n_matched"] == (which == 0).sum()
    assert found["n_impressions"] == len(which)
    assert found["ips_impression"] == pytest.approx((weight * value).mean())
    assert found["snips_impression"] == pytest.approx((weight * value).sum() / weight.sum())
    assert found["ess"] == pytest.approx((which == 0).sum())
    truth = RATE["a"] + RATE["b"] / 2
    for name in ("ips", "snips"):
        assert abs(found[f"{name}_impression"] - truth) < 3 * found[f"{name}_se"]
        assert found[f"{name}_low"] < truth < found[f"{name}_high"]
    assert found["snips_se"] < found["ips_se"]
    written = pq.read_table(tmp_path / "out" / "off_policy").to_pylist()
    assert written == [found]


def test_propensities_that_are_none(tmp_path, run_cli):
    write(tmp_path, n=400, propensities=[1.5])
    code, _, err = run_cli(*command(tmp_path, "--method", "power_law"))
    assert code == 3, err
    assert "E114: impressions: a propensity is 1.5, not above 0 and at most 1" in err


def test_a_log_without_propensities_is_judged_as_before(tmp_path, run_cli):
    write(tmp_path, n=400)
    table = pq.read_table(tmp_path / "log.parquet").drop_columns("propensity")
    pq.write_table(table, tmp_path / "log.parquet")
    code, out, err = run_cli(*command(tmp_path, "--method", "power_law"))
    assert code == 0, err
    assert json.loads(out)["off_policy"] is None
