"""Weighted means and segments; ties and the pairwise measures through the plan."""

import json
import math

import pytest

import ndcg_spark as nd
from tests.evaluation.test_plan import frames
from tests.reference import collection, values

pytestmark = pytest.mark.every_engine


@pytest.fixture(scope="module")
def scores(spark):
    qrels, run = collection(21, queries=12, grades=(0, 1, 2))
    return nd.evaluate(*frames(spark, qrels, run), "nDCG,NumRet,gm_map", no_relevant="skip")


def column(scores, measure):
    return {r["query_id"]: r["value"] for r in scores.collect() if r["measure"] == measure}


def test_weighted_means_beside_the_plain_ones(spark, scores):
    ndcg = column(scores, "nDCG")
    weight = {q: 1.0 + 3 * i for i, q in enumerate(sorted(ndcg))}
    table = spark.createDataFrame(list(weight.items()), "query_id string, weight double")
    rows = {(r["measure"], r["segment"]): r for r in nd.summarize(scores, weights=table).collect()}
    plain = {(r["measure"], r["segment"]): r for r in nd.summarize(scores).collect()}
    assert {k: rows[k] for k in plain} == plain
    kept = {q: v for q, v in ndcg.items() if v is not None}
    total = math.fsum(weight[q] for q in kept)
    row = rows["nDCG", "weighted"]
    expected = math.fsum(weight[q] * v for q, v in kept.items()) / total
    assert row["mean"] == pytest.approx(expected, abs=1e-14)
    assert row["sum_weight"] == total
    assert row["n_undefined"] == len(ndcg) - len(kept)
    assert row["ci_low"] is None
    counted = column(scores, "NumRet")
    expected = math.fsum(weight[q] * v for q, v in counted.items())
    assert rows["NumRet", "weighted"]["mean"] == expected


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), -1.0, "twice", "absent"])
def test_a_query_without_one_good_weight_is_refused(spark, scores, bad):
    names = sorted(column(scores, "nDCG"))
    rows = [(q, 1.0) for q in names[1:]]
    rows += [(names[0], 1.0)] * 2 if bad == "twice" else []
    rows += [(names[0], bad)] if not isinstance(bad, str) else []
    table = spark.createDataFrame(rows, "query_id string, weight double")
    with pytest.raises(Exception, match="E138"):
        nd.summarize(scores, weights=table).collect()


def test_geometric_mean(scores):
    row = next(r for r in nd.summarize(scores).collect() if r["measure"] == "GMAP")
    kept = [max(v, 1e-5) for v in column(scores, "GMAP").values() if v is not None]
    assert row["mean"] == pytest.approx(math.exp(math.fsum(map(math.log, kept)) / len(kept)))
    assert row["std"] is None


def test_segments(spark, scores):
    names = sorted(column(scores, "nDCG"))
    part = {q: ("head" if i < 3 else "tail", "de" if i % 2 else None) for i, q in enumerate(names)}
    table = spark.createDataFrame(
        [(q, *p) for q, p in part.items()], "query_id string, bucket string, country string"
    )
    found = nd.summarize(scores, by=["bucket"], attributes=table).collect()
    rows = {r["segment"]: r for r in found if r["measure"] == "nDCG"}
    assert set(rows) == {"all", "bucket=head", "bucket=tail"}
    kept = [v for q, v in column(scores, "nDCG").items() if part[q][0] == "head" and v is not None]
    assert rows["bucket=head"]["mean"] == pytest.approx(math.fsum(kept) / len(kept), abs=1e-14)
    assert rows["bucket=head"]["n_queries"] == 3
    both = nd.summarize(scores, by=["bucket", "country"], attributes=table).collect()
    assert {r["segment"] for r in both} >= {"bucket=head|country=de", "bucket=tail|country=null"}
    with pytest.raises(nd.UsageError, match="did you mean 'bucket'"):
        nd.summarize(scores, by=["buckett"], attributes=table)


@pytest.mark.parametrize("ties", ["mean", "best", "worst"])
def test_ties_through_the_plan(spark, ties):
    """docid orders lie between the bounds, and the mean is the mean over shuffled ids."""
    qrels, run = collection(31, queries=10, grades=(0, 1, 2, 3))
    run = [(q, d, round(s)) for q, d, s in run]
    measures = "nDCG@3,AP,RR,P@2,Success@2"
    found = {
        (r["query_id"], r["measure"]): r["value"]
        for r in nd.evaluate(*frames(spark, qrels, _floats(run)), measures, ties=ties).collect()
    }
    plain = values(qrels, run, nd.parse_measures(measures))
    assert found != plain
    for key, value in plain.items():
        if ties == "best":
            assert value <= found[key] + 1e-12
        if ties == "worst":
            assert value >= found[key] - 1e-12
    if ties == "mean":
        best = nd.evaluate(*frames(spark, qrels, _floats(run)), measures, ties="best").collect()
        worst = nd.evaluate(*frames(spark, qrels, _floats(run)), measures, ties="worst").collect()
        for high, low in zip(_by_key(best), _by_key(worst), strict=True):
            key = high["query_id"], high["measure"]
            assert low["value"] - 1e-12 <= found[key] <= high["value"] + 1e-12


def _floats(run):
    return [(q, d, float(s)) for q, d, s in run]


def _by_key(rows):
    return sorted(rows, key=lambda r: (r["query_id"], r["measure"]))


def test_pairwise_measures_get_the_scores(spark):
    run = [("q", "a", 2.0), ("q", "b", 2.0), ("q", "c", 0.0)]
    qrels = [("q", "a", 0), ("q", "b", 2), ("q", "c", 1)]
    tables = frames(spark, qrels, run)
    found = {r["measure"]: r["value"] for r in nd.evaluate(*tables, "PairAcc,BPR").collect()}
    assert found["PairAcc"] == pytest.approx((0.5 + 1 + 0) / 3)
    loss = [math.log(2), math.log1p(math.exp(-2.0)), math.log1p(math.exp(2.0))]
    assert found["BPR"] == pytest.approx(sum(loss) / 3)
    flipped = nd.evaluate(*tables, "BPR", score_order="ascending").first()["value"]
    loss = [math.log(2), math.log1p(math.exp(2.0)), math.log1p(math.exp(-2.0))]
    assert flipped == pytest.approx(sum(loss) / 3)


def test_weights_on_the_command_line(spark, run_cli, tmp_path):
    run, qrels = frames(spark, [("h", "a", 1), ("t", "a", 1)], [("h", "a", 1.0), ("t", "x", 2.0)])
    run.write.parquet(str(tmp_path / "run"))
    qrels.write.parquet(str(tmp_path / "qrels"))
    spark.createDataFrame([("h", 9), ("t", 1)], "qid string, n int").write.parquet(
        str(tmp_path / "w")
    )
    command = [
        "evaluate", "--qrels", tmp_path / "qrels", "--runs", tmp_path / "run", "-m", "RR",
        "--weights", tmp_path / "w", "--columns", "weights.query_id=qid,weights.weight=n",
    ]  # fmt: skip
    code, out, err = run_cli(*command, "--format", "json", "--out", tmp_path / "out")
    assert code == 0, err
    assert {r["segment"]: r["mean"] for r in json.loads(out)["aggregate"]} == {
        "all": 0.5,
        "weighted": 0.9,
    }
    assert "RR (weighted)" in run_cli(*command)[1]
    spark.createDataFrame([("h", 9)], "qid string, n int").write.mode("append").parquet(
        str(tmp_path / "w")
    )
    code, _, err = run_cli(*command)
    assert code == 3
    assert "E138" in err
