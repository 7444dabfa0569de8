"""`explain`: the lists that lost most, their documents, the baseline beside them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd

DOCUMENTS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def data(tmp_path):
    """q1: new loses a; q2: new has its best document far down; q3: new lacks it; q4: no label."""
    rows = [
        ("old", "q1", "a", 3.0), ("old", "q1", "b", 2.0), ("new", "q1", "b", 2.0), ("new", "q1", "x", 1.0),
        *[("old", "q2", d, 9.0 - i) for i, d in enumerate(DOCUMENTS)],
        *[("new", "q2", d, 9.0 + i) for i, d in enumerate(DOCUMENTS)],
        ("old", "q3", "a", 1.0), ("old", "q4", "a", 1.0), ("new", "q4", "a", 1.0),
        ("new", "q5", "a", 1.0),
    ]  # fmt: skip
    names = ("run_id", "query_id", "doc_id", "score")
    columns = zip(*rows, strict=True)
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / "runs.parquet")
    labels = [("q1", "a", 2), ("q1", "b", 1), ("q2", "a", 3), ("q3", "a", 1), ("q4", "a", 0)]
    columns = zip(*labels, strict=True)
    names = ("query_id", "doc_id", "relevance")
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / "qrels.parquet")
    return tmp_path


@pytest.fixture
def explain(data, run_cli):
    def call(*more):
        qrels, runs = data / "qrels.parquet", data / "runs.parquet"
        return run_cli("explain", "--qrels", qrels, "--runs", runs, *map(str, more))

    return call


def lists(found):
    return [(row["query_id"], row["run_id"]) for row in found["lists"]]


@pytest.mark.every_engine
def test_the_largest_drops_and_their_documents(explain, data):
    code, out, err = explain(
        "--baseline",
        "old",
        "-m",
        "nDCG@3",
        "--documents",
        2,
        "--format",
        "json",
        "--out",
        data / "out",
    )
    assert code == 0, err
    found = json.loads(out)
    assert lists(found) == [("q2", "new"), ("q3", "new"), ("q1", "new")]
    assert (found["measure"], found["baseline"], found["top"]) == ("nDCG@3", "old", 3)
    assert (found["n_lost"], found["n_lists"]) == (3, 4)
    far, missing, partly = found["lists"]
    assert (far["value"], far["best"], far["loss"], far["baseline_value"], far["drop"]) == (
        0,
        1,
        1,
        1,
        1,
    )
    assert (far["missing"], far["below"], far["unjudged"], far["status"]) == (0, 1, 3, "ok")
    assert [(d["doc_id"], d["rank"], d["lost"]) for d in far["documents"]] == [
        ("f", 1, 0.0), ("e", 2, 0.0), ("a", 6, 1.0),
    ]  # fmt: skip
    assert far["documents"][2]["baseline_rank"] == 1
    assert far["documents"][2]["baseline_contribution"] == 1.0
    assert missing["status"] == "missing"
    assert [(d["doc_id"], d["rank"], d["lost"]) for d in missing["documents"]] == [("a", None, 1.0)]
    assert partly["missing"] == 1
    assert partly["unjudged"] == 1
    scores = nd.evaluate(str(data / "runs.parquet"), str(data / "qrels.parquet"), "nDCG@3")
    own = {(r["query_id"], r["run_id"]): r["value"] for r in scores.collect()}
    assert partly["value"] == own["q1", "new"]
    assert partly["loss"] == pytest.approx(1 - own["q1", "new"])
    tables = {
        name: pq.read_table(data / "out" / name).to_pylist() for name in ("queries", "documents")
    }
    assert [(r["query_id"], r["run_id"]) for r in tables["queries"]] == lists(found)
    rows = [r for r in tables["documents"] if r["query_id"] == "q2"]
    assert len(rows) == 6  # all of them, also those that are not shown
    assert sum(r["contribution"] + r["lost"] for r in rows) == pytest.approx(1.0)
    manifest = json.loads((data / "out" / "manifest" / "_manifest.json").read_text())
    assert manifest["measure"] == "nDCG@3"


def test_the_terminal(explain):
    code, out, err = explain("--baseline", "old", "-m", "nDCG@3", "--worst", 2)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "nDCG@3 against old: 3 lists of 4 dropped; 2 shown"
    assert lines[1] == "All is lost where a run lacks the query: new lacks q3"
    words = [" ".join(line.split()) for line in lines]
    head = "query run value old drop relevant missing too low unjudged@3"
    assert words[3] == head
    assert words[5] == "q2 new 0.0000 1.0000 1.0000 1 0 1 3"
    assert "q2, run new: nDCG@3 0.0000 of 1.0000" in lines
    assert words[-1] == "a 6 3 0.0000 1.0000 1 1"
    code, out, err = explain("-m", "RR", "--show", 0)
    assert code == 0, err
    assert out.splitlines()[0] == "RR: 2 lists of 8 lost; 2 shown"
    assert "run new:" not in out


def test_named_queries(explain):
    code, out, err = explain(
        "-m", "P@2", "--queries", "q4,q1", "--queries", "q2", "--format", "json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert lists(found) == [(q, r) for q in ("q4", "q1", "q2") for r in ("new", "old")]
    best = {row["query_id"]: row["best"] for row in found["lists"]}
    assert best == {"q4": 0.0, "q1": 1.0, "q2": 0.5}  # of P@2: as many as there are
    code, out, _ = explain("-m", "P@2", "--queries", "q3")
    assert "q3, run new: P@2 0.0000 of 0.5000" in out
    assert "missing" in out


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--queries", "q1,q9"], 2, "--queries: q9: no judged query has such an id"),
        (["--queries", "q5"], 2, "--queries: q5: no judged query has such an id"),
        (["--baseline", "odl"], 2, "unknown --baseline 'odl' (did you mean 'old'?); allowed: new, old"),
        (["-m", "AP"], 2, "AP is no sum over documents of gain times discount"),
        (["-m", "nDCG,RR"], 2, "explain looks at one measure, not nDCG, RR"),
        (["-m", "nDCG", "-m", "RR"], 2, "explain looks at one measure"),
        (["-m", "Judged@5"], 2, "Judged@5: what would be the best value hangs on the length"),
        (["--worst", "0"], 2, "--worst must be at least 1, not 0"),
        (["--worst", "5000"], 2, "explain shows at most 1000 lists"),
        (["--documents", "x"], 2, "--documents must be a whole number, not 'x'"),
        (["--show", "-1"], 2, "--show must be at least 0"),
        (["--format", "trec"], 2, "as table or json, not --format trec"),
        (["--columns", "runs.score=doc_id"], 3, "E112"),
    ],
)  # fmt: skip
def test_what_is_refused(explain, data, more, code, words):
    found, out, err = explain(*more, "--out", data / "out")
    assert (found, out) == (code, ""), err
    assert words in err
    assert "Traceback" not in err
    assert not (data / "out" / "documents").exists()


def test_nothing_lost(explain, data):
    code, out, err = explain("-m", "Success@6", "--where", "1=1")
    assert code != 0  # no partitions to filter
    pq.write_table(
        pq.read_table(data / "runs.parquet").filter(pa.compute.field("query_id") == "q4"),
        data / "runs.parquet",
    )
    code, out, err = explain(
        "-m", "nDCG", "--on-no-overlap", "zero", "--baseline", "old", "--out", data / "o"
    )
    assert code == 0, err
    assert out.splitlines()[0] == "nDCG against old: 0 lists of 4 dropped; 0 shown"
    assert pq.read_table(data / "o" / "documents").num_rows == 0
    assert pq.read_table(data / "o" / "queries").num_rows == 0


def test_integer_ids_and_bad_rows(data, run_cli):
    run = {"run_id": ["r"] * 2, "query_id": [7, 7], "doc_id": [1, 2], "score": [1.0, 2.0]}
    pq.write_table(pa.table(run), data / "r.parquet")
    pq.write_table(pa.table({"query_id": [7], "doc_id": [1], "relevance": [1]}), data / "q.parquet")
    files = ("--qrels", data / "q.parquet", "--runs", data / "r.parquet")
    code, out, err = run_cli("explain", *files, "--queries", "7", "--format", "json")
    assert code == 0, err
    assert json.loads(out)["lists"][0]["query_id"] == 7
    pq.write_table(pa.table({**run, "doc_id": [1, 1]}), data / "r.parquet")
    code, out, err = run_cli("explain", *files)
    assert (code, out) == (3, "")
    assert "E132: 1 documents are duplicated in the run (run r, query 7, document 1)" in err


def test_of_equal_losses_the_lists_that_the_run_has_come_first(data, run_cli):
    run = {"run_id": ["r", "s"], "query_id": ["z", "a"], "doc_id": ["x", "a"], "score": [1.0, 1.0]}
    pq.write_table(pa.table(run), data / "r.parquet")
    labels = {"query_id": ["a", "z"], "doc_id": ["a", "z"], "relevance": [1, 1]}
    pq.write_table(pa.table(labels), data / "q.parquet")
    files = ("--qrels", data / "q.parquet", "--runs", data / "r.parquet")
    code, out, err = run_cli("explain", *files, "--worst", "1", "--format", "json")
    assert code == 0, err
    assert lists(json.loads(out)) == [("z", "r")]  # not ("a", "r"), which the run lacks
