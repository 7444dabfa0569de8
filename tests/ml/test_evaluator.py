"""`RankingEvaluator` and arrays against `evaluate`, and a `CrossValidator` that finds the best."""

from __future__ import annotations

import math

import pandas as pd
import pytest

import ndcg_spark as nd
from ndcg_spark.ml import RankingEvaluator

ROWS = pd.DataFrame(
    [("q1", "a", 0.9, 0.0), ("q1", "b", 0.5, 2.0), ("q1", "c", 0.1, None), ("q2", "a", 0.2, 1.0),
     ("q2", "d", 0.2, 3.0), ("q3", "e", 1.0, 0.0)],
    columns=["query_id", "doc_id", "prediction", "label"],
)  # fmt: skip


def reference(measure, **policies):
    run = ROWS.rename(columns={"prediction": "score"})[["query_id", "doc_id", "score"]]
    qrels = ROWS.dropna().rename(columns={"label": "relevance"})
    qrels = qrels[["query_id", "doc_id", "relevance"]]
    scores = nd.evaluate(run, qrels, measure, **policies)
    return nd.summarize(scores).collect()[0]["mean"]


@pytest.mark.every_engine
@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG(gain='exp2')@2", "AP", "RR", "P@1"])
def test_rows_as_evaluate(spark, measure):
    table = spark.createDataFrame(ROWS)
    assert RankingEvaluator(measure).evaluate(table) == reference(measure)


def test_policies(spark):
    table = spark.createDataFrame(ROWS)
    for keywords in ({"ties": "docid_asc"}, {"no_relevant": "skip"}, {"ties": "mean"}):
        found = RankingEvaluator(nd.nDCG @ 3, **keywords).evaluate(table)
        assert found == reference("nDCG@3", **keywords)


def lists(spark, rows, kind="string"):
    schema = (
        f"query string, prediction array<{kind}>, label array<{kind}>, grades array<int>, "
        "scores array<double>"
    )
    return spark.createDataFrame(rows, schema)


@pytest.mark.every_engine
def test_arrays_by_hand(spark):
    rows = [
        ("q1", ["a", "b", "c"], ["b", "z"], [2, 1], [1.0, 3.0, 2.0]),
        ("q2", ["d"], ["e"], [1], [1.0]),
        ("q3", None, ["e"], [1], None),
        ("q4", ["d"], None, None, [1.0]),
    ]
    table = lists(spark, rows)
    ideal = 2 + 1 / math.log2(3)
    found = nd.evaluate_arrays(table, "nDCG@3", query_id="query", relevance="grades")
    values = {r["query_id"]: r["value"] for r in found.collect()}
    assert values == {"q1": pytest.approx(2 / math.log2(3) / ideal), "q2": 0.0, "q3": 0.0}
    scored = nd.evaluate_arrays(
        table, "nDCG@3", query_id="query", relevance="grades", score="scores"
    )
    values = {r["query_id"]: r["value"] for r in scored.collect()}
    assert values["q1"] == pytest.approx(2 / ideal)
    plain = nd.evaluate_arrays(table, "RR")
    assert sorted(r["value"] for r in plain.collect()) == [0.0, 0.0, 0.5]
    assert RankingEvaluator("RR").evaluate(table) == pytest.approx(1 / 6)
    graded = RankingEvaluator("nDCG@3", relevanceCol="grades").evaluate(table)
    assert graded == pytest.approx(2 / math.log2(3) / ideal / 3)


def test_mllibs_example(spark):
    """The lists of Spark's documentation of RankingMetrics, and the values that it prints."""
    rows = [
        (None, [1.0, 6, 2, 7, 8, 3, 9, 10, 4, 5], [1.0, 2, 3, 4, 5], None, None),
        (None, [4.0, 1, 5, 6, 2, 7, 3, 8, 9, 10], [1.0, 2, 3], None, None),
        (None, [1.0, 2, 3, 4, 5], [], None, None),
    ]
    floats = [
        (q, [float(x) for x in p], [float(x) for x in labels], None, None)
        for q, p, labels, _, _ in rows
    ]
    table = lists(spark, floats, "double")
    # MLlib counts the list without labels as 0
    known = {"P@1": 1 / 3, "P@2": 1 / 3, "AP": 0.355026, "nDCG@3": 1 / 3, "nDCG@5": 0.328788,
             "R@1": 1 / 15, "R@2": 8 / 45}  # fmt: skip
    found = nd.evaluate_arrays(table, list(known), queries="run")
    means = {r["measure"]: r["mean"] for r in nd.summarize(found).collect()}
    assert means == {name: pytest.approx(value, abs=1e-6) for name, value in known.items()}


@pytest.mark.parametrize(("rows", "code"), [
    ([("q", ["a", "a"], ["a"], [1], None)], "E132"),
    ([("q", ["a"], ["a", "b"], [1], None)], "E113"),
    ([("q", ["a", None], ["a"], [1], None)], "E120"),
])  # fmt: skip
def test_bad_arrays(spark, rows, code):
    with pytest.raises(Exception, match=code):
        nd.evaluate_arrays(lists(spark, rows), "RR", relevance="grades").collect()


def test_refused(spark):
    table = spark.createDataFrame(ROWS)
    with pytest.raises(nd.UsageError, match="no column 'scor'"):
        RankingEvaluator(predictionCol="scor").evaluate(table)
    with pytest.raises(nd.UsageError, match="unknown measure"):
        RankingEvaluator("nDGC@10")
    with pytest.raises(nd.UsageError, match="ties"):
        RankingEvaluator(tie="mean")
    with pytest.raises(nd.UsageError, match="no array"):
        nd.evaluate_arrays(table, "RR")
    with pytest.raises(nd.InputError, match="E171"):
        RankingEvaluator().evaluate(table.where("query_id = 'none'"))


def test_params(spark):
    table = spark.createDataFrame(ROWS.rename(columns={"label": "grade"}))
    judge = RankingEvaluator("RR", labelCol="grade")
    assert judge.isLargerBetter()
    assert judge.evaluate(table, {judge.measure: "P@1"}) == reference("P@1")
    assert judge.evaluate(table) == reference("RR")


@pytest.mark.every_engine
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Spark's pool
def test_a_cross_validator_finds_the_better_mix(engine, spark):
    """Of two features one ranks right: weights on it have the highest nDCG, in every fold."""
    if engine.embedded:
        pytest.skip("the embedded engine has no pyspark.ml estimators")
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    data = [
        (f"q{i % 40}", f"d{i}", float((i // 40 * 3 + i) % 5), float(i * 104729 % 97))
        for i in range(800)
    ]
    table = spark.createDataFrame(
        data, "query_id string, doc_id string, label double, noise double"
    )
    table = table.selectExpr(
        "*", "label + noise / 20 as signal", "int(substring(query_id, 2)) % 2 as fold"
    )
    both = VectorAssembler(inputCols=["signal", "noise"], outputCol="both")
    model = LinearRegression(featuresCol="both")
    grid = ParamGridBuilder().addGrid(model.regParam, [0.0, 1000.0]).addGrid(
        model.elasticNetParam, [1.0]
    ).build()  # fmt: skip
    judge = RankingEvaluator("nDCG@10")
    found = CrossValidator(
        estimator=Pipeline(stages=[both, model]), estimatorParamMaps=grid, evaluator=judge,
        numFolds=2, seed=1, foldCol="fold",
    ).fit(table)  # fmt: skip
    assert found.avgMetrics[0] > found.avgMetrics[1] + 0.1
    assert found.bestModel.stages[1].getRegParam() == 0.0
    assert judge.evaluate(found.transform(table)) == pytest.approx(1.0, abs=0.01)
