"""A night of an experiment: the split, sequences over stored nights, the users' past, the gates."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.splits import ratio_rows
from ndcg_spark.errors import UsageError
from ndcg_spark.stats.gates import Gate

BEFORE, FIRST, SECOND = "2026-11-26", "2026-11-27", "2026-11-28"


def write_log(place, days, users=160, seed=3, arm=lambda user: "AB"[user % 2], more=()):
    """Impressions of four results: every user has a lasting taste; arm by user, none BEFORE."""
    rng = np.random.default_rng(seed)
    taste = rng.random(users) * 0.6
    place.mkdir(exist_ok=True)
    for day in days:
        user = np.repeat(np.arange(users), 3)
        clicks = rng.random((len(user), 4)) < taste[user][:, None]
        arms = [None if day == BEFORE else arm(u) for u in user]
        rows = {
            "event_date": [day] * len(user),
            "impression_id": [f"{day}-{i}" for i in range(len(user))],
            "user_id": [f"u{u}" for u in user],
            "arm": pa.array(arms, pa.string()),
            "clicks": clicks.astype(int).tolist(),
        }
        pq.write_table(pa.table(rows), place / f"{day}.parquet")
    return place


@pytest.fixture
def night(tmp_path, run_cli):
    """Run `clicks` for a day of the log; (exit code, what it found, stderr)."""
    log = write_log(tmp_path / "log", (BEFORE, FIRST, SECOND))

    def call(date, *more, code=0, out="out"):
        command = ("clicks", "--impressions", log, "--date", date, "--baseline", "A", "-m", "P@4",
                   "--clickless", "zero", "--format", "json", "--out", tmp_path / out)  # fmt: skip
        status, text, err = run_cli(*command, *more)
        assert status == code, err
        return (json.loads(text) if text else None), err

    return call


def of(found, period, estimate="plain", segment="all"):
    (row,) = [
        row for row in found["differences"]
        if (row["period"], row["estimate"], row["segment"]) == (period, estimate, segment)
    ]  # fmt: skip
    return row


@pytest.mark.every_engine
def test_two_nights_of_an_experiment(night, tmp_path, run_cli):
    since = ("--since", FIRST, "--anytime")
    one, _ = night(FIRST, *since)
    assert of(one, "experiment")["delta"] == of(one, "day")["delta"]
    two, _ = night(SECOND, *since)
    row = of(two, "experiment")
    assert (row["days"], row["first_date"]) == (2, FIRST)
    assert row["mixture"] == of(one, "experiment")["mixture"]  # fixed on the first night
    assert row["cs_low"] < row["ci_low"] < row["ci_high"] < row["cs_high"]
    assert of(two, "day")["mixture"] is None
    split = {(r["period"], r["arm"]): r for r in two["sample_ratio"]}
    assert {r["users"] for r in split.values()} == {80}
    assert [split["experiment", arm]["impressions"] for arm in "AB"] == [480, 480]
    assert {r["verdict"] for r in split.values()} == {"ok"}
    assert {r["sample_ratio"] for r in two["differences"]} == {"ok"}

    # both days in one run, a night that runs again, and the other order: the same numbers
    both, _ = night(SECOND, "--days", "2", *since, out="both")
    again, _ = night(SECOND, *since)
    assert both["differences"] == again["differences"] == two["differences"]
    state = pq.read_table(tmp_path / "out" / "daily_state")
    by_api = nd.clicks.differences(state, "A", anytime=True).where("segment = 'all'").collect()
    assert {k: v for k, v in row.items() if k not in ("period", "sample_ratio")} == (
        by_api[0].asDict()
    )

    # the same from `compare --state`
    compare = ("compare", "--state", tmp_path / "out", "--baseline", "A", "--format", "json")
    code, text, err = run_cli(*compare, "--anytime", "--out", tmp_path / "compared")
    assert code == 0, err
    (pair,) = json.loads(text)["comparison"]
    assert [pair[k] for k in ("cs_low", "p_anytime")] == [row[k] for k in ("cs_low", "p_anytime")]
    assert "p_anytime" in pq.read_table(tmp_path / "compared" / "comparison").column_names
    assert run_cli(*compare, "--fail-if", "P@4 different anytime")[0] == 2  # without --anytime
    code, _, err = run_cli(*compare, "--anytime", "--fail-if", "P@4 different anytime")
    assert (code, "always valid p" in err) == ((4, True) if row["p_anytime"] < 0.05 else (0, False))
    code, _, err = run_cli(*compare, "--anytime", "--anytime-at", "7")
    assert (code, "E173" in err) == (3, True)


def test_a_mixture_is_fixed_even_where_the_first_night_runs_again(night, tmp_path):
    since = ("--since", FIRST, "--anytime")
    one, _ = night(FIRST, *since)
    write_log(tmp_path / "log", (FIRST,), seed=9)  # the night's log has changed
    again, _ = night(FIRST, *since)
    assert of(again, "experiment")["mixture"] == of(one, "experiment")["mixture"]
    assert of(again, "experiment")["se"] != of(one, "experiment")["se"]
    _, err = night(SECOND, *since, "--anytime-at", "7", code=3)
    assert "began with --anytime-at 14 (2026-11-27), not 7" in err
    assert not (tmp_path / "out" / "daily_state" / f"event_date={SECOND}").exists()


def test_the_past_of_the_users(night, tmp_path, run_cli):
    asked = ("--since", FIRST, "--cuped", "1", "--anytime")
    found, _ = night(FIRST, *asked)
    plain, adjusted = of(found, "experiment"), of(found, "experiment", "cuped")
    assert adjusted["variance_removed"] > 0.2  # users' tastes last
    assert adjusted["se"] < plain["se"]
    assert adjusted["cs_high"] - adjusted["cs_low"] < plain["cs_high"] - plain["cs_low"]
    pre = tmp_path / "out" / "pre_state" / f"since={FIRST}"
    written = sorted(pre.glob("*.parquet"))[0].stat().st_mtime_ns
    (tmp_path / "log" / f"{BEFORE}.parquet").unlink()  # it was read once, on the first night
    two, _ = night(SECOND, *asked)
    assert sorted(pre.glob("*.parquet"))[0].stat().st_mtime_ns == written
    # by hand: the same from Python, from tables
    users = pq.read_table(tmp_path / "out" / "arm_users", partitioning="hive")
    assert users.column_names[:3] == ["arm", "user_id", "n"]
    state = pq.read_table(tmp_path / "out" / "daily_state")
    by_api = nd.clicks.differences(
        state, "A", past=pq.read_table(pre), anytime=True,
        mixtures={("all", "P@4", "B", k): of(found, "experiment", k)["mixture"]
                  for k in ("plain", "cuped")},
    ).where("segment = 'all'").collect()  # fmt: skip
    for row in by_api:
        own = of(two, "experiment", row["estimate"])
        assert row.asDict() == {k: own[k] for k in row.asDict()}
    code, _, err = run_cli(
        "clicks", "--impressions", tmp_path / "log", "--date", FIRST, "--since", FIRST, "--cuped",
        "3", "--baseline", "A", "--out", tmp_path / "new", "-m", "P@4",
    )  # fmt: skip
    assert code == 3
    assert "E174" in err or "E103" in err


def test_an_arm_without_a_past_is_refused(tmp_path, run_cli):
    log = write_log(tmp_path / "log", (BEFORE,), users=80)
    write_log(log, (FIRST,), arm=lambda user: "A" if user < 80 else "B")
    code, _, err = run_cli(
        "clicks", "--impressions", log, "--date", FIRST, "--since", FIRST, "--cuped", "1",
        "--baseline", "A", "--out", tmp_path / "out", "-m", "P@4",
    )  # fmt: skip
    assert code == 3
    assert "E174: no impression of the users of arm B in the 1 days before" in err
    assert not (tmp_path / "out" / "daily_state").exists()
    assert not (tmp_path / "out" / "pre_state").exists()


def test_a_split_that_is_broken(night, tmp_path):
    shutil.rmtree(tmp_path / "log")
    write_log(tmp_path / "log", (FIRST, SECOND), arm=lambda user: "A" if user % 4 else "B")
    found, err = night(FIRST, "--fail-if", "sample_ratio broken", code=4)
    assert {r["sample_ratio"] for r in found["differences"]} == {"broken"}
    assert "the split of the users over the day is broken" in err
    split = {r["arm"]: r for r in found["sample_ratio"]}
    assert split["A"]["chi_square"] == pytest.approx((120 - 80) ** 2 / 80 + (40 - 80) ** 2 / 80)
    asked = ("--shares", "A=0.75,B=0.25", "--fail-if", "sample_ratio broken")
    night(FIRST, *asked)
    night(SECOND, *asked, "--since", FIRST)  # FIRST stored no users: nobody knows
    found, err = night(SECOND, *asked, "--since", SECOND, out="other")
    assert {r["verdict"] for r in found["sample_ratio"]} == {"ok"}


def test_gates_at_any_time(night):
    since = ("--since", FIRST, "--anytime")
    night(FIRST, *since, "--fail-if", "P@4 drop > 0.9 anytime")
    _, err = night(FIRST, "--fail-if", "P@4 drop > 0.9 anytime", code=2)
    assert "give --anytime too" in err
    _, err = night(FIRST, *since, "--fail-if", "P@4 drop > 0.9 in country=DE anytime", code=4)
    assert "no difference of P@4 in segment country=DE" in err
    gate = Gate.parse("P@4 drop > 1% anytime")
    assert (gate.anytime, gate.p, gate.percent) == (True, 0.05, True)
    assert Gate.parse("P@4 worse p<0.01 anytime").p == 0.01


COUNTS = [
    {"arm": "A", "users": 510, "users_elsewhere": 10, "impressions": 9, "impressions_without_user": 0},
    {"arm": "B", "users": 410, "users_elsewhere": 10, "impressions": 8, "impressions_without_user": 1},
]  # fmt: skip


def test_chi_square_by_hand():
    """500 and 400 users of one arm only: chi-square (50^2 + 50^2) / 450 = 11.11, p .000857."""
    rows = ratio_rows(COUNTS, {}, "day", [FIRST])
    assert {row["expected_users"] for row in rows} == {450.0}
    assert rows[0]["chi_square"] == pytest.approx(11.1111, abs=1e-4)
    assert rows[0]["p_value"] == pytest.approx(0.000858, abs=1e-6)
    assert {row["verdict"] for row in rows} == {"ok"}
    rows = ratio_rows(COUNTS, {"A": 0.5, "B": 0.4, "C": 0.1}, "day", [FIRST])
    assert {row["verdict"] for row in rows} == {"broken"}
    assert [row["users"] for row in rows] == [510, 410, 0]
    stray = [*COUNTS, {**COUNTS[0], "arm": "X"}]
    assert ratio_rows(stray, {"A": 0.5, "B": 0.5}, "day", [FIRST])[2]["p_value"] == 0
    few = [{**row, "users": 4, "users_elsewhere": 0} for row in COUNTS]
    assert {row["verdict"] for row in ratio_rows(few, {}, "day", [FIRST])} == {"unknown"}
    assert {row["verdict"] for row in ratio_rows(COUNTS[:1], {}, "day", [FIRST])} == {"unknown"}


def test_the_split_from_python(tmp_path, spark):
    log = write_log(tmp_path / "log", (FIRST, SECOND), arm=lambda u: "A" if u < 100 else "B")
    users = nd.clicks.users(log, date=SECOND, days=2)
    found = {
        row["arm"]: row for row in nd.clicks.sample_ratio(users, {"A": 0.6, "B": 0.4}).collect()
    }
    assert [found[arm]["users"] for arm in "AB"] == [100, 60]
    assert found["A"]["days"] == 2
    assert found["A"]["p_value"] == pytest.approx(0.519, abs=1e-3)  # 4^2/96 + 4^2/64 = .41667
    with pytest.raises(UsageError, match=r"add up to 1, not to 1\.2"):
        nd.clicks.sample_ratio(users, {"A": 0.6, "B": 0.6})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"shares": ["A=0.5,B=0.6"]}, "add up to 1, not to 1.1"),
        ({"shares": ["B=0.5,C=0.5"]}, "nothing of the baseline 'A'"),
        ({"shares": ["A=x,B=0.5"]}, "'x' is no number"),
        ({"anytime": True}, "needs the experiment's first day"),
        ({"cuped": 0, "since": FIRST}, "must be at least 1"),
        ({"since": "soon"}, "bad --since"),
        ({"since": FIRST, "out": None}, "give --out DIR too"),
        ({"shares": ["A=0.5,B=0.5"], "baseline": None}, "give --baseline ARM too"),
    ],
)
def test_options_of_an_experiment(more, words):
    own = {"impressions": "log", "date": SECOND, "baseline": "A", "out": "out", **more}
    with pytest.raises(UsageError, match=words):
        ClicksJob(**own)
