"""User Behavior Insights in, impressions out; what does not join is counted."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest

from ndcg_spark.clicks.options import ImportUbiJob
from ndcg_spark.clicks.ubi_kernel import EVENTS, QUERIES, UbiRows
from ndcg_spark.errors import InputError, UsageError

AT = "2026-11-29T10:00:0{}.000Z"


def query(number, hits, at="2026-11-29T10:00:00.000Z", user=1, text="shoes"):
    return {
        "application": "shop", "query_id": f"q-{number}", "client_id": f"c-{user}",
        "user_query": text, "timestamp": at, "query_response_id": f"r-{number}",
        "query_response_hit_ids": hits,
    }  # fmt: skip


def event(number, doc, ordinal=None, action="click", at="2026-11-29T10:00:05.000Z"):
    attributes = {"object": {"object_id": doc, "object_id_field": "sku"}}
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal, "x": 3}
    return {
        "action_name": action, "query_id": f"q-{number}", "client_id": "c-1", "timestamp": at,
        "event_attributes": attributes,
    }  # fmt: skip


QUERY_ROWS = [
    query(1, ["d1", "d2", "d3"]),
    query(2, ["d4", "d5"], user=2, text="hats"),
    query(2, ["d5", "d4"], AT.format(9), user=2, text="hats"),  # repeated: the earliest counts
    query(3, [], user=3),
    query(4, ["d1"], at=None),
    {**query(5, ["d1"]), "query_id": None},
]
EVENT_ROWS = [
    event(1, "d2", 2),
    event(1, "d2", 2),
    event(1, "d3", 1),  # the hit list says 3
    event(1, "d1", 1, "add_to_cart"),
    event(1, "d1", 1, "hover"),  # not asked for
    event(2, "d9", 1),  # not shown
    event(2, "d4", 1, at="2026-11-29T09:59:59Z"),  # before its query
    event(7, "d1", 1),  # no such query
    {**event(1, "d1"), "event_attributes": {"position": {"ordinal": 1}}},
    {**event(1, "d1"), "query_id": None},
]
COUNTS = {
    "queries": 6, "queries_repeated": 1, "queries_without_id": 1, "queries_without_time": 1,
    "queries_without_hits": 1, "events": 10, "other_actions": 1, "events_without_query": 2,
    "events_without_object": 1, "events_not_shown": 1, "events_before_query": 1,
    "positions_disagree": 1, "events_joined": 5,
}  # fmt: skip
RESULTS = {
    "q-1": [(1, "d1", 0, 1), (2, "d2", 2, 0), (3, "d3", 1, 0)],
    "q-2": [(1, "d4", 1, 0), (2, "d5", 0, 0)],
    "q-3": None,
}


def write(place, queries=QUERY_ROWS, events=EVENT_ROWS, parquet=False):
    for name, rows in (("queries", queries), ("events", events)):
        path = place / name
        path.mkdir()
        (path / "part.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in rows))
        if parquet:
            pq.write_table(pj.read_json(path / "part.jsonl"), path / "part.parquet")
            (path / "part.jsonl").unlink()
    return "--queries", place / "queries", "--events", place / "events"


@pytest.mark.parametrize(
    "parquet", [pytest.param(False, id="json", marks=pytest.mark.every_engine), True]
)
def test_a_small_log_goes_in_and_comes_out_as_daily(run_cli, tmp_path, parquet):
    given = write(tmp_path, parquet=parquet)
    asked = ("--actions", "clicks=click,cart=add_to_cart", "--format", "json")
    code, text, err = run_cli("import-ubi", *given, *asked, "--out", tmp_path / "log")
    assert code == 0, err
    assert json.loads(text)["counts"] == COUNTS
    rows = pq.read_table(tmp_path / "log" / "impressions").to_pylist()
    found = {
        row["impression_id"]: row["results"] and [tuple(item.values()) for item in row["results"]]
        for row in rows
    }
    assert found == RESULTS
    assert {row["query_id"] for row in rows} == {"shoes", "hats"}
    manifest = (tmp_path / "log" / "ubi_manifest" / "_manifest.json").read_text()
    assert json.loads(manifest)["counts"] == COUNTS
    code, text, err = run_cli(
        "clicks", "--impressions", tmp_path / "log" / "impressions", "--date", "2026-11-29",
        "--events", "clicks=1,cart=3", "-m", "RR", "--min-group", "1", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    clicks = json.loads(text)
    assert (clicks["counts"]["impressions"], clicks["counts"]["empty"]) == (2, 1)
    assert next(r for r in clicks["daily"] if r["segment"] == "all")["mean"] == 1.0


def rows_of(rows, paths=EVENTS):
    lines = pa.record_batch({"value": pa.array([json.dumps(row) for row in rows])})
    return next(UbiRows(paths, "events: x", True)(iter([lines]))).to_pylist()


def test_times_and_ids_of_any_kind():
    """ISO with a zone or without, milliseconds; numbers as ids; exports of an index (_source)."""
    times = ["2026-11-29T10:00:05.000Z", "2026-11-29T11:00:05+01:00", "2026-11-29 10:00:05",
             1796032805000 - 86400000 * 365 * 0, "1796032805000"]  # fmt: skip
    expected = {row["at"].isoformat() for row in rows_of([event(1, "d", at=AT.format(5))])}
    for time in times[:3]:
        assert {row["at"].isoformat() for row in rows_of([event(1, "d", at=time)])} == expected
    numbers = {
        row["at"].timestamp() for time in times[3:] for row in rows_of([event(1, 7, at=time)])
    }
    assert numbers == {1796032805.0}
    mixed = rows_of([event(1, 7, at=1796032805000), event(1, "x", "2", at=AT.format(5))])
    assert [row["object_id"] for row in mixed] == ["7", "x"]
    assert [row["ordinal"] for row in mixed] == [None, 2]
    wrapped = rows_of([{"_index": "ubi_events", "_source": event(1, "d", 3)}])
    assert wrapped == rows_of([event(1, "d", 3)])
    (row,) = rows_of([{"query_id": 5, "timestamp": AT.format(0)}], QUERIES)
    assert (row["query_id"], row["hits"], row["user_query"]) == ("5", None, None)
    (row,) = rows_of([{"query_id": "a", "query_response_hit_ids": [3, 4]}], QUERIES)
    assert row["hits"] == ["3", "4"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "E160: events: x has a line that is no JSON object"),
        ("[1, 2]", "E160"),
        (json.dumps(event(1, "d", at="yesterday")), "E112: events: x: timestamp holds a value"),
        (json.dumps({"query_id": {"a": 1}}), "E112"),
    ],
)
def test_what_cannot_be_read(line, words):
    with pytest.raises(InputError, match=words):
        list(UbiRows(EVENTS, "events: x", True)(iter([pa.record_batch({"value": [line]})])))


def test_refusals(run_cli, tmp_path):
    given = write(tmp_path, queries=[query(4, ["d1"], at=None)])
    code, _, err = run_cli("import-ubi", *given, "--out", tmp_path / "log")
    assert (code, "E103: no query of" in err) == (3, True)
    assert not (tmp_path / "log" / "impressions").exists()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    code, _, err = run_cli(
        "import-ubi", "--queries", tmp_path / "other.parquet", *given[2:], "--out", tmp_path / "log"
    )
    assert (code, "E110: queries: missing column query_id" in err) == (3, True)
    code, _, err = run_cli(
        "import-ubi", "--queries", tmp_path / "nowhere", *given[2:], "--out", tmp_path / "log"
    )
    assert code == 3
    with pytest.raises(UsageError, match="needs --queries SRC"):
        ImportUbiJob(queries="q", out="o")
    with pytest.raises(UsageError, match="is no name of a column"):
        ImportUbiJob(queries="q", events="e", out="o", actions=["rank=click"])
