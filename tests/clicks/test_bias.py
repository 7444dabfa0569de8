"""Judgements, propensities and estimates from clicks, on the worked numbers and a simulated log."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from ndcg_spark.clicks import estimates
from ndcg_spark.clicks import propensities as bias
from ndcg_spark.clicks.labels import click_qrels

COUNTS = (
    "query_id string, doc_id string, rank int, n_impressions bigint, n_clicks bigint, gain double"
)
DAY = "2026-11-29"


def qrels(spark, rows, **options):
    found = click_qrels(spark.createDataFrame(rows, COUNTS), **options).collect()
    return {r["doc_id"]: (r["relevance"], r["gain"]) for r in found}


def test_thresholds_of_the_paper(spark):
    """clicklogs.md C1: more than 1000 is 2, 100 to 1000 is 1, fewer is 0."""
    clicks = [1500, 1001, 1000, 250, 100, 99, 0]
    rows = [("q", f"d{k}", 1, 2000, k, 1.0) for k in clicks]
    found = qrels(spark, rows)
    assert [found[f"d{k}"][0] for k in clicks] == [2, 2, 1, 1, 1, 0, 0]
    found = qrels(spark, rows, days=2)
    assert [found[f"d{k}"][0] for k in clicks] == [1, 1, 1, 1, 0, 0, 0]


def test_smoothed_click_rates(spark):
    rows = [("q", "a", 1, 10, 3, 1.0), ("q", "b", 1, 1000, 300, 1.0), ("q", "c", 1, 4, 0, 0.0)]
    found = qrels(spark, rows, method="ctr")
    assert [round(found[d][1], 4) for d in "abc"] == [0.0727, 0.2773, 0.0481]


@pytest.mark.every_engine
def test_lower_bounds_of_click_rates(spark):
    """clicklogs.md C1: 5 percent lower bounds .0370, .2553, .0193."""
    rows = [("q", "a", 1, 10, 3, 1.0), ("q", "b", 1, 1000, 300, 1.0), ("q", "c", 1, 4, 0, 0.0)]
    found = qrels(spark, rows, method="ctr", lower=0.05)
    assert [round(found[d][1], 4) for d in "abc"] == [0.0370, 0.2553, 0.0193]
    assert [found[d][0] for d in "abc"] == [1, 1, 0]


def test_labels_by_propensities(spark):
    """2 clicks at 1 and 1 at 2 (half as likely) of 10: (2 + 1 / .5) / 10."""
    rows = [("q", "a", 1, 6, 2, 1.0), ("q", "a", 2, 4, 1, 1.0), ("q", "b", 3, 5, 0, 0.0)]
    table = spark.createDataFrame([(1, 1.0), (2, 0.5)], "rank int, propensity double")
    found = qrels(spark, rows, method="ips", propensities=table)
    assert found == {"a": (1, 0.4), "b": (0, 0.0)}
    with pytest.raises(Exception, match="E137: a click at rank 3, which has no propensity"):
        qrels(spark, [*rows, ("q", "c", 3, 5, 1, 1.0)], method="ips", propensities=table)
    with pytest.raises(nd.UsageError, match="needs propensities"):
        qrels(spark, rows, method="ips")


@pytest.mark.every_engine
def test_labels_by_quantile(spark):
    """Of four documents with 0, 2, 2 and 9 clicks, shares .25, .75, .75 and 1 have no more."""
    rows = [("q", d, 1, 10, k, float(k > 0)) for d, k in zip("abcd", (0, 2, 2, 9), strict=True)]
    rows += [("p", "z", 1, 10, 0, 0.0), ("p", "y", 1, 10, 1, 1.0), ("q", "d", 2, 10, 1, 1.0)]
    quantiles = [(0.5, 1.0), (0.9, 2.0)]
    found = qrels(spark, rows, thresholds=quantiles, by_quantile=True)
    assert {d: g for d, (g, _) in found.items()} == {"a": 0, "b": 1, "c": 1, "d": 2, "z": 0, "y": 2}
    rates = [("q", "a", 1, 10, 2, 1.0), ("q", "b", 1, 1000, 20, 1.0), ("q", "c", 1, 9, 0, 0.0)]
    found = qrels(spark, rates, method="ctr", thresholds=[(1.0, 2.0)], by_quantile=True)
    assert {d: g for d, (g, _) in found.items()} == {"a": 2, "b": 0, "c": 0}  # by the smoothed rate


def voting_log(tmp_path, **more):
    """u1 sees d twice and clicks twice, u2 once without a click; one impression has no user."""
    users = ["u1", "u1", "u2", None]
    rows = {
        "impression_id": ["1", "2", "3", "4"],
        "event_date": [DAY] * 4,
        "query_id": ["q"] * 4,
        "user_id": users,
        "doc_id": [["e", "d"], ["d", "e"], ["d", "e"], ["d", "e"]],
        "clicks": [[0, 1], [1, 0], [0, 0], [1, 0]],
    }
    pq.write_table(pa.table({**rows, **more}), tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


@pytest.mark.every_engine
def test_one_vote_a_user(spark, tmp_path):
    place = voting_log(tmp_path)

    def gains(**options):
        found = nd.clicks.qrels(place, date=DAY, method="ctr", prior="1,1", **options).collect()
        return {r["doc_id"]: r["gain"] for r in found}

    assert gains() == {"d": pytest.approx(4 / 6), "e": pytest.approx(1 / 6)}  # 3 of 4, 0 of 4
    # u1 clicked once, u2 never, and the impression without a user
    assert gains(votes="user") == {"d": pytest.approx(3 / 5), "e": pytest.approx(1 / 5)}


def test_labels_need_documents(spark, tmp_path):
    log = pq.read_table(voting_log(tmp_path)).rename_columns(
        ["impression_id", "event_date", "query_id", "user_id", "shown", "clicks"]
    )
    pq.write_table(log, tmp_path / "log.parquet")
    place = str(tmp_path / "log.parquet")
    with pytest.raises(nd.InputError, match=r"E110: impressions: .* there is no 'doc_id'"):
        nd.clicks.qrels(place, date=DAY)
    found = nd.clicks.qrels(place, date=DAY, columns={"doc_id": "shown"}).collect()
    assert {row["doc_id"] for row in found} == {"d", "e"}


def test_votes_need_users(run_cli, tmp_path):
    pq.write_table(
        pq.read_table(voting_log(tmp_path)).drop_columns("user_id"), tmp_path / "none.parquet"
    )
    code, _, err = run_cli(
        "click-labels", "--impressions", tmp_path / "none.parquet", "--date", DAY, "--votes",
        "user", "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 3
    assert "E110: impressions: --votes user needs users; there is no column user_id" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--thresholds", "q50=1", "--thresholds", "100=2"], "not both: q50=1, 100=2"),
        (["--thresholds", "q0=1"], "a quantile lies above q0 and not above q100"),
        (["--thresholds", "q150=1"], "a quantile lies above q0 and not above q100"),
        (["--thresholds", "q50=1", "--per-days"], "quantiles have no days"),
        (["--lower", "0.05"], "for --method ctr; not 0.05 for counts"),
        (["--method", "ctr", "--lower", "1"], "is a probability, such as 0.05"),
    ],
)
def test_labels_that_are_refused(run_cli, tmp_path, more, words):
    code, _, err = run_cli(
        "click-labels", "--impressions", "x", "--date", DAY, "--out", tmp_path, *more
    )
    assert (code, words in err) == (2, True), err


def test_clicks_over_expected_clicks(spark):
    # rank 1 has 1000 impressions at .08, of which 1000 are the document's: 110 against 80
    rows = [("q", "a", 1, 1000, 110, 1.0), ("q", "b", 1, 1000, 50, 1.0)]
    assert qrels(spark, rows, method="coec")["a"][1] == pytest.approx(1.375)


def test_one_impression_by_hand(spark):
    """clicklogs.md C3: shown d1..d5, clicks d1 and d4, new order d4, d2, d1, lambda 1 / log2(1 + r)."""
    shown = spark.createDataFrame(
        [(0, "q", f"d{r}", r, 1, int(r in (1, 4))) for r in range(1, 6)],
        "bucket int, query_id string, doc_id string, rank int, n_impressions int, n_clicks int",
    )
    ranks = spark.createDataFrame(
        [("q", "d4", 1), ("q", "d2", 2), ("q", "d1", 3)],
        "query_id string, doc_id string, new_rank int",
    )

    def estimate(eta, clip=0.0):
        rows = [("p", r, float(p)) for r, p in enumerate(bias.power_law(eta, 5), 1)]
        table = spark.createDataFrame(rows, "name string, rank int, propensity double")
        state = bias.weighted_clicks(shown, table, clip=clip, new_ranks=ranks)
        return estimates.ips_estimate([r.asDict() for r in state.collect()], np.array([1.0]))

    assert estimate(0.0)["ips"] == pytest.approx(1.5, abs=1e-6)
    whole = estimate(1.0)
    assert whole["ips"] == pytest.approx(4.5, abs=1e-6)
    assert whole["snips_click"] == pytest.approx(0.9, abs=1e-6)
    assert whole["ess"] == pytest.approx(25 / 17, abs=1e-6)
    assert whole["max_weight_share"] == pytest.approx(0.8)
    clipped = estimate(1.0, 0.5)
    assert clipped["ips"] == pytest.approx(2.5, abs=1e-6)
    assert clipped["n_clipped"] == 1


def test_sweeps():
    curve = [(0, -0.0750), (0.5, -0.0367), (0.8, 0.0074), (1, 0.0523)]
    assert estimates.sign_flips(curve) == [pytest.approx(0.75, abs=0.01)]
    assert bias.fitted_eta({1: 1.0, 2: 0.5, 4: 0.25}) == pytest.approx(1.0)
    with pytest.raises(nd.UsageError, match="did you mean 'pivot'"):
        bias.rank_ratios(None, "pivto")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """A log of two rankers with propensities 1 / rank, and a candidate that is truly better."""
    rng = np.random.default_rng(11)
    n_queries, n_docs, n = 40, 10, 400_000
    relevance = rng.beta(1.2, 2.5, (n_queries, n_docs))
    position = relevance + rng.normal(0, 0.25, relevance.shape)
    rankers = [
        np.argsort(-position, 1),
        np.argsort(-(position + rng.normal(0, 0.5, position.shape)), 1),
    ]
    query = rng.integers(0, n_queries, n)
    arm = rng.integers(0, 2, n)
    shown = np.where(arm[:, None] == 0, rankers[0][query], rankers[1][query])
    chance = np.take_along_axis(relevance[query], shown, 1) / np.arange(1, n_docs + 1)
    clicks = (rng.random(shown.shape) < chance).astype(np.int32)
    place = tmp_path_factory.mktemp("simulated")
    names = np.array([f"d{i}" for i in range(n_docs)])
    table = pa.table(
        {
            "impression_id": [f"i{i}" for i in range(n)],
            "event_date": [DAY] * n,
            "query_id": [f"q{q}" for q in query],
            "user_id": [f"u{u}" for u in rng.integers(0, n // 3, n)],
            "arm": np.array(["A", "B"])[arm],
            "docs": names[shown].tolist(),
            "clicked": clicks.tolist(),
        }
    )
    pq.write_table(table, place / "log.parquet")
    better = relevance + rng.normal(0, 0.05, relevance.shape)
    run = [(f"q{q}", f"d{d}", float(better[q, d])) for q in range(n_queries) for d in range(n_docs)]
    columns = dict(zip(("query_id", "doc_id", "score"), zip(*run, strict=True), strict=True))
    pq.write_table(pa.table(columns), place / "candidate.parquet")
    discount = 1 / np.log2(np.arange(2, n_docs + 2))

    def truth(order):
        return float((np.take_along_axis(relevance, order, 1) * discount).sum(1).mean())

    return place, truth(np.argsort(-better, 1)) - (truth(rankers[0]) + truth(rankers[1])) / 2


def job(place, *flags):
    columns = "impressions.doc_id=docs,impressions.clicks=clicked"
    return [
        "click-bias", "--impressions", place / "log.parquet", "--date", DAY, "--columns", columns,
        "--format", "json", *flags,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "off"), [("adjacent_chain", 0.05), ("pivot", 0.05), ("em", 0.03)]
)
def test_propensities_come_back(simulated, run_cli, method, off):
    """On ranks 1 to 5: EM within 3 percent; the others use fewer pairs and vary more."""
    code, out, err = run_cli(*job(simulated[0], "--method", method))
    assert code == 0, err
    found = json.loads(out)
    for rank in range(1, 6):
        assert found["propensities"][str(rank)] * rank == pytest.approx(1, rel=off), rank
    assert found["eta"] == pytest.approx(1, abs=0.1)


def test_how_the_fit_ended_is_said(simulated, run_cli):
    code, out, err = run_cli(*job(simulated[0], "--method", "em"))
    assert code == 0, err
    found = json.loads(out)
    assert found["fit"]["gain"] < 1e-9
    assert 3 < found["fit"]["steps"] < 30
    assert all(found["links"][str(rank)] > 10 for rank in range(1, 11))
    code, _, err = run_cli(*job(simulated[0], "--method", "em", "--iterations", "1"))
    assert code == 3
    assert "E180: em has not converged in 1 steps: the log likelihood would still gain" in err


@pytest.fixture(scope="module")
def unvaried(tmp_path_factory):
    """A log of one ranker that never changes its mind."""
    rng = np.random.default_rng(8)
    query = rng.integers(0, 20, 4000)
    clicks = (rng.random((4000, 5)) < 0.5 / np.arange(1, 6)).astype(np.int32)
    place = tmp_path_factory.mktemp("unvaried")
    table = pa.table(
        {
            "impression_id": [f"i{i}" for i in range(4000)],
            "event_date": [DAY] * 4000,
            "query_id": [f"q{q}" for q in query],
            "user_id": [f"u{u}" for u in rng.integers(0, 900, 4000)],
            "docs": [[f"d{i}" for i in range(5)]] * 4000,
            "clicked": clicks.tolist(),
        }
    )
    pq.write_table(table, place / "log.parquet")
    return place


@pytest.mark.parametrize("method", ["em", "adjacent_chain", "pivot", "randomized"])
def test_a_log_without_variation_tells_nothing(unvaried, run_cli, method):
    code, _, err = run_cli(*job(unvaried, "--method", method, "--depth", "5"))
    assert code == 3
    assert "E181: no clicked document was shown at two ranks" in err
    assert run_cli(*job(unvaried, "--method", "power_law", "--depth", "5"))[0] == 0


def test_naive_rates_are_wrong_and_known_to_be(simulated, run_cli):
    found = json.loads(run_cli(*job(simulated[0], "--method", "naive"))[1])
    assert found["propensities"]["5"] < 0.17


def test_a_better_candidate_is_seen_by_ips_and_missed_by_clicks(simulated, run_cli, tmp_path):
    place, truth = simulated
    code, out, err = run_cli(
        *job(
            place,
            "--method",
            "adjacent_chain",
            "--candidate",
            place / "candidate.parquet",
            "--out",
            tmp_path / "out",
        )
    )
    assert code == 0, err
    found = json.loads(out)
    sweep = {row["name"]: row for row in found["sweep"]}
    assert truth > 0
    assert sweep["eta=0"]["delta"] < 0  # plain clicks favour what was shown
    assert sweep["eta=1"]["delta"] == pytest.approx(truth, abs=4 * sweep["eta=1"]["se"])
    assert sweep["adjacent_chain"]["delta"] > 0
    assert len(found["sign_flips"]) == 1
    rows = pq.read_table(tmp_path / "out" / "ips").to_pylist()
    assert {row["run"] for row in rows} == {"shown", "candidate"}
    assert all(0 < row["ess_share"] <= 1 for row in rows)
    ranks = pq.read_table(tmp_path / "out" / "propensities").to_pylist()
    assert {row["method"] for row in ranks} == {"adjacent_chain"}


def test_a_candidate_that_was_never_shown_is_refused(simulated, run_cli, tmp_path):
    """Half of its top is unknown to the log: worth 0 by the clicks, whatever it is."""
    place, _ = simulated
    known = pq.read_table(place / "candidate.parquet").to_pylist()
    new = [
        {"query_id": row["query_id"], "doc_id": f"new{row['doc_id']}", "score": row["score"] + 0.01}
        for row in known
    ]
    half = [row for row in known if row["query_id"] != "q0"]  # and a query is missing
    pq.write_table(pa.Table.from_pylist(half + new[10:]), tmp_path / "half.parquet")
    pq.write_table(pa.Table.from_pylist(half), tmp_path / "lacks.parquet")
    method = ("--method", "power_law", "--utility", "recall")
    code, _, err = run_cli(*job(place, *method, "--candidate", tmp_path / "half.parquet"))
    assert code == 3
    assert "E182: 47.8% of the weight of the candidate's top 10" in err
    assert "1 of 40 queries are not in it" in err
    code, out, err = run_cli(
        *job(place, *method, "--candidate", tmp_path / "half.parquet", "--min-shown", "0.4")
    )
    assert code == 0, err
    assert json.loads(out)["support"]["share"] == pytest.approx(0.5, abs=0.02)
    code, out, err = run_cli(*job(place, *method, "--candidate", tmp_path / "lacks.parquet"))
    assert code == 0, err
    support = json.loads(out)["support"]
    assert support["share"] == 1.0
    assert support["share_by_weight"] == pytest.approx(39 / 40, abs=0.005)
    assert support["n_queries_missing"] == 1


def test_clicks_without_a_propensity_are_refused(simulated, run_cli):
    code, _, err = run_cli(*job(simulated[0], "--depth", "3"))
    assert code == 3
    assert "E137: clicks down to rank 10, but no propensity for rank 4: --depth is 3" in err


def test_labels_from_clicks_judge_a_run(simulated, run_cli, tmp_path):
    place, _ = simulated
    columns = "impressions.doc_id=docs,impressions.clicks=clicked"
    code, out, err = run_cli(
        "click-labels", "--impressions", place / "log.parquet", "--date", DAY, "--columns", columns,
        "--thresholds", "50=1", "--thresholds", "300=2", "--out", tmp_path / "labels",
    )  # fmt: skip
    assert code == 0, err
    assert "relevance 2" in out
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "labels" / "qrels", "--runs", place / "candidate.parquet",
        "-m", "nDCG@10", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert 0.5 < json.loads(out)["aggregate"][0]["mean"] <= 1


def test_ndcg_without_position_bias(simulated, run_cli, tmp_path):
    """nDCG_ips of a run that knows the relevance but for a little noise is nearly 1; the command's
    propensities, labels and evaluation go together."""
    place, _ = simulated
    assert run_cli(*job(place, "--out", tmp_path / "bias"))[0] == 0
    columns = "impressions.doc_id=docs,impressions.clicks=clicked"
    labels = ("click-labels", "--impressions", place / "log.parquet", "--date", DAY, "--columns",
              columns, "--out", tmp_path / "labels", "--method", "ips")  # fmt: skip
    code, _, err = run_cli(*labels, "--propensities", tmp_path / "bias")
    assert code == 0, err
    code, _, err = run_cli(*labels)
    assert (code, "go together" in err) == (2, True)
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "labels" / "qrels", "--runs", place / "candidate.parquet",
        "-m", "nDCG@10", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert 0.97 < json.loads(out)["aggregate"][0]["mean"] <= 1
    found = nd.clicks.qrels(
        place / "log.parquet", date=DAY, method="ips", columns=[columns],
        propensities=tmp_path / "bias" / "propensities",
    )  # fmt: skip
    written = pq.read_table(tmp_path / "labels" / "qrels").to_pylist()
    assert sorted(map(tuple, found.collect())) == sorted(tuple(row.values()) for row in written)
