"""The distinguishability job: own scores and clicks, any engine and partitioning, made-up data."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from ndcg_spark.distinguish.compute import growing_measures
from ndcg_spark.distinguish.growth_kernel import Growth
from ndcg_spark.errors import InputError, UsageError
from tests.distinguish.test_growth import by_hand
from tests.xxhash64 import xxhash64

QUERIES, DOCS = 12, 60
RUNS = ("good", "poor")
SCORES = "run_id string, query_id string, doc_id string, score double"
LABELS = "query_id string, doc_id string, relevance bigint"
GRID = (10, 30, 60)


def data(seed=1):
    """Rows of scores and of judgements; query q11 has 20 documents only, q3 none relevant."""
    random = np.random.default_rng(seed)
    scores, labels = [], []
    for q in range(QUERIES):
        hidden = random.random(DOCS if q != 11 else 20)
        for d, h in enumerate(hidden):
            grade = int(h > 0.6) + int(h > 0.9) if q != 3 else 0
            if grade or d % 2:
                labels.append((f"q{q}", f"d{d}", grade))
            for run, noise in zip(RUNS, (0.1, 0.8), strict=True):
                score = round(float(h + noise * random.standard_normal()), 2)
                scores.append((run, f"q{q}", f"d{d}", score))
    return scores, labels


@pytest.fixture(scope="module")
def tables(spark):
    scores, labels = data()
    return spark.createDataFrame(scores, SCORES), spark.createDataFrame(labels, LABELS)


def rows(table):
    return [row.asDict() for row in table.collect()]


def counts(found):
    return {row["name"]: row["n"] for row in found.counts.collect()}


@pytest.mark.every_engine
def test_values_by_the_definition_on_any_engine_and_partitioning(tables):
    """Hashes are computed in Python, values by the definition."""
    scores, labels = tables
    options = {"measures": "nDCG,nDCG(dis='exp2'),nDCG@n/5", "grid": GRID, "sequences": 2}
    found = nd.distinguishability(scores, labels, seed=3, **options)
    assert counts(found) == {
        "queries": 11, "too_short": 1, "no_relevant": 1, "documents": 680, "unscored": 0,
    }  # fmt: skip
    measures, worth = growing_measures(options["measures"])
    growth = Growth(RUNS, measures, worth, GRID, 2, 3)
    own_scores, own_labels = data()
    label = {(q, d): g for q, d, g in own_labels}
    score = {(run, q, d): s for run, q, d, s in own_scores}
    table = {
        (r["query_id"], r["sequence"], r["run_id"], r["measure"], r["n"]): r
        for r in rows(found.values)
    }
    assert len(table) == 11 * 2 * 2 * 3 * 3
    docs = [f"d{d}" for d in range(DOCS)]
    for q in (f"q{i}" for i in range(11)):
        hashes = np.array([xxhash64(d, xxhash64(q)) for d in docs], np.uint64)
        labels_of = np.array([float(label.get((q, d), 0)) for d in docs])
        scores_of = [np.array([score[run, q, d] for d in docs]) for run in RUNS]
        for sequence in range(2):
            right = by_hand(hashes, labels_of, scores_of, growth, sequence)
            for r, m, g in np.ndindex(*right.shape):
                row = table[q, sequence, RUNS[r], str(measures[m]), GRID[g]]
                expected = None if np.isnan(right[r, m, g]) else right[r, m, g]
                assert row["value"] == (expected and pytest.approx(expected, abs=1e-12))
    for scores_in, labels_in in (
        (scores.repartition(5, "score"), labels.repartition(3)),
        (scores.coalesce(1).orderBy("score"), labels),
    ):
        again = nd.distinguishability(scores_in, labels_in, seed=3, **options)
        assert rows(again.curves) == rows(found.curves)
        assert rows(again.pairs) == rows(found.pairs)
        assert again.advice == found.advice
    other = nd.distinguishability(scores, labels, seed=4, **options)
    assert rows(other.curves) != rows(found.curves)


def test_clicks_become_labels(spark, tables):
    scores, labels = tables
    clicks = labels.selectExpr(
        "query_id",
        "doc_id",
        "case relevance when 0 then 99 when 1 then 1000 else 1001 end n_clicks",
    )
    two = clicks.selectExpr("query_id", "doc_id", "explode(array(n_clicks - 5, 5)) n_clicks")
    by_clicks = nd.distinguishability(scores, clicks=two, grid=GRID)
    by_labels = nd.distinguishability(scores, labels, grid=GRID)
    assert rows(by_clicks.curves) == rows(by_labels.curves)


def test_what_is_refused(spark, tables):
    scores, labels = tables
    with pytest.raises(InputError, match=r"E172.*--grid"):
        nd.distinguishability(scores, labels, grid=(10, 1000))
    twice = spark.createDataFrame(data()[0] + data()[0][:1], SCORES)
    nameless = scores.selectExpr("run_id", "query_id", "nullif(doc_id, 'd3') doc_id", "score")
    with pytest.raises(InputError, match="E120: 24 rows"):
        nd.distinguishability(nameless, labels)
    with pytest.raises(InputError, match=r"E132.*run good, query q0, document d0"):
        nd.distinguishability(twice, labels, grid=GRID)
    with pytest.raises(InputError, match="E103"):
        nd.distinguishability(scores.where("false"), labels)
    with pytest.raises(InputError, match="E110"):
        nd.distinguishability(scores.drop("score"), labels)
    numbers = labels.selectExpr("1L query_id", "doc_id", "relevance")
    with pytest.raises(InputError, match="E140"):
        nd.distinguishability(scores, numbers)
    for bad in (
        {"measures": "AP"}, {"baseline": "best"}, {"ties": "x"}, {"clicks": labels},
        {"gain": "cubic"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            nd.distinguishability(scores, labels, grid=GRID, **bad)
    with pytest.raises(UsageError, match="ascend"):
        nd.distinguishability(scores, clicks=labels, thresholds=(1000, 100))


def test_fewer_documents_than_the_grid_asks_for(tables):
    """With --min-docs a short query counts at the sizes that it reaches."""
    scores, labels = tables
    found = nd.distinguishability(scores, labels, grid=GRID, min_docs=15, measures="nDCG")
    assert counts(found)["queries"] == 12
    at = {(r["run_id"], r["n"]): (r["n_queries"], r["n_undefined"]) for r in rows(found.curves)}
    assert at["good", 10] == (11, 1)
    assert at["good", 60] == (10, 2)


def test_one_ranker_has_curves_and_no_pairs(tables):
    scores, labels = tables
    found = nd.distinguishability(scores.where("run_id = 'good'"), labels, grid=GRID)
    assert rows(found.pairs) == []
    assert {row["run_id"] for row in rows(found.curves)} == {"good"}
    assert found.advice


def test_a_ranker_of_constant_scores(spark, tables):
    scores, labels = tables
    flat = scores.where("run_id = 'poor'").selectExpr("'flat' run_id", "query_id", "doc_id", "1.0")
    three = scores.unionAll(flat)
    found = nd.distinguishability(three, labels, grid=GRID, measures="nDCG", baseline="flat")
    assert counts(found)["constant_flat"] == 11
    assert {(r["run_a"], r["run_b"]) for r in rows(found.pairs)} == {
        ("good", "flat"),
        ("poor", "flat"),
    }
    corrected = [r["mean_cc"] for r in rows(found.curves) if r["run_id"] == "flat"]
    assert abs(corrected[-1]) < 0.25
    averaged = nd.distinguishability(three, labels, grid=GRID, measures="nDCG", ties="mean")
    corrected = [r["mean_cc"] for r in rows(averaged.curves) if r["run_id"] == "flat"]
    assert corrected == pytest.approx([0.0] * 3, abs=1e-8)  # exactly a random order


@pytest.fixture
def stored(tmp_path):
    scores, labels = data()
    for name, table, columns in (("scores", scores, SCORES), ("qrels", labels, LABELS)):
        names = [c.split()[0] for c in columns.split(", ")]
        lists = dict(zip(names, map(list, zip(*table, strict=True)), strict=True))
        pq.write_table(pa.table(lists), tmp_path / f"{name}.parquet")
    return tmp_path


def test_the_command(stored, run_cli):
    command = (
        "distinguishability", "--runs", stored / "scores.parquet", "--qrels",
        stored / "qrels.parquet", "--grid", "10,30,60", "-m", "nDCG,nDCG@10",
    )  # fmt: skip
    code, out, err = run_cli(
        *command, "--out", stored / "out", "--format", "json", "--plot", stored / "curves.svg"
    )
    assert code == 0, err
    found = json.loads(out)
    assert set(found["tables"]) == {"values", "curves", "pairs", "manifest"}
    for name in ("curves", "pairs"):
        assert pq.read_table(stored / "out" / name).to_pylist() == found[name]
    values = pq.read_table(stored / "out" / "values")
    assert len(values) == 11 * 2 * 2 * 3
    assert "<svg" in (stored / "curves.svg").read_text()
    first = (stored / "curves.svg").read_bytes()
    code, out, err = run_cli(*command, "--out", stored / "out", "--plot", stored / "curves.svg")
    assert code == 0, err
    assert "does_not_separate" in out or "undecided" in out
    assert "- nDCG@10: one query never settles" in out
    assert (stored / "curves.svg").read_bytes() == first
    assert not list((stored / "out").glob("**/grown"))


def test_made_up_data(run_cli, tmp_path):
    code, out, err = run_cli(
        "distinguishability", "--synthetic", "power", "--queries", "40", "--grid", "100,300,1000",
        "-m", "nDCG,nDCG(dis='exp2'),nDCG(dis='power:0.5')", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert "Warning" not in err
    found = json.loads(out)
    rows = {(r["run_id"], r["measure"], r["n"]): r for r in found["curves"]}
    for run, m in (("A", 2), ("B", 1), ("random", 0)):
        y, shares = nd.theory.power_family(m)
        for name, dis in (("nDCG", "log2"), ("nDCG(dis='power:0.5')", "power:0.5")):
            row = rows[run, name, 1000]
            right = nd.theory.pseudo_expectation(y, shares, 1000, dis)
            assert abs(row["mean"] - right) < 3 * (row["se"] + 3 / 1000)
    verdict = {(r["run_a"], r["run_b"], r["measure"]): r["verdict"] for r in found["pairs"]}
    assert verdict["A", "random", "nDCG"] == "separates"
    assert verdict["A", "B", "nDCG(dis='exp2')"] != "separates"


def test_wrong_options(run_cli, stored):
    scores = ("distinguishability", "--runs", stored / "scores.parquet")
    for given, text in (
        (("distinguishability",), "--synthetic"),
        (scores, "--qrels"),
        ((*scores, "--synthetic", "power"), "--synthetic"),
        (("distinguishability", "--synthetic", "powers"), "power"),
        (("distinguishability", "--synthetic", "power", "--grid", "10,x"), "--grid"),
        (("distinguishability", "--synthetic", "power", "--plot", "x.pdf"), ".svg"),
        (("distinguishability", "--synthetic", "clicks", "--thresholds", "9,3"), "ascend"),
        (("distinguishability", "--synthetic", "clicks", "--sequences", "0"), "--sequences"),
        (("distinguishability", "--synthetic", "clicks", "--margin", "1"), "--margin"),
    ):
        code, _, err = run_cli(*given)
        assert code == 2, given
        assert text in err, (given, err)
