"""Comparisons through Spark: the same numbers on any engine and partitioning, and the command."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats

import ndcg_spark as nd
from ndcg_spark import sample
from ndcg_spark.comparison import pair_tests as paired_tests
from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.paired_kernel import Design, Sums
from ndcg_spark.comparison.text import differences, legend, means
from ndcg_spark.errors import InputError, UsageError
from tests.comparison.test_pair_tests import WORKED
from tests.xxhash64 import xxhash64

SAMPLE = sample.__path__[0]
SCHEMA = "run_id string, query_id string, measure string, value double"
RUNS = ("bm25", "dense", "rerank")
N = 400


def values(seed=3):
    """(systems, measures, queries), some undefined."""
    random = np.random.default_rng(seed)
    x = random.random((1, 2, N)) * 0.5 + 0.25 * random.random((3, 2, N))
    x[2] += 0.02
    x = np.round(x, 2)
    x[1, 0, ::17] = np.nan
    return x


def rows(x):
    for r, m, q in itertools.product(range(3), range(2), range(N)):
        if (r, q) != (0, 5):  # a query that bm25 lacks
            value = float(x[r, m, q])
            yield (RUNS[r], f"q{q}", ("AP", "nDCG@10")[m], None if np.isnan(value) else value)


@pytest.fixture(scope="module")
def scores(spark):
    return spark.createDataFrame(list(rows(values())), SCHEMA)


def table(scores, **options):
    found = [row.asDict() for row in nd.compare(scores, **options).collect()]
    return {(r["baseline"], r["candidate"], r["segment"], r["measure"]): r for r in found}


def test_worked_numbers(spark):
    data = [
        (run, f"q{i}", "nDCG@10", float(v))
        for run, own in zip("ABC", WORKED, strict=True)
        for i, v in enumerate(own)
    ]
    found = table(spark.createDataFrame(data, SCHEMA), baseline="B")
    row = found["B", "A", "all", "nDCG@10"]
    right = {
        "n_pairs": 10, "n_dropped": 0, "mean_baseline": 0.568, "mean_candidate": 0.626,
        "delta": 0.058, "std_delta": 0.056725, "ci_low": 0.017421, "ci_high": 0.098579,
        "statistic": 3.23333, "p_value": 0.010268, "p_adjusted": 0.020535, "effect_size": 1.022469,
        "wins": 7, "losses": 2, "ties": 1, "mdd": 0.056498,
    }  # fmt: skip
    assert {k: row[k] for k in right} == pytest.approx(right, abs=2e-6)
    assert (row["test"], row["correction"], row["seed"]) == ("t", "holm", None)
    assert set(found) == {("B", "A", "all", "nDCG@10"), ("B", "C", "all", "nDCG@10")}


@pytest.mark.every_engine
def test_against_scipy(scores):
    x = values()
    x[0, :, 5] = np.nan
    found = table(scores, correction="none")
    assert len(found) == 6
    for (a, b), (m, measure) in itertools.product(
        itertools.combinations(range(3), 2), enumerate(("AP", "nDCG@10"))
    ):
        row = found[RUNS[a], RUNS[b], "all", measure]
        d = x[b, m] - x[a, m]
        d = d[np.isfinite(d)]
        right = scipy.stats.ttest_1samp(d, 0)
        low, high = right.confidence_interval()
        assert row["p_value"] == pytest.approx(right.pvalue, rel=1e-7)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=1e-9)
        assert (row["n_pairs"], row["n_dropped"]) == (len(d), N - len(d))
        assert row["wins"] == np.count_nonzero(d > 1e-9)
        assert row["p_adjusted"] == row["p_value"]


@pytest.mark.every_engine
@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
def test_wilcoxon_of_many_queries(scores, zeros):
    x = values()
    found = table(scores, test="wilcoxon", zeros=zeros, measures="nDCG@10")
    d = np.round(x[2, 1] - x[1, 1], 9)
    right = scipy.stats.wilcoxon(d, zero_method=zeros, method="approx")
    row = found["dense", "rerank", "all", "nDCG@10"]
    assert (row["statistic"], row["p_value"]) == pytest.approx((right.statistic, right.pvalue))


@pytest.mark.every_engine
def test_seeded_tests_are_the_same_on_any_engine_and_partitioning(spark, scores):
    """Against the kernel alone, with hashes computed in Python."""
    options = {"test": ["fisher", "bootstrap"], "measures": "AP", "replicates": 300, "seed": 11}
    design = Design(3, ((0, 1), (0, 2), (1, 2)), (1.0,), seed=11, signs=300, weights=300)
    x = values()[:, :1].transpose(2, 1, 0)
    x[5, :, 0] = np.nan
    present = np.ones(x.shape, bool)
    present[5, :, 0] = False
    alone = Sums(design)
    alone.add(x, present, np.array([xxhash64(f"q{q}") for q in range(N)], np.uint64))
    for order in (scores, scores.repartition(5, "value"), scores.coalesce(1).orderBy("value")):
        found = {
            (r["baseline"], r["candidate"], r["test"]): (r["p_value"], r["ci_low"], r["seed"])
            for r in nd.compare(order, **options).collect()
        }
        for place, (a, b) in enumerate(design.pairs):
            pair = Pair.of(alone, 0, place)
            for test, run in (
                ("fisher", paired_tests.fisher),
                ("bootstrap", paired_tests.poisson_bootstrap),
            ):
                right = run(pair, 0.05)
                assert found[RUNS[a], RUNS[b], test] == (right.p_value, right.low, 11)


@pytest.mark.every_engine
def test_tukey_takes_queries_that_all_have(scores):
    x = values()[:, 0]
    x[0, 5] = np.nan
    x = x[:, np.isfinite(x).all(axis=0)]
    found = table(scores, test="tukey", measures="AP", baseline="bm25")
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    n = x.shape[1]
    error = np.sqrt(np.sum(residual**2) / (2 * (n - 1)) / n)
    q = abs(x[2].mean() - x[0].mean()) / error
    row = found["bm25", "rerank", "all", "AP"]
    assert row["n_pairs"] == n
    assert row["statistic"] == pytest.approx(q)
    p = scipy.stats.studentized_range.sf(q, 3, 2 * (n - 1))
    assert row["p_value"] == pytest.approx(max(p, 1e-12))
    turned = table(scores, test="tukey", measures="AP", baseline="rerank")
    assert set(turned) == {("rerank", run, "all", "AP") for run in ("bm25", "dense")}
    other = turned["rerank", "bm25", "all", "AP"]
    assert (other["delta"], other["p_value"]) == (-row["delta"], row["p_value"])
    again = table(scores, test="randomized-tukey", measures="AP", replicates=50)
    assert again["bm25", "rerank", "all", "AP"]["p_value"] >= 1 / 51


def test_bootstrap_of_collected_queries(scores):
    found = table(
        scores, test="bootstrap", interval="bca", measures="AP", replicates=2000, baseline="dense"
    )
    row = found["dense", "rerank", "all", "AP"]
    t = table(scores, measures="AP", baseline="dense")["dense", "rerank", "all", "AP"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((t["ci_low"], t["ci_high"]), abs=0.002)


@pytest.mark.every_engine
def test_segments(spark, scores):
    attributes = spark.createDataFrame(
        [(f"q{q}", "head" if q < 100 else "tail") for q in range(N)],
        "query_id string, bucket string",
    )
    found = table(scores, by=["bucket"], attributes=attributes, measures="nDCG@10")
    head = found["bm25", "dense", "bucket=head", "nDCG@10"]
    tail = found["bm25", "dense", "bucket=tail", "nDCG@10"]
    assert (head["n_pairs"], tail["n_pairs"]) == (99, 300)
    x = values()
    d = np.delete(x[1, 1, :100] - x[0, 1, :100], 5)
    assert head["delta"] == pytest.approx(d.mean(), abs=1e-9)
    p = [row["p_value"] for row in found.values()]
    assert min(row["p_adjusted"] for row in found.values()) == pytest.approx(9 * min(p))
    with pytest.raises(UsageError, match="bucket"):
        nd.compare(scores, by=["buckets"], attributes=attributes)


def test_what_cannot_be_compared(spark, scores):
    with pytest.raises(UsageError, match=r"unknown baseline 'bm52'.*bm25"):
        nd.compare(scores, baseline="bm52")
    with pytest.raises(UsageError, match="nDCG@10"):
        nd.compare(scores, measures=["nDCG@20"])
    with pytest.raises(InputError, match="E171"):
        nd.compare(scores.where("run_id = 'bm25'"))
    with pytest.raises(UsageError, match="baseline"):
        nd.compare(scores, test="bootstrap", replicates=1_000_000)
    with pytest.raises(InputError, match="E103"):
        nd.compare(scores.where("false"))
    with pytest.raises(InputError, match="E110"):
        nd.compare(scores.drop("value"))
    apart = scores.where("run_id <> 'rerank' and (run_id = 'bm25') = (query_id > 'q5')")
    with pytest.raises(InputError, match="E171"):
        nd.compare(apart)
    nameless = scores.selectExpr("run_id", "nullif(query_id, 'q3') query_id", "measure", "value")
    with pytest.raises(InputError, match="E120: 6 rows"):
        nd.compare(nameless)
    with pytest.raises(InputError, match=r"E170.*run bm25, query q7, measure AP"):
        nd.compare(scores.unionAll(scores.where("query_id = 'q7'")))


def test_replicates_grow_with_the_comparisons(spark):
    """Six candidates that are all worse on eight measures: 48 comparisons, that 1,000 cannot judge."""
    random = np.random.default_rng(6)
    data = [
        (f"s{r}", f"q{q}", measure, float(0.8 - 0.6 * (r > 0) + 0.05 * random.standard_normal()))
        for r in range(7) for q in range(30) for measure in nd.parse_measures("P.1,2,3,4,5,6,7,8")
    ]  # fmt: skip
    scores = spark.createDataFrame([(a, b, str(m), v) for a, b, m, v in data], SCHEMA)
    rows = nd.compare(scores, baseline="s0", test="bootstrap").collect()
    assert {row["replicates"] for row in rows} == {19_200}
    assert all(row["p_adjusted"] < 0.01 and row["p_least"] < 0.05 for row in rows)
    few = nd.compare(scores, baseline="s0", test="bootstrap", replicates=900).collect()
    assert all(row["p_least"] > 0.05 for row in few)
    assert all(row["note"].startswith("undecidable: corrected p is 0.0533") for row in few)
    exact = nd.compare(scores.where("query_id < 'q14'"), "s0", test="wilcoxon").collect()
    assert {row["p_least"] for row in exact} == {min(1.0, 48 * 2 / 2**6)}
    segments = scores.selectExpr("*", "if(query_id < 'q2', 'de', 'fr') country")
    both = segments.where("run_id < 's2' and measure < 'P@3'")  # 2 measures x (all, de, fr)
    tests = ["bootstrap", "randomized-tukey"]
    rows = nd.compare(both, baseline="s0", test=tests, by=["country"]).collect()
    assert {(row["test"], row["replicates"]) for row in rows} == {(test, 2_400) for test in tests}


def test_a_rerun_without_which_measure_removes_its_tables(evaluated, run_cli, tmp_path):
    stored = ("compare", "--scores", evaluated, "--out", tmp_path / "out")
    assert run_cli(*stored, "--which-measure", "--replicates", "100")[0] == 0
    assert (tmp_path / "out" / "asl_curve").is_dir()
    assert run_cli(*stored)[0] == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.name[0] != ".") == [
        "comparison", "manifest"
    ]  # fmt: skip


def test_which_measure_to_trust(spark):
    random = np.random.default_rng(4)
    data = []
    for r in range(5):
        for q in range(60):
            hidden = 0.4 + 0.03 * r
            for measure, noise in (("AP", 0.05), ("P@1", 0.3)):
                value = float(hidden + noise * random.standard_normal())
                data.append((f"s{r}", f"q{q}", measure, value))
    found = nd.discriminative_power(spark.createDataFrame(data, SCHEMA), replicates=200)
    share = {row["measure"]: row["share"] for row in found.power.collect()}
    assert share["AP"] > share["P@1"]
    assert found.asl.count() == 20
    assert -1 <= found.agreement.collect()[0]["tau_b"] <= 1


@pytest.fixture
def evaluated(run_cli, tmp_path):
    code, _, err = run_cli(
        "evaluate", "--qrels", f"{SAMPLE}/qrels.parquet", "--runs", f"{SAMPLE}/runs.parquet",
        "-m", "nDCG@10,AP", "--out", tmp_path / "tables",
    )  # fmt: skip
    assert code == 0, err
    return tmp_path / "tables" / "per_query"


def test_the_command(evaluated, run_cli, tmp_path):
    stored = ("compare", "--scores", evaluated, "--baseline", "bm25")
    code, out, err = run_cli(*stored, "--out", tmp_path / "out", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert {row["candidate"] for row in found["comparison"]} == {"dense", "rerank"}
    written = pq.read_table(tmp_path / "out" / "comparison").to_pylist()
    assert written == found["comparison"]
    manifest = json.loads((tmp_path / "out" / "manifest" / "_manifest.json").read_text())
    assert manifest["options"]["correction"] == "holm"
    code, whole, err = run_cli(
        "compare", "--scores", evaluated.parent, "--baseline", "bm25", "--format", "json"
    )
    assert code == 0, err
    assert json.loads(whole)["comparison"] == found["comparison"]
    code, direct, err = run_cli(
        "compare", "--qrels", f"{SAMPLE}/qrels.parquet", "--runs", f"{SAMPLE}/runs.parquet",
        "-m", "AP,nDCG@10", "--baseline", "bm25", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(direct)["comparison"] == found["comparison"]


def test_tables_to_paste(evaluated, run_cli):
    stored = ("compare", "--scores", evaluated)
    code, out, err = run_cli(*stored, "--test", "t,wilcoxon", "--detect", "0.01")
    assert code == 0, err
    assert "rerank  " in out
    assert "ᵃᵇ" in out
    assert "***" in out
    assert "holm over 6 comparisons" in out
    code, out, _ = run_cli(*stored, "--format", "markdown", "--baseline", "rerank")
    assert "|---|---:|" in out
    assert "▼" in out
    assert "shared with the first" not in out
    code, out, _ = run_cli(*stored, "--format", "latex")
    assert r"\toprule" in out
    assert "$^{ab}$" in out
    assert r"95\% interval" in out
    assert "_" not in out.split("test t")[0].replace(r"\_", "").replace("^{", "")


def test_gates(evaluated, run_cli, tmp_path):
    gate = "nDCG@10 worse p<0.05"
    stored = ("compare", "--scores", evaluated, "--fail-if", gate)
    code, _, err = run_cli(*stored, "--baseline", "rerank", "--out", tmp_path / "out")
    assert code == 4
    assert "dense against rerank" in err
    assert (tmp_path / "out" / "comparison").is_dir()  # what was written stays
    code, _, err = run_cli(*stored, "--baseline", "bm25")
    assert code == 0, err
    code, _, err = run_cli(*stored)
    assert code == 2
    assert "--baseline" in err
    code, _, err = run_cli("compare", "--scores", evaluated, "--baseline", "bm25", "--fail-if", "x")
    assert code == 2


def test_wrong_options(run_cli, evaluated):
    for given, text in (
        (("compare",), "--scores SRC"),
        (("compare", "--scores", evaluated, "--state", "x"), "--scores SRC"),
        (("compare", "--scores", evaluated, "--test", "welch"), "unknown test 'welch'"),
        (("compare", "--scores", evaluated, "--alpha", "2"), "alpha"),
        (("compare", "--state", "x", "--test", "tukey"), "tukey"),
        (("compare", "--state", "x", "--dates", "yesterday"), "--dates"),
        (("compare", "--scores", evaluated, "--correction", "sidak"), "holm"),
    ):
        code, _, err = run_cli(*given)
        assert code == 2, given
        assert text in err, (given, err)


def test_arms_of_a_click_log(run_cli, spark, tmp_path):
    """Clustered by user: the t test over buckets has the click job's own standard error."""
    log = ("--impressions", f"{SAMPLE}/impressions.parquet", "--date", "2026-11-29")
    code, out, err = run_cli(
        "clicks", *log, "--days", "2", "--baseline", "A", "--out", tmp_path, "--format", "json"
    )
    assert code == 0, err
    own = {r["measure"]: r for r in json.loads(out)["differences"] if r["segment"] == "all"}
    code, out, err = run_cli(
        "compare", "--state", tmp_path, "--baseline", "A", "--format", "json",
        "--dates", "2026-11-29", "--test", "t,fisher,bootstrap", "--replicates", "2000",
    )  # fmt: skip
    assert code == 0, err
    found = [r for r in json.loads(out)["comparison"] if r["segment"] == "all"]
    for row in found:
        right = own[row["measure"]]
        assert row["delta"] == pytest.approx(right["delta"], abs=1e-9)
        if row["test"] == "t":
            se = row["std_delta"] / row["n_pairs"] ** 0.5
            assert se == pytest.approx(right["se"], rel=1e-6)
        assert row["p_value"] == pytest.approx(right["p_value"], abs=0.03)
        assert "buckets of users" in row["note"]
    state = spark.read.parquet(str(tmp_path / "daily_state" / "event_date=2026-11-29"))
    again = table(nd.clicks.arm_scores(state), baseline="A")
    for row in found:
        if row["test"] == "t":
            assert again["A", "B", "all", row["measure"]]["p_value"] == row["p_value"]
    code, _, err = run_cli(
        "compare", "--state", tmp_path / "daily_state", "--dates", "2020-01-01..2020-01-02"
    )
    assert code == 3
    assert "E103" in err


def test_more_systems_than_letters(spark):
    """30 systems: all pairs are compared; the table of means goes without marks."""
    random = np.random.default_rng(1)
    data = [
        (f"s{r:02d}", f"q{q}", "AP", float(r / 10 + random.random()))
        for r in range(30)
        for q in range(12 if r else 10)
    ]
    found = [row.asDict() for row in nd.compare(spark.createDataFrame(data, SCHEMA)).collect()]
    assert len(found) == 435
    shown = means(found)
    assert len(shown) == 31
    assert not set("".join(cell for row in shown for cell in row)) & set("▲▼ᵃᵇ")
    assert "shared with the first" in legend(found)
    assert any("***" in row[4] for row in differences(found))


def test_a_layout_that_does_not_fit_is_refused_before_the_work(tmp_path, run_cli):
    """The output is looked at first: not even the scores need be there."""
    (tmp_path / "out" / "comparison" / "date=2026-11-29").mkdir(parents=True)
    code, _, err = run_cli("compare", "--scores", tmp_path / "none", "--out", tmp_path / "out")
    assert (code, "E155" in err, "E101" in err) == (3, True, False), err
