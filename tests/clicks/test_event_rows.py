"""Events that are a table of their own: joined, and what does not join is counted."""

from __future__ import annotations

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DAY = "2026-11-29"
NOON = datetime.datetime(2026, 11, 29, 12, tzinfo=datetime.UTC)
LATER, EARLIER = NOON + datetime.timedelta(minutes=1), NOON - datetime.timedelta(minutes=1)
SHOWN = [(i, rank, f"d{rank}") for i in ("i1", "i2", "i3") for rank in (1, 2, 3)]
EVENTS = [
    ("i1", "d2", "clicks", LATER), ("i1", "d2", "clicks", LATER), ("i1", "d3", "sales", LATER),
    ("i2", "d1", "clicks", EARLIER), ("i2", "d9", "clicks", LATER), ("i7", "d1", "sales", LATER),
    ("i1", "d1", "hover", LATER),
]  # fmt: skip


def write(tmp_path, events=EVENTS, names=("impression_id", "doc_id", "event", "event_ts")):
    columns = dict(zip(("impression_id", "rank", "doc_id"), zip(*SHOWN, strict=True), strict=True))
    log = {name: list(values) for name, values in columns.items()} | {"event_ts": [NOON] * 9}
    pq.write_table(pa.table(log), tmp_path / "shown.parquet")
    rows = dict(zip(names, map(list, zip(*events, strict=True)), strict=True))
    pq.write_table(pa.table(rows), tmp_path / "events.parquet")
    return ("clicks", "--impressions", tmp_path / "shown.parquet", "--events-table",
            tmp_path / "events.parquet", "--date", DAY, "--min-group", "1", "-m", "RR,nDCG",
            "--format", "json")  # fmt: skip


def test_events_are_joined_and_counted(run_cli, tmp_path):
    command = write(tmp_path)
    code, text, err = run_cli(*command, "--events", "clicks=1,sales=5", "--out", tmp_path / "out")
    assert code == 0, err
    found = json.loads(text)
    lost = {"events_not_joined": 2, "events_other": 1, "events_early": 1}
    assert {k: found["counts"][k] for k in lost} == lost
    patterns = pq.read_table(tmp_path / "out" / "click_patterns").to_pylist()
    assert sorted(row["pattern"] for row in patterns) == ["000", "012", "100"]
    rr = next(r for r in found["daily"] if (r["measure"], r["segment"]) == ("RR", "all"))
    assert (rr["mean"], rr["n_undefined"]) == ((1 / 2 + 1) / 2, 1)
    manifest = tmp_path / "out" / "click_manifest" / f"event_date={DAY}" / "_manifest.json"
    assert json.loads(manifest.read_text())["counts"]["events_not_joined"] == 2


def test_names_are_mapped_and_one_event_needs_none(run_cli, tmp_path):
    names = ("request", "item", "kind", "at")
    clicks = [row for row in EVENTS if row[2] == "clicks"]
    command = write(tmp_path, clicks, names)
    mapped = ("--columns", "events.impression_id=request,events.doc_id=item")
    code, text, err = run_cli(*command, *mapped)
    assert code == 0, err
    assert json.loads(text)["counts"]["events_not_joined"] == 1
    code, _, err = run_cli(*command)
    assert (code, "E110: events: missing column(s) impression_id, doc_id" in err) == (3, True)
    code, _, err = run_cli(*command, *mapped, "--events", "clicks=1,sales=2")
    assert (code, "missing column(s) event" in err) == (3, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.append_column("clicks", pa.array([0] * 9)), "E115"),
        (lambda table: table.set_column(2, "doc_id", pa.array(range(9))), "E140"),
    ],
)
def test_what_does_not_fit_is_refused(run_cli, tmp_path, change, words):
    command = write(tmp_path)
    path = tmp_path / "shown.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    code, _, err = run_cli(*command)
    assert (code, words in err) == (3, True), err
