"""Measures and gains of one's own, from Python and from the command line."""

import json

import pytest

import ndcg_spark as nd
from tests.own_measures import Novelty, list_length

RUN = "query_id string, doc_id string, score double"
QRELS = "query_id string, doc_id string, relevance int"


@pytest.fixture
def frames(spark):
    run = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)]
    return spark.createDataFrame(run, RUN), spark.createDataFrame([("q", "a", 3)], QRELS)


def test_from_python(frames):
    scores = nd.evaluate(*frames, [Novelty() @ 2, list_length, nd.DCG(gain=lambda g: g**2)])
    found = {r["measure"].split(":")[-1]: r["value"] for r in scores.collect()}
    assert found["Novelty@2"] == 0.5
    assert found["list_length"] == 3.0
    assert [v for name, v in found.items() if "lambda" in name] == [9.0]


def test_names_round_trip():
    for text in ("tests.own_measures:Novelty@10", "tests.own_measures:list_length"):
        measure = nd.parse_measure(text)
        assert str(measure) == text
        assert nd.parse_measure(str(measure)) == measure
    for text, words in (
        ("tests.own_measures:Nowhere", "cannot be imported"),
        ("no_such_module:X", "cannot be imported"),
        ("tests.own_measures:RUN", "cannot be imported"),
        ("json:JSONDecoder", "neither a Measure class nor a function"),
    ):
        with pytest.raises(nd.UsageError, match=words):
            nd.parse_measures(text)


def test_from_the_command_line(frames, run_cli, tmp_path):
    run, qrels = frames
    run.write.parquet(str(tmp_path / "run"))
    qrels.write.parquet(str(tmp_path / "qrels"))
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "qrels", "--runs", tmp_path / "run", "--format", "json",
        "-m", "tests.own_measures:Novelty@2,tests.own_measures:list_length",
        "-m", "DCG(gain='tests.own_measures:squared')",
    )  # fmt: skip
    assert code == 0, err
    means = {r["measure"]: r["mean"] for r in json.loads(out)["aggregate"]}
    assert means == {
        "tests.own_measures:Novelty@2": 0.5,
        "tests.own_measures:list_length": 3.0,
        "DCG(gain='tests.own_measures:squared')": 9.0,
    }
