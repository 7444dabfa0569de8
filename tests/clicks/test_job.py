"""The nightly job on a stored log: days, alerts, refusals, bots and segments."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark.stats.distributions import t_quantile
from tests.clicks.test_patterns import DAY, log


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A log of two days as a Parquet directory."""
    place = tmp_path_factory.mktemp("log")
    for number, date in enumerate(("2026-11-28", DAY)):
        rows = [(r[0], date, *r[2:]) for r in log(seed=number, n=400)]
        fields = ("doc_id", "rank", "clicks", "dwell_s")
        table = pa.table(
            {
                **{
                    name: [r[i] for r in rows]
                    for i, name in enumerate(
                        ("impression_id", "event_date", "query_id", "user_id", "arm")
                    )
                },
                "results": [[dict(zip(fields, item, strict=True)) for item in r[5]] for r in rows],
            }
        )
        pq.write_table(table, place / f"{date}.parquet")
    return place


def test_the_nightly_job(stored, run_cli, tmp_path):
    command = [
        "clicks", "--impressions", stored, "--date", DAY, "--days", "2", "--out", tmp_path / "out",
        "--baseline", "A", "--units", "query", "--format", "json",
    ]  # fmt: skip
    code, out, err = run_cli(*command)
    assert code == 0, err
    found = json.loads(out)
    assert found["counts"]["impressions"] == 400
    assert {row["days"] for row in found["trend"]} == {1}
    assert len(found["differences"]) == 10  # five measures, all and all+bots
    daily = pq.read_table(tmp_path / "out" / "daily").to_pylist()
    assert {row["unit"] for row in daily} == {"impression", "query"}
    assert {row["date"] for row in daily} == {"2026-11-28", DAY}
    state = pq.read_table(tmp_path / "out" / "daily_state").to_pylist()
    assert {str(row["event_date"]) for row in state} == {"2026-11-28", DAY}
    before = (tmp_path / "out" / "daily_state" / "event_date=2026-11-28").stat().st_mtime_ns
    code, again, err = run_cli(*[*command[:5], *command[7:]])  # the last day only
    assert code == 0, err
    assert json.loads(again)["daily"] == found["daily"]
    after = (tmp_path / "out" / "daily_state" / "event_date=2026-11-28").stat().st_mtime_ns
    assert after == before
    again = pq.read_table(tmp_path / "out" / "daily_state").to_pylist()
    assert sorted(map(str, again)) == sorted(map(str, state))


def test_alerts(stored, run_cli, tmp_path):
    command = ["clicks", "--impressions", stored, "--date", DAY, "--out", tmp_path / "out"]
    assert run_cli(*command, "--days", "2")[0] == 0
    code, _, err = run_cli(*command, "--fail-if", "RR drop > 0.9", "--fail-if", "RR rise > 90%")
    assert code == 0, err
    rises = run_cli(*command, "--fail-if", "RR rise > 0.0")[0]
    drops = run_cli(*command, "--fail-if", "RR drop > 0.0")[0]
    assert 4 in (rises, drops)  # two arms: one may rise, one drop
    assert {rises, drops} <= {0, 4}
    code, _, err = run_cli(*command, "--fail-if", "RR falls")
    assert code == 2
    assert "nDCG@10 drop > 0.01" in err
    assert run_cli(*command, "--fail-if", "nDCG@5 drop > 0.1")[0] == 2


def test_a_day_that_is_empty_or_to_come_leaves_everything(stored, run_cli, tmp_path):
    out = tmp_path / "out"
    assert run_cli("clicks", "--impressions", stored, "--date", DAY, "--out", out)[0] == 0
    files = sorted(out.rglob("*.parquet"))
    code, _, err = run_cli("clicks", "--impressions", stored, "--date", "2026-11-01", "--out", out)
    assert code == 3
    assert "E103" in err
    code, _, err = run_cli("clicks", "--impressions", stored, "--date", "2999-01-01", "--out", out)
    assert code == 2
    assert "future" in err
    assert run_cli("clicks", "--impressions", stored, "--date", "yesterday")[0] == 2
    assert sorted(out.rglob("*.parquet")) == files


def test_repeated_impressions_count_once_if_asked(stored, run_cli, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "log").mkdir(exist_ok=True)
        table = pq.read_table(stored / f"{DAY}.parquet")
        pq.write_table(table, tmp_path / "log" / f"{name}.parquet")
    command = ["clicks", "--impressions", tmp_path / "log", "--date", DAY, "--format", "json"]
    code, out, err = run_cli(*command, "--deduplicate")
    assert code == 0, err
    assert json.loads(out)["counts"]["impressions"] == 400
    assert json.loads(run_cli(*command)[1])["counts"]["impressions"] == 800


def test_bots_by_rule_and_frequent_queries(stored, run_cli):
    command = [
        "clicks",
        "--impressions",
        stored,
        "--date",
        DAY,
        "--format",
        "json",
        "--min-group",
        "1",
    ]
    rows = log(seed=1, n=400)
    users = [r[3] for r in rows]
    busy = sum(users.count(u) > 8 for u in users)
    assert 0 < busy < 400
    found = json.loads(run_cli(*command, "--bot-impressions", "8")[1])
    assert found["counts"]["bots"] == busy
    n = {
        r["segment"]: r["n_units"]
        for r in found["daily"]
        if r["measure"] == "RR" and r["arm"] == "A"
    }
    assert n["all"] < n["all+bots"]
    clicks = run_cli(*command, "--bot-clicks", "1")
    assert clicks[0] == 0, clicks[2]
    code, out, err = run_cli(*command, "--segments", "frequency")
    assert code == 0, err
    n = {}
    for row in json.loads(out)["daily"]:
        if row["measure"] == "RR":
            n[row["segment"]] = n.get(row["segment"], 0) + row["n_units"]
    parts = [n.get(f"frequency={name}", 0) for name in ("head", "torso", "tail")]
    assert sum(parts) == n["all"] == 400
    assert parts[0] >= 200


def test_flags_of_the_contract(stored, run_cli, tmp_path):
    """A range of days, columns by name, several events in one flag: the same as the long way."""
    renamed = tmp_path / "log"
    renamed.mkdir()
    for path in stored.glob("*.parquet"):
        table = pq.read_table(path).rename_columns({"arm": "variant", "user_id": "member"})
        pq.write_table(table, renamed / path.name)
    short = [
        "clicks", "--impressions", renamed, "--from", "2026-11-28", "--to", DAY, "--arm", "variant",
        "--user", "member", "--label", "clicks", "--clickless", "zero", "--format", "json",
    ]  # fmt: skip
    long = [
        "clicks", "--impressions", stored, "--date", DAY, "--lookback", "2", "--clickless", "zero",
        "--events", "clicks=1", "--format", "json",
    ]  # fmt: skip
    found = json.loads(run_cli(*short)[1])
    assert found["command"] == "clicks"
    assert found["daily"] == json.loads(run_cli(*long)[1])["daily"]
    assert all(row["n_undefined"] == 0 for row in found["daily"])
    config = tmp_path / "clicks.toml"
    config.write_text(
        f'impressions = "{stored}"\nfrom = "2026-11-28"\nto = "{DAY}"\nclickless = "zero"\n'
        'events = ["clicks=1,missing=5"]\nformat = "json"\n'
    )
    code, _, err = run_cli("clicks", "--config", config)
    assert code == 3
    assert "missing" in err
    code, out, err = run_cli("clicks", "--config", config, "--events", "clicks=1")
    assert code == 0, err
    assert json.loads(out)["daily"] == found["daily"]
    for wrong in (
        ("--from", DAY), ("--date", DAY, "--from", DAY, "--to", DAY),
        ("--from", DAY, "--to", "2026-11-28"), ("--date", DAY, "--label", "x", "--events", "y=1"),
    ):  # fmt: skip
        assert run_cli("clicks", "--impressions", stored, *wrong)[0] == 2, wrong


def test_means_by_query_with_their_error(stored, run_cli):
    code, out, err = run_cli(
        "clicks", "--impressions", stored, "--date", DAY, "--units", "query", "--format", "json",
        "-m", "RR", "--min-group", "1",
    )  # fmt: skip
    assert code == 0, err
    by_query = {}
    values = []
    for _, _, query, _, arm, items, *_ in log(seed=1, n=400):
        clicked = [item[1] for item in items if item[2] > 0]
        if arm == "A" and clicked:
            by_query.setdefault(query, []).append(1 / min(clicked))
            values.append(1 / min(clicked))
    means = [sum(own) / len(own) for own in by_query.values()]
    rows = {
        row["unit"]: row
        for row in json.loads(out)["daily"]
        if row["arm"] == "A" and row["segment"] == "all"
    }
    for unit, own in (("query", means), ("impression", values)):
        mean = sum(own) / len(own)
        std = (sum((x - mean) ** 2 for x in own) / (len(own) - 1)) ** 0.5
        assert rows[unit]["mean"] == pytest.approx(mean, abs=1e-8)
        assert rows[unit]["std"] == pytest.approx(std, abs=1e-6)
        assert rows[unit]["sum_weight"] == len(own)
    half = t_quantile(0.975, len(means) - 1) * rows["query"]["std"] / len(means) ** 0.5
    assert rows["query"]["ci_high"] - rows["query"]["mean"] == pytest.approx(half, rel=1e-5)


def test_graded_labels(run_cli, tmp_path):
    """`--label` takes grades as they stand; what is no grade is a broken impression."""
    grades = [[2, 0, 1], [0, 3], [1, 1, 0], [5, 40], [1, None]]
    table = pa.table(
        {
            "impression_id": list("abcde"),
            "event_date": [DAY] * 5,
            "user_id": list("abcde"),
            "rating": grades,
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    code, out, err = run_cli(
        "clicks", "--impressions", tmp_path / "log.parquet", "--date", DAY, "--label", "rating",
        "-m", "nDCG,DCG(gain='exp2')@2", "--min-group", "1", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)
    assert (found["counts"]["impressions"], found["counts"]["bad_values"]) == (3, 2)
    mean = {r["measure"]: r["mean"] for r in found["daily"] if r["segment"] == "all"}
    half = 1 / math.log2(3)
    ndcg = [(2 + 1 / 2) / (2 + half), half, 1.0]
    assert mean["nDCG"] == pytest.approx(sum(ndcg) / 3, abs=1e-9)
    assert (
        run_cli("clicks", "--impressions", "x", "--date", DAY, "--label", "r", "--dwell", "9=1")[0]
        == 2
    )


def test_labels_leave_out_what_the_click_job_leaves_out(run_cli, tmp_path):
    """Broken impressions give no judgements; positions may come in any order."""
    results = [
        [("x", 2, 1), ("y", 1, 0)],  # good, positions in reverse
        [("x", 1, 1), ("y", 3, 1)],  # a gap
        [("x", 1, -1), ("z", 2, 1)],  # a negative count
        [("y", 1, 2), ("z", 2, 0)],
    ]
    fields = ("doc_id", "rank", "clicks")
    table = pa.table(
        {
            "impression_id": list("abcd"),
            "event_date": [DAY] * 4,
            "query_id": ["q"] * 4,
            "user_id": list("abcd"),
            "results": [[dict(zip(fields, r, strict=True)) for r in own] for own in results],
        }
    )
    lists = table.drop_columns("results").append_column("clicks", pa.array([[1, 0]] * 4))
    lists = lists.append_column("doc_id", pa.array([["x", "y"], ["x"], ["y", "z"], None]))
    for log_of in (table, lists):
        pq.write_table(log_of, tmp_path / "log.parquet")
        code, _, err = run_cli(
            "click-labels", "--impressions", tmp_path / "log.parquet", "--date", DAY,
            "--thresholds", "1=1", "--out", tmp_path / "out",
        )  # fmt: skip
        assert code == 0, err
        found = pq.read_table(tmp_path / "out" / "qrels").to_pylist()
        assert {r["doc_id"]: r["relevance"] for r in found} == {"x": 1, "y": 1, "z": 0}
