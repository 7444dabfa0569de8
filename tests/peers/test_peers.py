"""Other packages' objects as input, and docs/migrating.md: every block runs, every cell is computed."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import ndcg_spark as nd

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrating.md").read_text()
QRELS = {"q1": {"a": 3, "b": 0, "c": 1, "d": 2}, "q2": {"e": 1, "f": 0}}
RUN = {"q1": {"b": 9.0, "a": 8.0, "x": 7.0, "c": 7.0, "d": 1.0}, "q2": {"f": 2.0, "e": 1.0}}
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)


def means(scores):
    return {row["measure"]: row["mean"] for row in nd.summarize(scores).collect()}


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def section(start):
    return next(text for text in SECTIONS if text.startswith(start))


def cells(start):
    """(their name, their value, our name, our value) of each row of a section's table."""
    rows = re.findall(
        r"^\| (`.*?) \| ([\d.]+) \| (`.*?) \| ([\d.]+) \|$", section(start), re.MULTILINE
    )
    assert rows
    return [(a.strip("`"), b, c.strip("`"), d) for a, b, c, d in rows]


def run_blocks(start):
    names = {}
    for block in blocks(SECTIONS[0]) + blocks(section(start)):
        exec(compile(block, "migrating.md", "exec"), names)
    return names


def check(start, theirs, ours):
    """Both columns are what the tools give."""
    for name, value, own, own_value in cells(start):
        assert f"{theirs[name]:.4f}" == value, name
        assert f"{ours[own]:.4f}" == own_value, own


def test_every_section_is_tested():
    here = Path(__file__).read_text()
    for text in SECTIONS[1:]:
        assert f'run_blocks("{re.match(r"[a-zA-Z_-]+", text)[0]}' in here


def test_trec_eval(spark):
    import pytrec_eval

    names = ["ndcg_cut.3", "ndcg", "map", "recip_rank", "P.3", "recall.3"]
    by_query = pytrec_eval.RelevanceEvaluator(QRELS, set(names)).evaluate(RUN)
    theirs = {n: sum(by_query[q][n.replace(".", "_")] for q in RUN) / len(RUN) for n in names}
    ours = means(nd.evaluate(RUN, QRELS, "nDCG@3,nDCG,AP,RR,P@3,R@3"))
    check("trec_eval", theirs, ours)
    assert run_blocks("trec_eval")["found"]["nDCG@3"] == ours["nDCG@3"]


def test_ir_measures(spark):
    import ir_measures

    wanted = [ir_measures.parse_measure(n) for n in ("nDCG@3", "AP", "RR")]
    theirs = {
        str(m): v for m, v in ir_measures.pytrec_eval.calc_aggregate(wanted, QRELS, RUN).items()
    }
    ours = means(nd.evaluate(RUN, QRELS, wanted))
    check("ir_measures", theirs, ours)
    names = run_blocks("ir_measures")
    assert {str(m): pytest.approx(v) for m, v in names["theirs"].items()} == ours


def test_pyterrier(spark, monkeypatch):
    """Experiment's own values, then those that it has from here: another provider left no trace."""
    ir_measures = pytest.importorskip("ir_measures")
    pyterrier = pytest.importorskip("pyterrier")
    asked = [*ir_measures.DefaultPipeline.providers]
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", asked)
    names = run_blocks("PyTerrier")
    assert asked[0].NAME == "ndcg_spark"
    from_here = names["experiment"].iloc[0]
    del asked[0]
    own = pyterrier.Experiment(
        [names["results"]], names["topics"], names["judged"],
        [names["nDCG"] @ 3, names["AP"], names["RR"]], names=["mine"],
    ).iloc[0]  # fmt: skip
    check("PyTerrier", own, names["found"])
    assert from_here.drop("name").to_dict() == pytest.approx(own.drop("name").to_dict(), abs=1e-15)


def test_recommenders(spark):
    judge = pytest.importorskip("recommenders.evaluation.python_evaluation")
    names = run_blocks("recommenders")
    positive = names["ratings"][names["ratings"].rating > 0]
    theirs = {
        call: eval(
            call.replace("(", "(positive, predictions, "),
            {**vars(judge), "positive": positive, "predictions": names["predictions"]},
        )
        for call, *_ in cells("recommenders")
    }
    check("recommenders", theirs, names["found"])


@pytest.mark.filterwarnings("ignore:.*unsafe cast")  # numba's, while it compiles ranx
def test_ranx(spark):
    ranx = pytest.importorskip("ranx")
    names = [name for name, *_ in cells("ranx")]
    theirs = ranx.evaluate(ranx.Qrels(QRELS), ranx.Run(RUN), names)
    ours = means(nd.evaluate(RUN, QRELS, [own for _, _, own, _ in cells("ranx")]))
    check("ranx", theirs, ours)
    assert run_blocks("ranx")["found"]["nDCG@3"] == ours["nDCG@3"]
    scores = nd.evaluate(ranx.Run(RUN, name="mine"), ranx.Qrels(QRELS), "RR")
    assert {row["run_id"] for row in scores.collect()} == {"mine"}


def test_sklearn(spark):
    metrics = pytest.importorskip("sklearn.metrics")
    values = {}
    for query, ignore in (("q1", False), ("q2", True)):
        docs = list(RUN[query])
        truth, given = [[QRELS[query].get(d, 0) for d in docs]], [[RUN[query][d] for d in docs]]
        values[query] = metrics.ndcg_score(truth, given, k=3, ignore_ties=ignore)
    found = run_blocks("scikit-learn")["found"]
    for (name, value, _, own), query in zip(cells("scikit-learn"), values, strict=True):
        assert name.endswith(query)
        assert f"{values[query]:.4f}" == value
        assert f"{found[query]:.4f}" == own
    assert found["q1"] == pytest.approx(values["q1"], abs=1e-14)


@pytest.mark.every_engine
def test_mllib(engine, spark):
    found = run_blocks("MLlib")["found"]
    for _, value, own, own_value in cells("MLlib"):
        assert f"{found[own]:.4f}" == own_value == value
    if engine.embedded:
        return  # it has no MLlib; values of its documentation were compared
    from pyspark.ml.evaluation import RankingEvaluator

    lists = run_blocks("MLlib")["lists"]
    table = spark.createDataFrame(
        [
            ([*map(float, p)], [*map(float, q)])
            for p, q in zip(lists.prediction, lists.label, strict=True)
        ],
        "prediction array<double>, label array<double>",
    )
    for name, value, _, _ in cells("MLlib"):
        metric, at = re.fullmatch(r"(\w+?)(?:\((\d+)\))?", name).groups()
        known = f"{metric}K" if at else metric  # precisionAt(1) is precisionAtK with k=1
        judge = RankingEvaluator(metricName=known, **({"k": int(at)} if at else {}))
        assert f"{judge.evaluate(table):.4f}" == value, name


def test_named_tuples_and_generators(spark):
    import ir_measures

    run = [ir_measures.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    qrels = (ir_measures.Qrel(q, d, r) for q, docs in QRELS.items() for d, r in docs.items())
    found = nd.evaluate(iter(run), qrels, "nDCG@3")
    assert means(found) == means(nd.evaluate(RUN, QRELS, "nDCG@3"))
    found = nd.evaluate({1: {2: 0.5, 3: 0.1}}, {1: {3: 1}}, "RR")
    assert [row["value"] for row in found.collect()] == [0.5]


@pytest.mark.parametrize(("run", "message"), [
    ({"q": {"a": "high"}}, "a score is no number"),
    ({"q": ["a"]}, "a dict must be of dicts"),
    ({"q": {"a": 1.0}, 1: {"b": 1.0}}, "ids must all be texts"),
    ([1, 2], "list is no table"),
])  # fmt: skip
def test_refused(spark, run, message):
    with pytest.raises(nd.UsageError, match=message):
        nd.evaluate(run, QRELS, "RR")


def test_the_provider_in_ir_measures(spark, monkeypatch):
    import ir_measures

    asked = list(ir_measures.DefaultPipeline.providers)
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", asked)
    nd.peers.use_in_ir_measures()
    nd.peers.use_in_ir_measures()
    assert [one.NAME for one in asked].count("ndcg_spark") == 1
    wanted = [ir_measures.nDCG @ 3, ir_measures.AP(rel=2), ir_measures.RBP(p=0.5)]
    run = {"q1": RUN["q1"]}  # q2 is missing: it counts as 0
    found = ir_measures.calc_aggregate(wanted, QRELS, run)
    theirs = ir_measures.pytrec_eval.calc_aggregate(wanted[:2], QRELS, run)
    assert {m: found[m] for m in theirs} == {m: pytest.approx(v) for m, v in theirs.items()}
    metrics = list(ir_measures.iter_calc(wanted[:1], QRELS, run))
    assert {m.query_id for m in metrics} == {"q1", "q2"}
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    run = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run) == {ir_measures.RR: 1.0}


def test_mlflow(spark, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    page = tmp_path / "report.html"
    page.write_text("<p>page</p>")
    aggregate = nd.summarize(nd.evaluate(RUN, QRELS, "nDCG@3,AP"))
    with mlflow.start_run() as active:
        logged = nd.peers.log_to_mlflow(aggregate, str(page))
    kept = mlflow.get_run(active.info.run_id)
    assert (
        kept.data.metrics
        == logged
        == {"nDCG_3": pytest.approx(0.5142, abs=1e-4), "AP": logged["AP"]}
    )
    assert kept.data.tags["ndcg_spark.nDCG_3"] == "nDCG@3"
    assert [one.path for one in mlflow.MlflowClient().list_artifacts(active.info.run_id)] == [
        "report.html"
    ]
    rows = [{"run_id": r, "measure": m, "mean": 0.5} for r in "ab" for m in ("P@1", "P_1")]
    with mlflow.start_run(), pytest.raises(nd.UsageError, match="two names become"):
        nd.peers.log_to_mlflow(rows, run_id="a")
    with mlflow.start_run(), pytest.raises(nd.UsageError, match="run 'c'"):
        nd.peers.log_to_mlflow(rows, run_id="c")
