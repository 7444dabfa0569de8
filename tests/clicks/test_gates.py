"""Gates of the nightly job: what cannot be decided fails, and says why."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark.clicks.trend import broken
from ndcg_spark.stats.gates import Gate
from tests.clicks.test_patterns import DAY, log

ROW = {
    "segment": "all", "measure": "RR", "arm": "A", "days": 3, "before": 0.5, "now": 0.48,
    "change": -0.02, "ci_low": -0.03, "ci_high": -0.01, "p_value": 0.01, "n_buckets": 300,
    "n_before": 900, "n_now": 300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "change", "words"),
    [
        ("RR drop > 0.01", {}, "0.500000 over 3 days, now 0.480000"),
        ("RR drop > 0.03", {}, None),
        ("RR drop > 0.01 p<0.05", {}, "now 0.48"),
        ("RR drop > 0.01 p<0.005", {}, None),
        ("RR drop > 0.01 p<0.05", {"p_value": None}, "now 0.48"),
        ("RR rise > 0.01", {"now": None, "change": None}, "no value of the last day (300 impr"),
        (
            "RR drop > 0.9",
            {"before": None, "change": None, "n_before": 0},
            "no value of the 3 days",
        ),
        ("RR drop > 0.9 in country=DE", {}, "no value of RR in segment country=DE"),
        ("AP drop > 0.9", {}, "no value of AP in segment all"),
    ],
)
def test_what_a_trend_says(gate, change, words):
    found = broken([{**ROW, **change}], [Gate.parse(gate)])
    assert (words is None) == (not found), found
    assert words is None or words in found[0]


def test_no_history_is_no_good_history():
    (text,) = broken([], [Gate.parse("RR drop > 0.9")])
    assert text.startswith("no earlier day of the window is stored")


def write(place, days):
    """A log, one file a day: {day: rows of `log`}."""
    place.mkdir()
    for date, rows in days.items():
        results = [
            [dict(zip(("doc_id", "rank", "clicks", "dwell_s"), i, strict=True)) for i in row[5]]
            for row in rows
        ]
        names = ("impression_id", "query_id", "user_id", "arm")
        columns = {
            name: [row[i] for row in rows] for name, i in zip(names, (0, 2, 3, 4), strict=True)
        }
        table = pa.table({**columns, "event_date": [date] * len(rows), "results": results})
        pq.write_table(table, place / f"{date}.parquet")


EARLIER = "2026-11-28"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (log(seed=2, n=400)[:60], "no value of the last day (30 impressions)"),
        ([(*row[:5], [(*i[:2], 0, i[3]) for i in row[5]]) for row in log(seed=2, n=400)],
         "no value of the last day"),
        ([row for row in log(seed=2, n=800) if row[4] == "A"], "arm B): no value of the last day"),
    ],
    ids=["few", "no click", "an arm vanished"],
)  # fmt: skip
def test_a_number_that_is_gone_fails(tmp_path, run_cli, last, words):
    write(tmp_path / "log", {EARLIER: log(seed=1, n=800), DAY: last})
    command = ("clicks", "--impressions", tmp_path / "log", "--out", tmp_path / "out", "-m", "RR")
    assert run_cli(*command, "--date", EARLIER)[0] == 0
    code, _, err = run_cli(*command, "--date", DAY, "--fail-if", "RR drop > 0.9")
    assert code == 4
    assert words in err


def test_the_first_night_fails_a_gate_that_looks_back(tmp_path, run_cli):
    write(tmp_path / "log", {DAY: log(seed=1, n=400)})
    command = ("clicks", "--impressions", tmp_path / "log", "--out", tmp_path / "out", "-m", "RR")
    code, out, err = run_cli(*command, "--date", DAY, "--fail-if", "RR drop > 0.9")
    assert code == 4
    assert "no earlier day" in err
    assert "few users: 58 buckets" in out or "few users" in out
    assert (tmp_path / "out" / "daily").is_dir()  # what was asked for is written all the same


def test_a_rerun_without_an_option_removes_its_table(tmp_path, run_cli):
    write(tmp_path / "log", {EARLIER: log(seed=1, n=400), DAY: log(seed=2, n=400)})
    out = tmp_path / "out"
    command = ("clicks", "--impressions", tmp_path / "log", "--out", out, "-m", "RR")
    assert run_cli(*command, "--date", DAY, "--days", "2", "--baseline", "A")[0] == 0
    assert run_cli(*command, "--date", DAY)[0] == 0
    assert (out / "arm_differences" / f"event_date={EARLIER}").is_dir()
    assert not (out / "arm_differences" / f"event_date={DAY}").exists()
    table = pq.read_table(out / "arm_differences").to_pylist()
    assert table


def test_arms_answer_one_question_once(tmp_path, run_cli):
    write(tmp_path / "log", {DAY: log(seed=1, n=800)})
    out = tmp_path / "out"
    assert run_cli("clicks", "--impressions", tmp_path / "log", "--date", DAY, "--out", out)[0] == 0
    code, text, err = run_cli("compare", "--state", out, "--baseline", "A", "-m", "RR,AP")
    assert code == 0, err
    assert "over 2 comparisons" in text
    assert "all+bots" not in text
