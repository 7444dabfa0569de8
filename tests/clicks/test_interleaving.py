"""Interleaved lists: credits by hand, a random clicker, a better ranker, nights that add up."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import ndcg_spark as nd
from ndcg_spark.clicks.drafts_kernel import drafted
from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.clicks.teams_kernel import CreditCounts
from ndcg_spark.stats.distributions import sign_test

FIRST, SECOND = "2026-11-28", "2026-11-29"
# (teams, clicks) -> the credit of B over A
BY_HAND = [
    (["A", "B", "A", "B"], [1, 0, 0, 0], -1.0),
    (["A", "B", "A", "B"], [0, 1, 0, 1], 2.0),
    (["B", "A", None, "A"], [1, 1, 1, 0], 0.0),
    (["B", "A", None, "A"], [0, 0, 1, 0], 0.0),  # a shared place: a tie
    (["A", "B"], [0, 0], None),  # no click
]


def batch_of(rows):
    return pa.record_batch(
        {
            "clicks": pa.array([row[1] for row in rows], pa.list_(pa.float64())),
            "teams": pa.array([row[0] for row in rows], pa.list_(pa.string())),
        }
    )


@pytest.mark.parametrize(("baseline", "sign"), [("A", 1), ("B", -1)])
def test_credits_by_hand(baseline, sign):
    kernel = CreditCounts(Gains(), (), baseline)
    for teams, clicks, credit in BY_HAND:
        (row,) = next(kernel(iter([batch_of([(teams, clicks)])]))).to_pylist()
        assert row == {
            "problem": None, "credit": sign * (credit or 0), "clicked": credit is not None, "n": 1
        }  # fmt: skip


@pytest.mark.parametrize(
    ("teams", "clicks", "problem"),
    [
        (["A", "C"], [1, 0], "bad_teams"),
        (["a", "B"], [1, 0], "bad_teams"),
        ([None, None], [1, 0], "no_team"),
        (["", None], [1, 0], "no_team"),
        (["A"], [1, 0], "bad_lengths"),
        (["A", "B"], [1, -1], "bad_values"),
        ([], [], "empty"),
    ],
)
def test_what_is_wrong_has_a_name(teams, clicks, problem):
    kernel = CreditCounts(Gains(), (), "A")
    good = (["A", "B"], [0, 1])
    found = next(kernel(iter([batch_of([good, (teams, clicks), good])]))).to_pylist()
    rows = {row["problem"]: row for row in found}
    assert rows[problem] == {"problem": problem, "credit": 0.0, "clicked": False, "n": 1}
    assert rows[None] == {"problem": None, "credit": 1.0, "clicked": True, "n": 2}


def test_gains_are_credited():
    gains = Gains((("clicks", 1.0), ("sales", 5.0)))
    rows = batch_of([(["A", "B"], [1, 1])]).append_column("sales", pa.array([[0.0, 2.0]]))
    (row,) = next(CreditCounts(gains, (), "A")(iter([rows]))).to_pylist()
    assert row["credit"] == 4.0


def test_sign_test():
    for wins, losses in ((8, 2), (2, 8), (5, 5), (0, 3), (520, 470), (1, 0)):
        oracle = stats.binomtest(wins, wins + losses).pvalue
        assert sign_test(wins, losses) == pytest.approx(oracle, rel=1e-9)
    assert sign_test(0, 0) is None


def lists_of(better, n, seed, depth=5, documents=8):
    """(teams, clicks) of n drafts of two rankers of documents of known worth; clicks go down the
    list. better: how much of B's order is by worth; A's is chance."""
    rng = np.random.default_rng(seed)
    worth = rng.random((n, documents))
    a = np.argsort(rng.random((n, documents)), axis=1)
    b = np.argsort(-(better * worth + (1 - better) * rng.random((n, documents))), axis=1)
    base = np.arange(n)[:, None] * documents
    wanted = np.stack([a + base, b + base])[:, :, :depth]
    found, owner = drafted(wanted, rng.integers(0, 2, (n, depth)))
    p = 0.5 * worth[np.arange(n)[:, None], found - base] / np.arange(1, depth + 1)
    return np.array(["A", "B"])[owner], (rng.random(p.shape) < p).astype(int)


def write(place, day, teams, clicks, long=False):
    place.mkdir(exist_ok=True)
    n = len(teams)
    rows = {
        "event_date": [day] * n,
        "impression_id": [f"{day}-{i}" for i in range(n)],
        "user_id": [f"u{i % 300}" for i in range(n)],
        "device": ["desktop" if i % 3 else "mobile" for i in range(n)],
    }
    lists = {"picked": teams.tolist(), "clicks": clicks.tolist()}
    table = pa.table({**rows, **lists})
    if long:
        flat = {k: [v for v, row in zip(rows[k], lists["clicks"], strict=True) for _ in row]
                for k in rows}  # fmt: skip
        flat["rank"] = [i + 1 for row in lists["clicks"] for i in range(len(row))]
        flat |= {name: [v for row in lists[name] for v in row] for name in lists}
        table = pa.table(flat)
    pq.write_table(table, place / f"{day}.parquet")


@pytest.fixture
def interleaving(tmp_path, run_cli):
    def call(date, *more, log="log", code=0):
        command = ("interleaving", "--impressions", tmp_path / log, "--date", date, "--team",
                   "picked", "--format", "json")  # fmt: skip
        status, text, err = run_cli(*command, *more)
        assert status == code, err
        return json.loads(text) if text else err

    return call


def row_of(found, measure="preference", period="day", segment="all"):
    (row,) = [
        row for row in found["interleaving"]
        if (row["measure"], row["period"], row["segment"]) == (measure, period, segment)
    ]  # fmt: skip
    return row


@pytest.mark.every_engine
def test_a_better_ranker_wins_and_nights_add_up(interleaving, tmp_path, spark):
    own = {day: lists_of(0.6, 1500, seed) for seed, day in enumerate((FIRST, SECOND))}
    for day, (teams, clicks) in own.items():
        write(tmp_path / "log", day, teams, clicks)
    asked = ("--out", tmp_path / "out", "--since", FIRST, "--anytime", "--segments", "device")
    for day in (FIRST, SECOND):
        found = interleaving(day, *asked)
    teams, clicks = (np.concatenate([pair[k] for pair in own.values()]) for k in (0, 1))
    credit = np.where(teams == "B", clicks, -clicks).sum(axis=1)
    clicked = clicks.any(axis=1)
    row = row_of(found, period="experiment")
    assert [row[k] for k in ("n", "n_clickless", "wins", "ties", "losses")] == [
        3000, (~clicked).sum(), (credit > 0).sum(), (clicked & (credit == 0)).sum(),
        (credit < 0).sum(),
    ]  # fmt: skip
    n = clicked.sum()
    assert row["delta"] == pytest.approx((row["wins"] + row["ties"] / 2) / n - 0.5)
    assert row_of(found, "credit", "experiment")["delta"] == pytest.approx(credit[clicked].mean())
    assert row["p_anytime"] < 0.01
    assert 0 < row["cs_low"] < row["ci_low"] < row["delta"]
    assert row["sign_p"] < 0.01
    parts = [
        row_of(found, period="experiment", segment=f"device={d}") for d in ("mobile", "desktop")
    ]
    assert sum(part["n"] for part in parts) == 3000
    flipped = interleaving(SECOND, "--baseline", "B")
    assert row_of(flipped)["delta"] == -row_of(found)["delta"]
    zero = row_of(interleaving(SECOND, "--clickless", "zero"))
    assert (zero["n_clickless"], zero["delta"] < row_of(found)["delta"]) == (0, True)

    # one row a result, and from Python
    write(tmp_path / "long", SECOND, *own[SECOND], long=True)
    by_rows = interleaving(SECOND, log="long")
    assert row_of(by_rows) == row_of(found)
    state = nd.clicks.interleaved(tmp_path / "log", date=SECOND, days=2, team="picked")
    by_api = nd.clicks.preferences(state, anytime=True).where("segment = 'all'").collect()
    same = {r["measure"]: r for r in by_api}["preference"]
    assert [same[k] for k in ("delta", "se", "cs_low")] == [
        row[k] for k in ("delta", "se", "cs_low")
    ]

    err = interleaving(
        SECOND, "--out", tmp_path / "out", "--since", FIRST, "--buckets", "50", code=3
    )
    assert "E173" in err
    assert "buckets (2026-11-28)" in err


def test_a_random_clicker_prefers_none(interleaving, tmp_path):
    teams, clicks = lists_of(0.9, 4000, 5)
    clicks = (np.random.default_rng(6).random(clicks.shape) < 0.2).astype(int)
    write(tmp_path / "log", SECOND, teams, clicks)
    row = row_of(interleaving(SECOND))
    assert abs(row["t"]) < 2.5
    assert row["sign_p"] > 0.01


def test_a_log_that_was_not_interleaved_is_refused(interleaving, tmp_path):
    teams, clicks = lists_of(0.5, 40, 1)
    write(tmp_path / "log", SECOND, np.full(teams.shape, "C"), clicks)
    err = interleaving(SECOND, "--out", tmp_path / "out", code=3)
    assert "E103: no interleaved impression of 2026-11-29" in err
    assert "bad_teams 40" in err
    assert not (tmp_path / "out" / "interleaving_state").exists()
    err = interleaving(SECOND, "--team", "who", code=3)
    assert "E110" in err
    assert "'who'" in err or "who" in err
