"""What a Python user types: names, keywords, tables of every kind, one word for each thing."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import ndcg_spark as nd
from ndcg_spark import AP, nDCG, sample
from ndcg_spark.comparison.options import CompareKeywords
from ndcg_spark.measures.policies import PolicyKeywords

SAMPLE = Path(sample.__file__).parent
RUN = {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"], "score": [2.0, 1.0, 3.0]}
QRELS = {"query_id": ["q1", "q2"], "doc_id": ["d2", "d1"], "relevance": [1, 2]}
VALUES = {("q1", "nDCG@10"): 0.6309297535714575, ("q2", "nDCG@10"): 1.0}


def values(scores):
    return {(r["query_id"], r["measure"]): r["value"] for r in scores.collect()}


def test_a_cutoff_on_the_bare_name():
    assert nDCG @ 10 == nDCG(cutoff=10)
    assert str(nDCG @ 10) == "nDCG@10"
    assert repr(AP(rel=2) @ 5) == "AP(rel=2)@5"
    assert repr([nDCG(gain="exp2") @ "n/5", nd.P @ 5]) == "[nDCG(gain='exp2')@n/5, P@5]"
    with pytest.raises(nd.UsageError, match="ERR needs max_rel"):
        nd.ERR @ 10
    with pytest.raises(nd.UsageError, match="NumRet has no cut-off"):
        nd.NumRet @ 10


def test_repr_reads_back_in_python():
    names = {name: getattr(nd, name) for name in nd.__all__}
    for measure in nd.catalogue():
        if measure.__module__.startswith("ndcg_spark.measures") and ":" not in measure.canonical:
            example = measure.example()
            assert nd.parse_measure(repr(example)) == example
            if measure.__name__ == measure.canonical and "/" not in repr(example):
                assert nd.parse_measure(eval(repr(example), names)) == example


def test_one_list_of_public_names():
    assert len(nd.__all__) == len(set(nd.__all__))
    for name in nd.__all__:
        assert getattr(nd, name) is not None
    for measure in nd.catalogue():
        if measure.__module__.startswith("ndcg_spark."):
            assert getattr(nd, measure.__name__) is measure
            assert measure.__name__ in nd.__all__
    public = {name for name in vars(nd) if not name.startswith("_")}
    rooms = {"arrays", "cli", "commands", "comparison", "distinguish", "ending", "engine", "errors",
             "evaluation", "face", "lazy", "measures", "redaction", "report", "sample", "stats",
             "tables", "version"}  # fmt: skip
    assert public - set(nd.__all__) - rooms <= {"TYPE_CHECKING", "MEASURES", "VOCABULARY"}


def test_typed_keywords_are_the_options():
    for kind, keywords in ((nd.Policies, PolicyKeywords), (nd.CompareOptions, CompareKeywords)):
        assert typing.get_type_hints(keywords) == typing.get_type_hints(kind)
        assert list(keywords.__annotations__) == [f.name for f in dataclasses.fields(kind)]


@pytest.mark.parametrize("call", [
    lambda **k: nd.evaluate("runs", "qrels", "nDCG", **k),
    lambda **k: nd.Evaluator("qrels", "nDCG", **k),
    lambda **k: nd.check("runs", "qrels", **k),
])  # fmt: skip
def test_a_wrong_keyword_names_the_nearest(call):
    with pytest.raises(nd.UsageError, match=r"'tie'.*'ties'"):
        call(tie="mean")
    with pytest.raises(nd.UsageError, match="not of type Policies"):
        call(policies={"ties": "mean"})


def test_a_wrong_keyword_of_other_functions():
    with pytest.raises(nd.UsageError, match=r"'alpa'.*'alpha'"):
        nd.compare("scores", alpa=0.1)
    with pytest.raises(nd.UsageError, match=r"'seeds'.*'seed'"):
        nd.discriminative_power("scores", seeds=1)
    with pytest.raises(nd.UsageError, match=r"'segment'.*'segments'"):
        nd.clicks.patterns("log", date="2026-11-29", segment=["a"])
    with pytest.raises(nd.UsageError, match="say which day"):
        nd.clicks.qrels("log")


def test_public_functions_are_typed_and_documented():
    for name in nd.__all__:
        value = getattr(nd, name)
        if inspect.isfunction(value):
            assert value.__doc__, name
            hints = inspect.signature(value)
            assert hints.return_annotation is not inspect.Signature.empty, name


@pytest.fixture(params=["pandas", "polars", "pyarrow", "duckdb", "reader", "categories", "path"])
def made(request, tmp_path):
    """A function that makes a table of some kind out of columns."""
    kind = request.param

    def make(columns):
        if kind == "pandas":
            return pd.DataFrame(columns)
        if kind == "categories":
            frame = pd.DataFrame(columns)
            return frame.astype({"query_id": "category", "doc_id": "category"})
        if kind == "polars":
            return pytest.importorskip("polars").DataFrame(columns)
        table = pa.table(columns)
        if kind == "duckdb":
            return pytest.importorskip("duckdb").from_arrow(table)
        if kind == "reader":
            return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
        if kind == "path":
            path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
            pd.DataFrame(columns).to_parquet(path)
            return path
        return table

    return make


@pytest.mark.every_engine
def test_tables_of_every_kind(spark, made):
    scores = nd.evaluate(made(RUN), made(QRELS), nDCG @ 10)
    assert values(scores) == VALUES
    assert scores.sparkSession is spark or "connect" in type(spark).__module__


def test_a_large_table_goes_through_a_file(spark, monkeypatch):
    from ndcg_spark.engine import inputs

    monkeypatch.setattr(inputs, "IN_MESSAGE", 0)
    assert values(nd.evaluate(pd.DataFrame(RUN), pa.table(QRELS), "nDCG@10")) == VALUES


def test_dataframes_and_others_mix(spark):
    run = spark.createDataFrame(pd.DataFrame(RUN))
    assert values(nd.evaluate(run, pd.DataFrame(QRELS), "nDCG@10")) == VALUES
    with pytest.raises(nd.UsageError, match=r"qrels: list is no table"):
        nd.evaluate(run, [1], "nDCG@10")


def test_policies_as_an_object(spark):
    run, qrels = pd.DataFrame({**RUN, "score": [1.0, 1.0, 1.0]}), pd.DataFrame(QRELS)
    policies = nd.Policies(ties="mean")
    by_object = values(nd.evaluate(run, qrels, "RR", policies=policies))
    assert by_object == values(nd.evaluate(run, qrels, "RR", ties="mean")) == {
        ("q1", "RR"): 0.75, ("q2", "RR"): 1.0
    }  # fmt: skip
    both = nd.evaluate(run, qrels, "RR", policies=policies, ties="docid_asc")
    assert values(both)["q1", "RR"] == 0.5


def test_objects_of_ir_measures(spark):
    ir = pytest.importorskip("ir_measures")
    asked = [ir.nDCG@10, ir.AP(rel=2), ir.P(rel=2)@5, ir.RR, ir.nDCG(dcg="exp-log2")@5, ir.Judged@10,
             ir.IPrec@0.1, ir.SetF(beta=2), ir.RBP(p=0.5), ir.Bpref, ir.NumRet]  # fmt: skip
    names = [str(m) for m in nd.parse_measures(asked)]
    assert names == ["nDCG@10", "AP(rel=2)", "P(rel=2)@5", "RR", "nDCG(gain='exp2')@5", "Judged@10",
                     "IPrec@0.1", "SetF@2", "RBP(p=0.5)", "Bpref", "NumRet"]  # fmt: skip
    assert nd.parse_measures(ir.nDCG @ 10) == [nDCG @ 10]
    scores = nd.evaluate(pd.DataFrame(RUN), pd.DataFrame(QRELS), [ir.nDCG @ 10])
    assert values(scores) == VALUES


def test_results_are_tables(spark):
    scores = nd.evaluate(str(SAMPLE / "runs.parquet"), SAMPLE / "qrels.parquet", [nDCG @ 10, AP])
    assert set(nd.compare(scores, baseline="bm25").columns) >= {"delta", "p_value"}
    power = nd.discriminative_power(scores, replicates=50)
    assert power.power.count() == 2
    assert power.agreement.columns == ["measure_a", "measure_b", "tau_b", "tau_ap", "rbo"]
    twice = pd.DataFrame({k: [*v, v[0]] for k, v in RUN.items()})
    (problem,) = nd.check(twice, pd.DataFrame(QRELS)).collect()
    assert (problem["code"], problem["count"]) == ("E132", 1)
    assert problem["problem"].startswith("E132: 1 documents are duplicated")
    assert problem["examples"] == ["run run, query q1, document d1"]


def test_clicks(spark):
    log = SAMPLE / "impressions.parquet"
    patterns = nd.clicks.patterns(log, date="2026-11-29", segments=["country"])
    daily = nd.clicks.daily(patterns, [nDCG @ 10, "RR"], segments=["country"]).collect()
    assert {r["measure"] for r in daily} == {"nDCG@10", "RR"}
    state = nd.clicks.state(patterns, [nDCG @ 10])
    by_state = nd.clicks.differences(state, "A").orderBy("segment").collect()
    by_pattern = nd.clicks.differences(patterns, "A", [nDCG @ 10]).orderBy("segment").collect()
    assert by_state == by_pattern
    assert by_state
    labels = nd.clicks.qrels(log, date="2026-11-29", thresholds={1: 1, 3: 2})
    assert {r["relevance"] for r in labels.select("relevance").distinct().collect()} == {0, 1, 2}
    found = nd.clicks.bias(log, date="2026-11-29", method="power_law", depth=10)
    assert found.propensities.count() == 10
    assert found.estimates.columns[:3] == ["name", "run", "utility"]


@pytest.mark.slow
def test_a_fresh_python_without_a_session():
    program = f"""
import pandas as pd, polars as pl
import ndcg_spark as nd
run = pd.read_parquet("{SAMPLE}/runs.parquet")
qrels = pl.read_parquet("{SAMPLE}/qrels.parquet")
print(len(nd.evaluate(run, qrels, "nDCG@10").toPandas()))
assert nd.session() is nd.evaluate(run, qrels, "nDCG@10").sparkSession
"""
    pytest.importorskip("polars")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "900"
