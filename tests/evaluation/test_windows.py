"""The window plan: the kernel's numbers by other means, and what they are made of."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import ndcg_spark as nd
from ndcg_spark.engine.running import refused
from ndcg_spark.evaluation import fit
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.window_plan import lists_scored
from ndcg_spark.measures import Policies, resolve
from ndcg_spark.measures.additive import AdditiveMeasure, in_parts
from ndcg_spark.tables.footers import most_of_one_value
from tests.conftest import TREC_SAMPLE
from tests.reference import collection

RUN = "run_id string, query_id string, doc_id string, score double"
QRELS = "query_id string, doc_id string, relevance double, gain double"
# every additive measure of the registry, and all that such a measure can be told
OTHERS = (
    "nDCG(gain='exp2',dis='zipf')@n/2,nDCG(dis='power:0.5')@2,nDCG(gains={1: 2, 3: 10},dis='none')@R,"
    "nDCG(gain='binary',rel=2,dis='exp2')@sqrt(n),DCG@0.3n,P(precision_denominator='retrieved')@5,"
    "R(recall_denominator='min(R,k)')@3,F1@3,Judged(judged_denominator='k')@2,"
    "RBP(gain='graded',max_rel=3)@4,RR(rel=2)@3,Success@2"
)
# every value of every policy at least once; some of these change nothing but what is counted
POLICIES = [
    {},
    {"ties": "docid_asc", "queries": "intersection", "rel": 2.0},
    {"ties": "mean", "judged_only": True, "negative": "unjudged"},
    {"ties": "best", "no_relevant": "skip"},
    {"ties": "worst", "judged_only": True, "no_relevant": "one"},
    {"order_by": "rank", "queries": "run", "no_relevant": "nan"},
    {"score_order": "ascending", "nan_score": "last", "depth": 3, "judged_only": True},
    {"depth": 4, "ignore_identical_ids": True, "negative": "unjudged", "queries": "run"},
    {"duplicate_docs": "max", "duplicate_qrels": "max", "nan_score": "last", "ties": "mean"},
    {"prune": True, "on_no_overlap": "zero"},
]
ON_EVERY_ENGINE = [POLICIES[place] for place in (0, 6)]
every_engine = pytest.mark.every_engine
pytestmark = pytest.mark.filterwarnings("ignore::ndcg_spark.DiscountWarning")


def additive():
    own = [m.example() for m in nd.catalogue() if not m.is_own() and in_parts(m.example())]
    return [*own, *nd.parse_measures(OTHERS)]


@pytest.fixture(scope="module")
def rows():
    """300 random collections, told apart by their query ids: (run, qrels)."""
    rng, run, qrels = random.Random(7), [], []
    for seed in range(300):
        some_qrels, some_run = collection(seed, queries=2, docs=rng.randint(4, 14))
        qrels += [
            (f"{seed}-{q}", d, float(g), rng.choice([None, None, None, 0.5, 4.0]))
            for q, d, g in some_qrels
        ]
        run += [("a", f"{seed}-{q}", d, s) for q, d, s in some_run]
        run += [("b", f"{seed}-{q}", d, rng.choice([0.0, -0.0, -1.5, 2.0])) for q, d, _ in some_run]
    run += [("a", f"{seed}-q0", f"{seed}-q0", 9.0) for seed in range(0, 300, 9)]
    return run, qrels


def tables(spark, rows, options):
    run, qrels = rows
    if options.get("nan_score"):
        run = [(*keys, math.nan if i % 5 == 0 else s) for i, (*keys, s) in enumerate(run)]
    if options.get("duplicate_docs"):
        run = run + [(*keys, s + 1) for *keys, s in run[::7]]
        qrels = qrels + [(q, d, g - 1, w) for q, d, g, w in qrels[::5]]
    if options.get("order_by"):
        place: dict = {}
        for r, q, _, _ in run:
            place[r, q] = [*range(1, 2 + len(place.get((r, q), ())))]
        at = {key: iter(ranks) for key, ranks in place.items()}
        run = [(r, q, d, next(at[r, q])) for r, q, d, _ in run]
        return (
            spark.createDataFrame(run, RUN.replace("score double", "rank bigint")),
            spark.createDataFrame(qrels, QRELS),
        )
    return spark.createDataFrame(run, RUN), spark.createDataFrame(qrels, QRELS)


def measures_for(options):
    found = resolve(additive(), options.get("rel", 1.0))
    if options.get("ties") == "mean":
        found = [m for m in found if isinstance(m, AdditiveMeasure)]
    if options.get("prune"):
        found = [m for m in found if isinstance(m.last_rank(), int)]
    return list({str(m): m for m in found}.values())


def compared(spark, rows, options, measures):
    """The two plans' scores of these rows, list by list, and the sums of contributions."""
    run, qrels = tables(spark, rows, options)
    inputs = Inputs.of(spark, [run], qrels, Policies(**options))
    plans = {
        plan: {
            (row["run_id"], row["query_id"]): row.asDict()
            for row in lists_scored(inputs, measures, plan).collect()
        }
        for plan in ("kernel", "window")
    }
    assert plans["window"].keys() == plans["kernel"].keys()
    for key, other in plans["kernel"].items():
        own = dict(plans["window"][key])
        a, b = own.pop("values"), other["values"]
        assert own == {name: other[name] for name in own}, key
        different = [
            (str(m), x, y)
            for m, x, y in zip(measures, a, b, strict=True)
            if not (x == y or (x is not None and y is not None and x != x and y != y))
        ]
        assert not different, (key, different)  # every bit
    found = nd.contributions(run, qrels, measures, **options)
    sums = {
        (row["run_id"], row["query_id"], row["measure"]): row
        for row in found.groupBy("run_id", "query_id", "measure")
        .agg(
            F.sum("contribution").alias("value"),
            F.sum("lost").alias("lost"),
            F.count("rank").alias("n_ret"),
        )
        .collect()
    }
    for (name, query), row in plans["kernel"].items():
        for measure, value in zip(measures, row["values"], strict=True):
            own = sums.pop((name, query, str(measure)), None)
            if not row["scored"]:
                assert own is None
                continue
            if own is None:  # a list without a document, of a query without a gain
                assert row["n_ret"] == 0
                assert not value or value != value or options.get("no_relevant") == "one"
                continue
            assert own["n_ret"] == row["n_ret"]
            if own["value"] or not options.get("no_relevant"):
                assert abs(own["value"] - value) < 1e-12, (name, query, measure)
            if measure.by_ideal_order:
                best = own["value"] + own["lost"]
                assert min(abs(best), abs(best - 1)) < 1e-12, (name, query, measure)
    assert not sums


@every_engine
@pytest.mark.parametrize("options", ON_EVERY_ENGINE, ids=str)
def test_both_plans_and_the_contributions_agree(engine, rows, options):
    measures = measures_for(options)
    if not engine.embedded:  # a plan of all takes the JVM half a minute: half of them each
        measures = measures[ON_EVERY_ENGINE.index(options) :: len(ON_EVERY_ENGINE)]
    compared(engine.spark, rows, options, measures)


@pytest.mark.parametrize("options", [p for p in POLICIES if p not in ON_EVERY_ENGINE], ids=str)
def test_both_plans_agree_under_every_policy(spark, rows, options):
    compared(spark, rows, options, measures_for(options))


def test_every_value_of_every_policy_is_compared():
    import dataclasses
    import typing

    from ndcg_spark.measures.fields import hints

    for field in dataclasses.fields(Policies):
        kind = hints(Policies)[field.name]
        allowed = set(typing.get_args(kind)) if typing.get_origin(kind) is typing.Literal else set()
        allowed -= {"error"}  # refused rows are tested one by one
        seen = {options.get(field.name, field.default) for options in POLICIES}
        assert allowed <= seen, field.name
        assert len(seen) > 1, field.name


@pytest.mark.skipif(not TREC_SAMPLE.is_dir(), reason="the TREC sample is not here")
@every_engine
def test_the_trec_sample(spark):
    run, qrels = str(TREC_SAMPLE / "results.test"), str(TREC_SAMPLE / "qrels.test")
    measures = measures_for({})
    inputs = Inputs.of(spark, [run], qrels, Policies())
    kernel, window = (
        {r["query_id"]: r["values"] for r in lists_scored(inputs, measures, plan).collect()}
        for plan in ("kernel", "window")
    )
    assert kernel == window
    sums = nd.contributions(run, qrels, measures).groupBy("query_id", "measure")
    for row in sums.agg(F.sum("contribution").alias("value")).collect():
        place = [str(m) for m in measures].index(row["measure"])
        assert abs(kernel[row["query_id"]][place] - row["value"]) < 1e-12


def test_contributions_by_hand(spark):
    run = [("r", "q", "a", 3.0), ("r", "q", "x", 2.0), ("r", "q", "b", 1.0)]
    qrels = [
        ("q", "a", 1.0, None),
        ("q", "b", 3.0, None),
        ("q", "c", 2.0, None),
        ("q", "z", 0.0, None),
    ]
    found = nd.contributions(
        spark.createDataFrame(run, RUN), spark.createDataFrame(qrels, QRELS), "nDCG,RR,P@2"
    )
    rows = {(r["measure"], r["doc_id"]): r for r in found.collect()}
    log = [None, 1.0, 1 / math.log2(3), 0.5]
    idcg = 3 + 2 * log[2] + 1 * log[3]
    expected = {  # rank, relevance, gain, discount, contribution, ideal rank, lost
        ("nDCG", "a"): (1, 1.0, 1.0, 1.0, 1 / idcg, 3, (0.5 - 1) / idcg),
        ("nDCG", "x"): (2, None, 0.0, log[2], 0.0, None, 0.0),
        ("nDCG", "b"): (3, 3.0, 3.0, 0.5, 1.5 / idcg, 1, 1.5 / idcg),
        ("nDCG", "c"): (None, 2.0, 2.0, None, 0.0, 2, 2 * log[2] / idcg),
        ("RR", "a"): (1, 1.0, 1.0, 1.0, 1.0, 1, 0.0),
        ("RR", "x"): (2, None, 0.0, 0.5, 0.0, None, 0.0),
        ("RR", "b"): (3, 3.0, 0.0, 1 / 3, 0.0, 2, 0.0),
        ("RR", "c"): (None, 2.0, 0.0, None, 0.0, 3, 0.0),
        ("P@2", "a"): (1, 1.0, 1.0, 1.0, 0.5, 1, 0.0),
        ("P@2", "x"): (2, None, 0.0, 1.0, 0.0, None, 0.0),
        ("P@2", "b"): (3, 3.0, 1.0, 0.0, 0.0, 2, 0.5),
        ("P@2", "c"): (None, 2.0, 1.0, None, 0.0, 3, 0.0),
    }
    names = ("rank", "relevance", "gain", "discount", "contribution", "ideal_rank", "lost")
    assert rows.keys() == expected.keys()
    for key, values in expected.items():
        assert tuple(rows[key][name] for name in names) == pytest.approx(values), key
        assert rows[key]["run_id"] == "r"
        assert rows[key]["score"] == (None if key[1] == "c" else {"a": 3, "x": 2, "b": 1}[key[1]])


def test_an_ideal_order_loses_nothing(spark):
    run = [("r", "q", d, -float(i)) for i, d in enumerate("badce")]
    qrels = [("q", d, g, None) for d, g in zip("badce", (2.0, 2.0, 1.0, 1.0, 0.0), strict=True)]
    found = nd.contributions(
        spark.createDataFrame(run, RUN), spark.createDataFrame(qrels, QRELS), "nDCG"
    )
    places = {row["doc_id"]: row["ideal_rank"] for row in found.collect()}
    assert places == {"b": 1, "a": 2, "d": 3, "c": 4, "e": None}
    assert {row["lost"] for row in found.collect()} == {0.0}


def twice(labels):
    return np.maximum(labels, 0.0) * 2.0


def test_gain_functions_of_ones_own(spark, rows):
    run, qrels = tables(spark, rows, {})
    own = nd.nDCG(gain=twice) @ 5
    scores = nd.evaluate(run, qrels, [own], plan="window").collect()
    assert {r["value"] for r in scores} - {0.0, 1.0}
    assert {(r["run_id"], r["query_id"], r["value"]) for r in scores} == {
        (r["run_id"], r["query_id"], r["value"]) for r in nd.evaluate(run, qrels, [own]).collect()
    }


def test_ranked(spark):
    run = [
        ("r", "q", "é", 0.0),
        ("r", "q", "z", -0.0),
        ("r", "q", "Z", 0.0),
        ("r", "q", "n", math.nan),
    ]
    table = spark.createDataFrame(run, RUN)

    def order(**options):
        found = nd.ranked(table, nan_score="last", **options).orderBy("rank").collect()
        assert [row["rank"] for row in found] == list(range(1, len(found) + 1))
        return "".join(row["doc_id"] for row in found)

    assert order() == "ézZn"
    assert order(ties="docid_asc") == "Zzén"
    assert order(score_order="ascending", depth=2) == "éz"
    first = nd.ranked(table, nan_score="last").orderBy("rank").first()
    assert first.asDict() == {
        "run_id": "r", "query_id": "q", "rank": 1, "doc_id": "é", "score": 0.0,
    }  # fmt: skip
    for options in ({"ties": "mean"}, {"judged_only": True}):
        with pytest.raises(nd.UsageError, match="one rank for each document"):
            nd.ranked(table, **options)
    with pytest.raises(Exception, match="E122 NaN or null scores"):
        nd.ranked(table).collect()


IDEALS = ["nDCG", "nDCG@1", "nDCG(gain='exp2')@2", "P@5", "R@5", "DCG@3", "nDCG@n/2", "AP"]


def test_ideals_by_hand_and_given_back(spark):
    run = spark.createDataFrame([("r", "q", "b", 1.0), ("r", "q", "x", 0.5)], RUN)
    labels = [
        ("q", "a", 2.0, None),
        ("q", "b", 1.0, None),
        ("q", "c", 0.0, None),
        ("p", "a", 0.0, None),
    ]
    qrels = spark.createDataFrame(labels, QRELS)
    found = nd.ideals(qrels, IDEALS[:-1])
    assert found.columns == ["query_id", "measure", "idcg", "n_rel", "n_gain"]
    rows = {(r["query_id"], r["measure"]): tuple(r)[2:] for r in found.collect()}
    log = 1 / math.log2(3)
    expected = {
        "nDCG": 2 + log, "nDCG@1": 2.0, "nDCG(gain='exp2')@2": 3 + log, "P@5": 5.0, "R@5": 2.0,
        "DCG@3": 1.0, "nDCG@n/2": None,
    }  # fmt: skip
    assert rows == {
        **{("q", m): (pytest.approx(v) if v else v, 2, 2) for m, v in expected.items()},
        **{
            ("p", m): (v if m in ("P@5", "DCG@3", "nDCG@n/2") else 0.0, 0, 0)
            for m, v in expected.items()
        },
    }
    with pytest.raises(nd.UsageError, match="AP is no sum over documents"):
        nd.ideals(qrels, IDEALS)
    kept = spark.createDataFrame(found.collect(), found.schema)
    own = nd.evaluate(run, qrels, IDEALS[:-1]).collect()
    scores = nd.evaluate(run, qrels, IDEALS[:-1], plan="window", ideals=kept).collect()
    assert sorted(map(tuple, scores)) == sorted(map(tuple, own))
    plain = nd.contributions(run, qrels, "nDCG")
    given = nd.contributions(run, qrels, "nDCG", ideals=kept)
    assert sorted(map(str, given.collect())) == sorted(map(str, plain.collect()))


@pytest.mark.parametrize(
    "change",
    ["n_gain + 1", "n_rel + 1", "null"],
)
def test_ideals_of_other_judgements_are_refused(spark, rows, change):
    run, qrels = tables(spark, rows, {})
    column = change.split()[0] if "+" in change else "idcg"
    wrong = F.when(F.col("query_id") == rows[1][0][0], F.expr(change)).otherwise(F.col(column))
    kept = nd.ideals(qrels, "nDCG").withColumn(column, wrong)
    with pytest.raises(Exception, match=r"E139 ideals that are not of these judgements \(nDCG\)"):
        nd.evaluate(run, qrels, "nDCG", plan="window", ideals=kept).collect()
    for less in (kept.where("query_id like '1%'"), kept.unionAll(kept)):
        with pytest.raises(Exception, match="E139"):
            nd.contributions(run, qrels, "nDCG", ideals=less).collect()


@pytest.mark.parametrize(
    ("measures", "options", "words"),
    [
        ("AP,nDCG,ERR(max_rel=3)", {}, r"AP, ERR\(max_rel=3\) is no sum over documents"),
        ("nDCG,RR", {"ties": "mean"}, "RR is no sum over documents of gain times discount with ties='mean'"),
        ("IDCG@3,Unjudged@5,RBPresid,nDCG_cc", {}, "IDCG@3, Unjudged@5, RBPresid, nDCG_cc is no sum"),
        ("trec_eval:G", {}, "trec_eval:G is no sum"),
    ],
)  # fmt: skip
def test_other_measures_are_refused_by_name(spark, rows, measures, options, words):
    run, qrels = tables(spark, rows, {})
    for call in (
        lambda: nd.contributions(run, qrels, measures, **options),
        lambda: nd.evaluate(run, qrels, measures, plan="window", **options),
    ):
        with pytest.raises(nd.UsageError, match=words):
            call()


def test_wrong_plans_are_refused(spark, rows):
    run, qrels = tables(spark, rows, {})
    with pytest.raises(nd.UsageError, match=r"unknown plan 'windows' \(did you mean 'window'\?\)"):
        nd.evaluate(run, qrels, "nDCG", plan="windows")
    with pytest.raises(nd.UsageError, match="ideals are read by plan='window'"):
        nd.evaluate(run, qrels, "nDCG", ideals=run)
    with pytest.raises(nd.InputError, match=r"E110: ideals: missing column\(s\) measure"):
        nd.contributions(run, qrels, "nDCG", ideals=qrels)


@pytest.fixture
def one_large_query(tmp_path, monkeypatch):
    """Runs of which the footers tell that one query has 3,000 documents and more."""
    rows = {"query_id": ["big"] * 3000, "doc_id": [f"d{i}" for i in range(3000)]}
    table = pa.table({**rows, "score": [float(i) for i in range(3000)]})
    (tmp_path / "runs").mkdir()
    pq.write_table(table, tmp_path / "runs" / "a.parquet", row_group_size=1000)
    pq.write_table(table.slice(0, 1), tmp_path / "runs" / "b.parquet")
    labels = {"query_id": ["big"], "doc_id": ["d7"], "relevance": [1]}
    pq.write_table(pa.table(labels), tmp_path / "qrels.parquet")
    monkeypatch.setattr(fit, "SMALL", 0)
    return str(tmp_path / "runs"), str(tmp_path / "qrels.parquet")


def test_the_kernel_says_before_it_starts_that_a_query_does_not_fit(
    spark, run_cli, one_large_query, monkeypatch
):
    run, qrels = one_large_query
    arguments = (
        "evaluate",
        "--qrels",
        qrels,
        "--runs",
        run,
        "-m",
        "nDCG",
        "--duplicate-docs",
        "max",
    )
    assert run_cli(*arguments)[0] == 0
    monkeypatch.setattr(fit, "memory", lambda: 3000 * fit.EMBEDDED_BYTES)
    code, out, err = run_cli(*arguments)
    assert (code, out) == (3, "")
    assert "E142: runs: the query 'big' has 3,001 documents or more" in err
    assert "--plan window" in err
    assert run_cli(*arguments, "--plan", "window")[0] == 0
    monkeypatch.setattr(fit, "memory", lambda: 3001 * fit.EMBEDDED_BYTES)
    assert run_cli(*arguments)[0] == 0


def test_footers_count_what_they_are_sure_of(spark, one_large_query, tmp_path):
    run, _ = one_large_query
    inputs = Inputs.of(spark, [run], None, Policies())
    assert most_of_one_value(inputs.runs_files[0], "query_id") == ("big", 3001)
    mixed = pa.table({"query_id": ["a", "b"], "doc_id": ["d", "d"], "score": [1.0, 2.0]})
    pq.write_table(mixed, tmp_path / "mixed.parquet")
    inputs = Inputs.of(spark, [str(tmp_path / "mixed.parquet")], None, Policies())
    assert most_of_one_value(inputs.runs_files[0], "query_id") == (None, 0)
    (tmp_path / "run.txt").write_text("q Q0 d 1 2.0 r\n")
    inputs = Inputs.of(spark, [str(tmp_path / "run.txt")], None, Policies())
    assert most_of_one_value(inputs.runs_files[0], "query_id") == (None, 0)


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionRefusedError(111, "Connection refused"),
        RuntimeError("Resources exhausted: Failed to allocate additional 4.7 MB"),
        RuntimeError("java.lang.OutOfMemoryError: Java heap space"),
    ],
)
def test_full_memory_is_no_unexpected_error(problem):
    found = refused(problem)
    assert isinstance(found, nd.InputError)
    assert found.code == "E143"
    assert "spark.driver.memory" in found.message


def test_the_manifest_names_the_plan(spark, run_cli, rows, tmp_path):
    run, qrels = tables(spark, rows, {})
    run.write.parquet(str(tmp_path / "runs"))
    qrels.write.parquet(str(tmp_path / "qrels"))
    nd.ideals(qrels, "nDCG@10,P@5").write.parquet(str(tmp_path / "ideals"))
    plans = {
        "kernel": [],
        "window": ["--plan", "window"],
        "given": ["--plan", "window", "--ideals", tmp_path / "ideals"],
    }
    found = {}
    for name, more in plans.items():
        code, out, err = run_cli(
            "evaluate", "--qrels", tmp_path / "qrels", "--runs", tmp_path / "runs", "-m",
            "nDCG@10,P@5", "--out", tmp_path / name, "--format", "json", *more,
        )  # fmt: skip
        assert code == 0, err
        manifest = json.loads((tmp_path / name / "manifest" / "_manifest.json").read_text())
        assert manifest["plan"] == ("kernel" if name == "kernel" else "window")
        tables_here = [pq.read_table(tmp_path / name / t) for t in ("per_query", "aggregate")]
        assert tables_here[0].schema.names[:4] == ["run_id", "query_id", "measure", "value"]
        order = [("run_id", "ascending"), ("query_id", "ascending"), ("measure", "ascending")]
        found[name] = (tables_here[0].sort_by(order).to_pylist(), tables_here[1].to_pylist())
        assert json.loads(out)["counts"]
    assert found["kernel"] == found["window"] == found["given"]
    code, _, err = run_cli(
        "evaluate", "--qrels", tmp_path / "qrels", "--runs", tmp_path / "runs", "--ideals", "x"
    )
    assert (code, "--ideals is read by --plan window" in err) == (2, True)
    code, _, err = run_cli(
        "evaluate", "--qrels", tmp_path / "qrels", "--runs", tmp_path / "runs", "-m", "AP",
        "--plan", "window",
    )  # fmt: skip
    assert (code, "AP is no sum over documents" in err) == (2, True)
