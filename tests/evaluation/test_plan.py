"""The plan: the same bits on any partitioning, many runs in one pass, types, policies, shape."""

import random

import pytest
from pyspark.sql import types as T

import ndcg_spark as nd
from ndcg_spark.engine.shuffle import SHUFFLE
from ndcg_spark.measures import Policies
from ndcg_spark.tables.small import write_bucketed
from tests.reference import collection, values

pytestmark = pytest.mark.every_engine

MEASURES = nd.parse_measures(
    "nDCG,nDCG@3,nDCG(gain='exp2')@n/2,nDCG(dis='power:0.5'),AP,AP@3,RR,P@5,R@3,Judged@3,NumRet,Rprec"
)
QRELS = "query_id string, doc_id string, relevance int"
RUN = "query_id string, doc_id string, score double"


def frames(spark, qrels, run):
    return spark.createDataFrame(run, RUN), spark.createDataFrame(qrels, QRELS)


def collected(scores):
    return {(r["query_id"], r["measure"]): r["value"] for r in scores.collect()}


@pytest.fixture(scope="module")
def big():
    """One collection of 60 queries, with ids that differ between its parts."""
    qrels, run = [], []
    for seed in range(8):
        some_qrels, some_run = collection(seed, grades=(-1, 0, 1, 2, 3))
        qrels += [(f"{seed}{q}", d, g) for q, d, g in some_qrels]
        run += [(f"{seed}{q}", d, s) for q, d, s in some_run]
    return qrels, run


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"judged_only": True},
        {"negative": "unjudged", "judged_only": True},
        {"depth": 2},
        {"depth": 3, "judged_only": True, "rel": 2},
        {"no_relevant": "one"},
    ],
    ids=str,
)
def test_the_same_bits_as_the_reference(spark, big, options):
    run, qrels = frames(spark, *big)
    found = collected(nd.evaluate(run, qrels, MEASURES, **options))
    assert len(found) > 500
    rel = options.get("rel", 1.0)
    measures = nd.measures.resolve(MEASURES, rel)
    assert found == values(*big, measures, **options)  # every bit


def test_the_same_bits_on_any_partitioning_and_row_order(spark, big):
    qrels, run = map(list, big)
    expected = collected(nd.evaluate(*frames(spark, qrels, run), MEASURES))
    for seed, partitions in ((1, 1), (2, 5), (3, 16)):
        random.Random(seed).shuffle(run)
        random.Random(seed).shuffle(qrels)
        table, judged = frames(spark, qrels, run)
        scattered = table.repartition(partitions), judged.repartition(partitions)
        assert collected(nd.evaluate(*scattered, MEASURES)) == expected


def test_many_runs_in_one_pass(spark, big):
    qrels, run = big
    reverse = [(q, d, -s) for q, d, s in run if q != run[0][0]]
    rows = [("up", *r) for r in run] + [("down", *r) for r in reverse]
    both = spark.createDataFrame(rows, "run_id string, " + RUN)
    judged = spark.createDataFrame(qrels, QRELS)
    found = nd.evaluate(both, judged, MEASURES).collect()
    for name, one in (("up", run), ("down", reverse)):
        mine = {(r["query_id"], r["measure"]): r["value"] for r in found if r["run_id"] == name}
        assert mine == values(qrels, one, MEASURES)


def test_which_queries_count(spark):
    qrels = [("both", "d", 1), ("missing", "d", 1), ("none", "d", 0)]
    run = [("both", "d", 1.0), ("none", "d", 1.0), ("unjudged", "d", 1.0)]

    def queries(**options):
        scores = nd.evaluate(*frames(spark, qrels, run), "nDCG", **options).collect()
        return {r["query_id"]: (r["value"], r["status"]) for r in scores}

    both, none = {"both": (1.0, "ok")}, {"none": (0.0, "no_relevant")}
    missing = {"missing": (0.0, "missing")}
    assert queries() == both | missing | none
    assert queries(queries="intersection") == both | none
    assert queries(queries="run") == both | none | {"unjudged": (0.0, "unjudged")}
    assert queries(no_relevant="skip") == both | missing | {"none": (None, "no_relevant")}
    assert queries(no_relevant="nan")["none"][0] != queries(no_relevant="nan")["none"][0]


@pytest.mark.parametrize(
    "kind",
    ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,3)", "decimal(38,0)"],
)
def test_every_numeric_type_gives_the_same_value(spark, kind):
    qrels, run = collection(3, grades=(0, 1, 2, 3))
    run = [(q, d, round(4 * s)) for q, d, s in run]
    table, judged = frames(spark, qrels, [(q, d, float(s)) for q, d, s in run])
    typed = table.withColumn("score", table.score.cast(kind))
    labels = judged.withColumn("relevance", judged.relevance.cast(kind))
    assert collected(nd.evaluate(typed, labels, MEASURES)) == values(qrels, run, MEASURES)


def test_long_scores_and_ids_stay_exact_above_2_53(spark):
    ids = T.StructType(
        [T.StructField(name, T.LongType()) for name in ("query_id", "doc_id", "score")]
    )
    big = 2**53
    run = spark.createDataFrame([(1, 7, big), (1, big + 1, big + 1)], ids)
    qrels = spark.createDataFrame([(1, big + 1, 1)], "query_id long, doc_id long, relevance int")
    assert nd.evaluate(run, qrels, "RR").first()["value"] == 1.0


def test_integer_ids_break_ties_as_their_text(spark):
    run = spark.createDataFrame(
        [(1, 10, 1.0), (1, 9, 1.0)], "query_id int, doc_id int, score double"
    )
    qrels = spark.createDataFrame([(1, 9, 1)], "query_id bigint, doc_id int, relevance int")
    assert nd.evaluate(run, qrels, "RR").first()["value"] == 1.0  # "9" > "10"
    assert nd.evaluate(run, qrels, "RR", ties="docid_asc").first()["value"] == 0.5


def test_ties_by_utf8_bytes_and_minus_zero(spark):
    run = [("q", "é", 0.0), ("q", "z", -0.0), ("q", "Z", 0.0)]
    found = nd.evaluate(*frames(spark, [("q", "z", 1)], run), "RR").first()["value"]
    assert found == 0.5  # é is two bytes above z


def test_nan_last_and_ascending_scores(spark):
    nan = float("nan")
    run = [("q", "a", nan), ("q", "b", 1.0), ("q", "c", float("-inf")), ("q", "d", None)]
    for options, places in (({}, "bcda"), ({"score_order": "ascending"}, "cbda")):
        for place, doc in enumerate(places, 1):
            tables = frames(spark, [("q", doc, 1)], run)
            scores = nd.evaluate(*tables, "RR", nan_score="last", **options)
            assert scores.first()["value"] == 1 / place, (options, doc)


def test_given_ranks(spark):
    run = spark.createDataFrame(
        [("q", "a", 2), ("q", "b", 1), ("q", "c", 3)], "query_id string, doc_id string, rank int"
    )
    qrels = spark.createDataFrame([("q", "a", 1)], QRELS)
    assert nd.evaluate(run, qrels, "RR", order_by="rank").first()["value"] == 0.5


def test_a_document_that_is_the_query_itself(spark):
    """BEIR's ArguAna asks with documents of the collection: it finds itself first."""
    run = [("q", "q", 3.0), ("q", "a", 2.0), ("q", "b", 1.0), ("r", "r", 1.0), ("s", "s", None)]
    tables = frames(spark, [("q", "b", 1), ("r", "a", 1), ("s", "q", 1)], run)
    with pytest.raises(nd.UsageError, match="gaps"):
        nd.evaluate(*tables, "RR", ignore_identical_ids=True, order_by="rank")
    found = {
        r["query_id"]: r for r in nd.evaluate(*tables, "RR", ignore_identical_ids=True).collect()
    }
    assert {q: (r["value"], r["n_ret"]) for q, r in found.items()} == {
        "q": (0.5, 2), "r": (0.0, 0), "s": (0.0, 0),
    }  # fmt: skip
    with pytest.raises(Exception, match="E122"):
        nd.evaluate(*tables, "RR").collect()
    numbers = [(1, 1, 3.0), (1, 2, 2.0)]
    run = spark.createDataFrame(numbers, "query_id int, doc_id bigint, score double")
    qrels = spark.createDataFrame([(1, 2, 1)], "query_id int, doc_id bigint, relevance int")
    assert nd.evaluate(run, qrels, "RR", ignore_identical_ids=True).first()["value"] == 1.0


def test_a_gain_column_overrides(spark):
    run = spark.createDataFrame([("q", "a", 2.0), ("q", "b", 1.0)], RUN)
    qrels = spark.createDataFrame(
        [("q", "a", 1, 5.0), ("q", "b", 2, None)], QRELS + ", gain double"
    )
    assert nd.evaluate(run, qrels, "DCG@1").first()["value"] == 5.0
    assert nd.evaluate(run, qrels, "nDCG").first()["value"] == 1.0


def test_a_gain_function_reaches_the_workers(spark):
    run, qrels = frames(spark, [("q", "a", 3)], [("q", "a", 1.0)])
    square = nd.DCG(gain=lambda grades: grades**2)
    assert nd.evaluate(run, qrels, square).first()["value"] == 9.0


def test_the_evaluator_is_the_same_as_the_function(spark):
    run, qrels = frames(spark, *collection(5))
    judge = nd.Evaluator(qrels, measures=["ndcg@10"], global_gains="1=1.0,2=3.0")
    plain = nd.evaluate(run, qrels, "ndcg@10", global_gains={1: 1, 2: 3})
    assert collected(judge.evaluate(run)) == collected(plain)
    assert {m for _, m in collected(plain)} == {"nDCG(gains={1: 1, 2: 3})@10"}


def test_one_huge_query_among_small_ones(spark):
    docs = 60_000
    run = spark.range(docs).selectExpr(
        "'big' as query_id", "concat('d', id) as doc_id", "cast(-id as double) as score"
    )
    small = spark.createDataFrame([("s", "d1", 1.0)], RUN)
    qrels = run.selectExpr("query_id", "doc_id", "cast(score % 3 = 0 as int) as relevance")
    judged = qrels.unionByName(spark.createDataFrame([("s", "d1", 1)], QRELS))
    found = collected(nd.evaluate(run.unionByName(small), judged, "NumRelRet,nDCG(gain='binary')"))
    assert found["big", "NumRelRet"] == docs / 3
    assert found["s", "nDCG(gain='binary')"] == 1.0


def test_summary(spark, big):
    from scipy import stats

    qrels, run = big
    scores = nd.evaluate(*frames(spark, qrels, run), "nDCG,NumRet", no_relevant="skip")
    rows = {r["measure"]: r for r in nd.summarize(scores).collect()}
    column = [v for (_, m), v in collected(scores).items() if m == "nDCG" and v is not None]
    row = rows["nDCG"]
    assert row["mean"] == pytest.approx(sum(column) / len(column), abs=1e-12)
    interval = stats.t.interval(0.95, len(column) - 1, row["mean"], stats.sem(column))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(interval, abs=1e-9)
    assert row["n_queries"] - row["n_undefined"] == len(column) == row["sum_weight"]
    assert row["n_undefined"] == row["n_no_relevant"] > 0
    judged = {q for q, _, _ in qrels}
    assert rows["NumRet"]["mean"] == sum(q in judged for q, _, _ in run)
    assert rows["NumRet"]["std"] is None
    assert row["n_missing"] == len(judged - {q for q, _, _ in run})


def test_pruned_lists_have_the_same_values(spark, big):
    qrels, run = big
    nan = [(q, "nan", float("nan")) for q in {q for q, _, _ in run}]
    measures = "nDCG@3,P@2,RR@1,AP@3"
    plain = collected(nd.evaluate(*frames(spark, qrels, run + nan), measures, nan_score="last"))
    for ties in ("docid_desc", "docid_asc"):
        options = {"nan_score": "last", "ties": ties}
        whole = nd.evaluate(*frames(spark, qrels, run + nan), measures, **options)
        pruned = nd.evaluate(*frames(spark, qrels, run + nan), measures, prune=True, **options)
        assert collected(pruned) == collected(whole)
        assert max(r["n_ret"] for r in pruned.collect()) == 4
    assert plain
    with pytest.raises(nd.UsageError, match="AP, nDCG look at the whole list"):
        nd.evaluate(*frames(spark, qrels, run), "AP,nDCG,P@5", prune=True)
    with pytest.raises(nd.UsageError, match="cannot go with"):
        nd.evaluate(*frames(spark, qrels, run), "P@5", prune=True, judged_only=True)


def physical(request, scores) -> str:
    if request.config.getoption("--engine") != "spark":
        pytest.skip("reads the JVM's physical plan")
    return scores._jdf.queryExecution().executedPlan().toString()


def test_plan_has_one_shuffle_of_packed_lists_and_no_join(spark, request):
    """Runs and qrels of any size are packed where they are read, and go through one exchange."""
    text = physical(request, nd.evaluate(*frames(spark, *collection(1)), "nDCG,AP"))
    assert text.count("Exchange") == text.count("Exchange hashpartitioning(part") == 1
    assert "Window" not in text
    assert "Join" not in text


def test_bucketed_tables_are_not_shuffled(spark, request):
    physical(request, spark.range(1))
    run, qrels = collection(1)[1], collection(1)[0]
    for name, rows, schema in (("runs_b", run, RUN), ("qrels_b", qrels, QRELS)):
        table = spark.createDataFrame(rows, schema)
        write_bucketed(table, name, 4)
    spark.conf.set(SHUFFLE, "false")
    scores = nd.evaluate(spark.table("runs_b"), spark.table("qrels_b"), MEASURES)
    text = physical(request, scores)
    found = collected(scores)
    spark.conf.unset(SHUFFLE)
    assert found == values(qrels, run, MEASURES)
    for name in ("runs_b", "qrels_b"):
        spark.sql(f"drop table {name}")
    assert "Exchange hashpartitioning(query_id" not in text


def test_contradictory_policies_are_refused():
    with pytest.raises(nd.UsageError, match="did you mean 'docid_desc'"):
        Policies(ties="docid_dsc")
    with pytest.raises(nd.UsageError, match="depth must be at least 1"):
        Policies(depth=0)
    with pytest.raises(nd.UsageError, match="no defined places"):
        Policies(order_by="rank", duplicate_docs="max")
