"""End to end on every engine: the same bits per query, the same summary, the same refusals."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from tests.reference import collection, values

pytestmark = pytest.mark.every_engine

MEASURES = "nDCG@5,nDCG(gain='exp2'),nDCG(dis='power:0.5')@n/2,AP,RR,P@5,R@3,Judged@3,num_ret"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    qrels, run = [], []
    for seed in range(6):
        some_qrels, some_run = collection(100 + seed, grades=(0, 1, 2, 3))
        qrels += [(f"{seed}-{q}", d, g) for q, d, g in some_qrels]
        run += [(f"{seed}-{q}", d, s) for q, d, s in some_run]
    columns = list(zip(*qrels, strict=True))
    names = ("query_id", "doc_id", "relevance")
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), place / "qrels.parquet")
    columns = list(zip(*run, strict=True))
    names = ("query_id", "doc_id", "score")
    (place / "bm25").mkdir()
    for part in range(3):  # several files, so that several tasks read them
        some = [c[part::3] for c in columns]
        table = pa.table(dict(zip(names, some, strict=True)))
        pq.write_table(table, place / "bm25" / f"{part}.parquet")
    return place, qrels, run


def test_evaluate_end_to_end(data, run_cli, tmp_path):
    place, qrels, run = data
    command = [
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "bm25",
        "-m", MEASURES, "--out", tmp_path / "out", "--format", "json",
    ]  # fmt: skip
    code, out, err = run_cli(*command)
    assert code == 0, err
    rows = pq.read_table(tmp_path / "out" / "per_query").to_pylist()
    measures = nd.parse_measures(MEASURES)
    # the reference is the kernel without any engine: every engine must give its very bits
    assert {(r["query_id"], r["measure"]): r["value"] for r in rows} == values(qrels, run, measures)
    code, again, _ = run_cli(*command)
    assert code == 0
    assert json.loads(again)["aggregate"] == json.loads(out)["aggregate"]
    aggregate = {r["measure"]: r["mean"] for r in json.loads(out)["aggregate"]}
    for name, mean in aggregate.items():
        column = [r["value"] for r in rows if r["measure"] == name]
        total = sum(column)
        expected = total if name == "NumRet" else total / len(column)
        assert mean == pytest.approx(expected, abs=1e-12)


IN_PARTS = "nDCG@5,nDCG(gain='exp2'),nDCG(dis='power:0.5')@n/2,RR,P@5,R@3,Judged@3"


def test_the_window_plan_end_to_end(data, run_cli, tmp_path):
    place, qrels, run = data
    command = ["evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "bm25"]
    command += ["-m", IN_PARTS, "--plan", "window", "--out", tmp_path / "out", "--quiet"]
    code, _, err = run_cli(*command)
    assert code == 0, err
    rows = pq.read_table(tmp_path / "out" / "per_query").to_pylist()
    measures = nd.parse_measures(IN_PARTS)
    assert {(r["query_id"], r["measure"]): r["value"] for r in rows} == values(qrels, run, measures)
    kept = tmp_path / "ideals.parquet"
    ideals = nd.ideals(str(place / "qrels.parquet"), IN_PARTS).collect()
    names = ("query_id", "measure", "idcg", "n_rel", "n_gain")
    columns = {name: [row[name] for row in ideals] for name in names}
    pq.write_table(pa.table(columns), kept)
    code, _, err = run_cli(*command, "--ideals", kept)
    assert code == 0, err
    stored = pq.read_table(tmp_path / "out" / "per_query").to_pylist()
    by_row = sorted(map(repr, rows))  # an engine may write the rows in any order
    assert sorted(map(repr, stored)) == by_row
    pq.write_table(pa.table({**columns, "n_gain": [n + 1 for n in columns["n_gain"]]}), kept)
    code, _, err = run_cli(*command, "--ideals", kept)
    assert code == 3
    assert "error: E139: " in err
    assert "ideals that are not of these judgements" in err
    assert pq.read_table(tmp_path / "out" / "per_query").to_pylist() == stored


def test_explain_end_to_end(data, run_cli):
    place, qrels, run = data
    code, out, err = run_cli(
        "explain", "--qrels", place / "qrels.parquet", "--runs", place / "bm25", "-m", "nDCG@5",
        "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    expected = values(qrels, run, nd.parse_measures("nDCG@5"))
    lists = json.loads(out)["lists"]
    assert lists
    for row in lists:
        assert row["value"] == expected[row["query_id"], "nDCG@5"]
        added = sum(d["contribution"] for d in row["documents"])
        assert added == pytest.approx(row["value"], abs=1e-12)


def test_summary_does_not_depend_on_the_order_of_rows(data, spark):
    place, *_ = data
    run = nd.read_run(spark, str(place / "bm25"))
    qrels = nd.read_qrels(spark, str(place / "qrels.parquet"))
    scores = nd.evaluate(run, qrels, MEASURES)
    plain = sorted(map(tuple, nd.summarize(scores).collect()))
    moved = scores.repartition(7, "value").sortWithinPartitions("query_id")
    assert sorted(map(tuple, nd.summarize(moved).collect())) == plain


@pytest.mark.parametrize(
    ("score", "code"), [(float("nan"), "E122"), (None, "E122")], ids=["NaN", "null"]
)
def test_a_bad_score_is_refused_and_nothing_is_written(data, run_cli, tmp_path, score, code):
    place, *_ = data
    table = pa.table({"query_id": ["a", "a"], "doc_id": ["d", "e"], "score": [1.0, score]})
    pq.write_table(table, tmp_path / "bad.parquet")
    code_, _, err = run_cli(
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", tmp_path / "bad.parquet",
        "-m", "AP", "--out", tmp_path / "out",
    )  # fmt: skip
    assert code_ == 3
    assert f"{code}: 1 rows of the runs have a" in err
    assert "document e" in err
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_a_truncated_file_is_refused(data, run_cli, tmp_path):
    place, *_ = data
    (tmp_path / "bad").mkdir()
    good = (place / "bm25" / "0.parquet").read_bytes()
    (tmp_path / "bad" / "a.parquet").write_bytes(good)
    (tmp_path / "bad" / "z.parquet").write_bytes(good[: len(good) // 2])
    code, _, err = run_cli(
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", tmp_path / "bad", "-m", "AP"
    )
    assert code == 3, err
    assert "E105" in err


def test_a_run_without_any_judged_document_is_in_the_run_all_the_same(spark, run_cli, tmp_path):
    """With judged_only its lists come out empty; that is no empty input."""
    run = pa.table({"query_id": ["a"], "doc_id": ["x"], "score": [1.0]})
    qrels = pa.table({"query_id": ["a"], "doc_id": ["d"], "relevance": [1]})
    pq.write_table(run, tmp_path / "run.parquet")
    pq.write_table(qrels, tmp_path / "qrels.parquet")
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "qrels.parquet", "--runs", tmp_path / "run.parquet",
        "-m", "AP", "--judged-only", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)
    assert found["aggregate"][0]["mean"] == 0
    assert found["counts"]["run"]["queries_in_run"] == 1
