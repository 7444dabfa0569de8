"""Measures and gains of one's own, from Python and from the command line."""

import json

import numpy as np
import pytest

import ndcg_spark as nd
from ndcg_spark.measures import Batch, Policies, scores
from tests.own_measures import Novelty, list_length

RUN = "query_id string, doc_id string, score double"
QRELS = "query_id string, doc_id string, relevance int"


@pytest.fixture
def frames(spark):
    run = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)]
    return spark.createDataFrame(run, RUN), spark.createDataFrame([("q", "a", 3)], QRELS)


def test_from_python(frames):
    made = nd.evaluate(*frames, [Novelty() @ 2, list_length, nd.DCG(gain=lambda g: g**2)])
    found = {r["measure"].split(":")[-1]: r["value"] for r in made.collect()}
    assert found["Novelty@2"] == 0.5
    assert found["list_length"] == 3.0
    assert [v for name, v in found.items() if "lambda" in name] == [9.0]


BATCH = Batch.of(hits=[[(1, 1)], []], grades=[[(1, 1)], [(1, 1)]])


def _writes(batch):
    batch.hit_label[:] = 0
    return batch.n_ret


def _fails(batch):
    return batch.n_rets * 1.0  # no such array


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda batch: 1.0, r"shape \(\) and type float64 instead of \(2,\)"),
        (lambda batch: np.zeros(3), r"shape \(3,\)"),
        (lambda batch: np.array(["a", "b"]), "type <U1"),
        (lambda batch: np.zeros(2) + 1j, "complex128"),
        (lambda batch: np.array([None, 1.0]), "type object"),
        (_writes, r"ValueError: .*read-only .*batch.hit_label\[:\] = 0"),
        (_fails, r"AttributeError: .*return batch.n_rets \* 1.0"),
    ],
)
def test_what_an_own_measure_must_give(function, words):
    with pytest.raises(nd.UsageError, match=words):
        scores(BATCH, nd.parse_measures([function]), Policies())
    with pytest.raises(nd.InputError, match="E114"):
        scores(BATCH, nd.parse_measures([lambda batch: np.full(2, np.nan)]), Policies())
    whole = scores(BATCH, nd.parse_measures([lambda batch: batch.n_ret]), Policies())
    assert whole.ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["os:system", "subprocess:call", "builtins:eval", "shutil:rmtree"])
def test_pythons_own_functions_are_never_called(name):
    for text in (name, f"nDCG(gain='{name}')"):
        with pytest.raises(nd.UsageError, match="of Python's own library"):
            nd.parse_measures(text)


def test_a_module_that_ends_python_ends_nothing(tmp_path, monkeypatch):
    (tmp_path / "leaves_at_import.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "fails_at_import.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(nd.UsageError, match="ends Python when it is imported"):
        nd.parse_measures("leaves_at_import:measure")
    with pytest.raises(nd.UsageError, match="ZeroDivisionError"):
        nd.parse_measures("fails_at_import:measure")


def test_names_round_trip():
    for text in ("tests.own_measures:Novelty@10", "tests.own_measures:list_length"):
        measure = nd.parse_measure(text)
        assert str(measure) == text
        assert nd.parse_measure(str(measure)) == measure
    for text, words in (
        ("tests.own_measures:Nowhere", "cannot be imported"),
        ("no_such_module:X", "cannot be imported"),
        ("tests.own_measures:RUN", "cannot be imported"),
        ("json:JSONDecoder", "of Python's own library"),
        ("pytest:Item", "neither a Measure class nor a function"),
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
