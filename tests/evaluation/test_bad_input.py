"""Each bad input gets its code, its message and exit 3 (2 for a wrong flag); the old output stays."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def data(tmp_path):
    """A good collection, and its output from an earlier run."""
    write(tmp_path / "qrels" / "a.parquet", query_id=["q"], doc_id=["d"], relevance=[1])
    write(tmp_path / "bm25" / "a.parquet", query_id=["q"], doc_id=["d"], score=[1.0])
    (tmp_path / "out" / "per_query").mkdir(parents=True)
    (tmp_path / "out" / "per_query" / "part-0.parquet").write_text("the old output")
    return tmp_path


@pytest.fixture
def refused(data, run_cli):
    """Evaluate and expect a refusal: the error text; checks that nothing was touched."""

    def evaluate(*more, exit_code=3, qrels="qrels", runs="bm25"):
        code, out, err = run_cli(
            "evaluate", "--qrels", data / qrels, "--runs", data / runs, "-m", "nDCG",
            "--out", data / "out", *more,
        )  # fmt: skip
        assert code == exit_code, err
        assert out == ""
        text = err.split("ndcg-spark: error: ")[1]
        assert "Traceback" not in err
        assert text.count("\n") == 1
        assert len(text) < 900
        files = [p.relative_to(data / "out") for p in (data / "out").rglob("*") if p.is_file()]
        assert list(map(str, files)) == ["per_query/part-0.parquet"]
        return text

    return evaluate


RUN = {"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": [1.0, 2.0]}
QRELS = {"query_id": ["q", "q"], "doc_id": ["d", "e"], "relevance": [1, 0]}


@pytest.mark.parametrize(
    ("role", "change", "code", "words"),
    [
        ("runs", {"score": [1.0, float("nan")]}, "E122", "1 rows of the runs have a NaN score (run bad, query q, document e)"),
        ("runs", {"score": [None, None]}, "E112", "score is"),
        ("runs", {"score": pa.array([1.0, None])}, "E122", "1 rows of the runs have a null score"),
        ("runs", {"doc_id": ["d", "d"]}, "E132", "1 documents are duplicated in the run (run bad, query q, document d)"),
        ("runs", {"doc_id": ["x", "x"]}, "E132", "document x"),
        ("runs", {"doc_id": ["d", None]}, "E120", "1 rows of the run have a null document id"),
        ("runs", {"query_id": ["q", None]}, "E120", "1 rows of the run have a null query id"),
        ("runs", {"query_id": ["q", ""]}, "E120", "1 rows of the run have an empty query id"),
        ("runs", {"query_id": [1, 2]}, "E140", "bigint in the runs but string in the qrels"),
        ("runs", {"query_id": ["Q", "R"]}, "E141", "share no query; in the runs: Q, R; in the qrels: q"),
        ("runs", {"score": ["1", "2"]}, "E112", "score is string, not a number"),
        ("runs", {"query_id": [1.0, 2.0]}, "E112", "query_id is double, not a string or an integer"),
        ("runs", {"score": None, "s": [1.0, 2.0]}, "E110", "missing column(s) score; the table has: query_id, doc_id, s"),
        ("runs", {"score": None, "doc_id": None, "x": [1, 2]}, "E110", "missing column(s) doc_id, score"),
        ("qrels", {"relevance": [1, None]}, "E113", "1 judgements have a null or infinite grade"),
        ("qrels", {"relevance": [1, float("inf")]}, "E113", "1 judgements have a null or infinite grade"),
        ("qrels", {"gain": [1.0, -2.0]}, "E113", "negative or infinite gain"),
        ("qrels", {"doc_id": ["d", "d"]}, "E131", "1 documents are judged more than once, differently (query q, document d)"),
        ("qrels", {"doc_id": ["d", "d"], "relevance": [1, 1]}, "E130", "1 documents are judged more than once, alike"),
        ("qrels", {"query_id": [None, None]}, "E112", "query_id is"),
        ("qrels", {"doc_id": ["", "e"]}, "E120", "1 rows of the judgements have an empty document id"),
        ("qrels", {"relevance": ["1", "0"]}, "E112", "relevance is string"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
@pytest.mark.parametrize("plan", ["kernel", "window"])
def test_bad_rows(data, refused, role, change, code, words, plan):
    columns = {k: v for k, v in {**(RUN if role == "runs" else QRELS), **change}.items() if v}
    write(data / "bad" / "a.parquet", **columns)
    text = refused("--plan", plan, **{role: "bad"})
    assert text.startswith(code), text
    assert words in text


def test_all_problems_together_with_counts_and_five_keys(data, refused):
    n = 9
    write(
        data / "bad" / "a.parquet",
        query_id=["q"] * n + [None],
        doc_id=[f"d{i}" for i in range(n)] + ["x"],
        score=[float("nan")] * n + [1.0],
    )
    write(data / "twice" / "a.parquet", query_id=["q"] * 2, doc_id=["d"] * 2, relevance=[1, 2])
    text = refused(runs="bad", qrels="twice")
    assert "E122: 9 rows" in text
    assert "document d4, …)" in text
    assert "document d5" not in text
    assert "null query id" in text
    assert "E131: 1 documents" in text


def test_a_mapped_run_id_must_be_there(refused):
    assert "missing column(s) run" in refused("--columns", "runs.run_id=run")


@pytest.mark.parametrize("plan", ["kernel", "window"])
def test_bad_ranks(data, refused, plan):
    ranks = {"gap": [1, 3], "repeat": [1, 1], "zero": [0, 1]}
    columns = {"query_id": ["q", "q"], "doc_id": ["d", "e"]}
    for name, rank in ranks.items():
        write(data / name / "a.parquet", **columns, rank=rank)
        text = refused("--order-by", "rank", "--plan", plan, runs=name)
        assert text.startswith("E133: 1 lists whose ranks are not 1, 2, 3"), text
        assert f"(run {name}, query q)" in text
    assert "missing column(s) rank" in refused("--order-by", "rank")


@pytest.mark.parametrize("plan", ["kernel", "window"])
def test_negatives_and_large_grades_on_request(data, refused, plan):
    write(data / "bad" / "a.parquet", query_id=["q"], doc_id=["d"], relevance=[-1])
    text = refused("--negative", "error", "--plan", plan, qrels="bad")
    assert text.startswith(
        "E134: 1 judgements have a negative grade (query q, document d, grade -1)"
    )
    write(data / "big" / "a.parquet", query_id=["q"], doc_id=["d"], relevance=[1100])
    assert refused("-m", "ndcg_p", "--plan", plan, qrels="big").startswith("E114: 1 judgements")


def test_missing_empty_and_broken_files(data, refused):
    assert refused(runs="nowhere").startswith("E101: runs: the path")
    (data / "empty").mkdir()
    (data / "empty" / "_SUCCESS").touch()
    assert refused(qrels="empty").startswith("E102: qrels: there is no Parquet file under")
    shutil.copytree(data / "bm25", data / "zero")
    (data / "zero" / "b.parquet").touch()
    assert "1 file(s) of zero bytes" in refused(runs="zero")
    write(data / "none" / "a.parquet", **{k: pa.array([], pa.string()) for k in ("query_id", "doc_id")}, score=pa.array([], pa.float64()))  # fmt: skip
    assert refused(runs="none").startswith("E103: the runs have no rows")
    write(data / "noqrels" / "a.parquet", **{k: pa.array([], pa.string()) for k in ("query_id", "doc_id")}, relevance=pa.array([], pa.int64()))  # fmt: skip
    assert refused(qrels="noqrels").startswith("E103: the qrels have no rows")


def test_names_that_are_not_told_apart(data, refused, run_cli):
    write(data / "exact" / "a.parquet", **RUN, Score=[1.0, 2.0])
    source = ("--qrels", data / "qrels", "--runs", data / "exact", "-m", "nDCG")
    assert run_cli("evaluate", *source)[0] == 0  # the exact name wins
    own = {("SCORE" if name == "score" else name): values for name, values in RUN.items()}
    write(data / "case" / "a.parquet", **own, Score=[1.0, 2.0])
    text = refused(runs="case")
    assert text.startswith("E115")
    assert "differ only in case" in text
    for place in ("one", "two"):
        write(data / place / "bm25.parquet", query_id=["q"], doc_id=["d"], score=[1.0])
    text = refused("--runs", data / "two" / "bm25.parquet", runs="one/bm25.parquet")
    assert text.startswith("E116: two sources without a run_id are both named 'bm25'")


def test_what_an_error_hints_at(data, refused, run_cli):
    write(data / "twice" / "a.parquet", query_id=["q"] * 2, doc_id=["d"] * 2, score=[1.0, 2.0])
    assert "without a run_id, or two dates under one path" in refused(runs="twice")
    assert "--duplicate-docs max" in refused(runs="twice")
    write(data / "both" / "a.parquet", query_id=["q"] * 2, doc_id=["d"] * 2, relevance=[1, 2])
    assert "--duplicate-qrels max keeps the highest grade" in refused(qrels="both")
    text = refused(runs="qrels", qrels="bm25")
    assert text.startswith(
        "E110: runs: missing column(s) score; the table has: query_id, doc_id, rel"
    )
    assert "are --runs and --qrels swapped?" in text
    assert "run_id" not in text.split("Map them")[0]


def test_an_output_that_does_not_fit_is_refused_before_the_work(data, refused):
    """The runs are broken, but that is not looked at: the output is."""
    write(data / "bad" / "a.parquet", query_id=["q"], doc_id=["d"], score=[float("nan")])
    text = refused("--partition", "date=2026-11-29", runs="bad")
    assert text.startswith("E155")


def test_a_part_of_no_output(run_cli, data):
    code, _, err = run_cli(
        "evaluate", "--qrels", data / "qrels", "--runs", data / "bm25", "--partition", "date=2026"
    )
    assert code == 2
    assert "give --out DIR too" in err


def test_a_bad_day_is_shown_with_the_form(run_cli):
    for flags, words in (
        (("--date", "29.11.2026"), "bad --date '29.11.2026'; write a day as in 2026-11-29"),
        (("--from", "x", "--to", "2026-11-29"), "bad --from 'x'"),
        (("--date", "2026-11-29", "--timezone", "Mars/Base"), "unknown --timezone 'Mars/Base'"),
    ):
        code, _, err = run_cli("clicks", "--impressions", "x", *flags)
        assert code == 2
        assert words in err


def test_runs_and_judgements_that_do_not_meet(data, run_cli, spark):
    """A common query, and no document of it judged: said by the check, warned of by the job."""
    write(data / "others" / "a.parquet", query_id=["q"], doc_id=["D"], score=[1.0])
    command = ("evaluate", "--qrels", data / "qrels", "-m", "nDCG", "--runs")
    code, _, err = run_cli(*command, data / "others")
    assert code == 0
    assert "warning: E140: 0 of the 1 documents of run others are judged (0.00%)" in err
    assert "E140" not in run_cli(*command, data / "bm25")[2]
    qrels, others = str(data / "qrels"), str(data / "others")
    (problem,) = nd.check(others, qrels).collect()
    assert problem["code"] == "E140"
    write(data / "far" / "a.parquet", query_id=["p"], doc_id=["d"], score=[1.0])
    (problem,) = nd.check(str(data / "far"), qrels).collect()
    assert problem["problem"].startswith("E141: 0 queries are shared")
    assert nd.check(str(data / "far"), qrels, on_no_overlap="zero").count() == 0
    assert nd.check(str(data / "bm25"), qrels).count() == 0


def test_codes_of_what_is_refused(data, refused):
    (data / "zeros").mkdir()
    (data / "zeros" / "b.parquet").touch()
    assert refused(runs="zeros").startswith("E104: runs: 1 file(s) of zero bytes")
    assert refused("--out", "nowhere://x/out").startswith("E156: no client for the file system")


@pytest.mark.parametrize("damage", ["truncated", "garbage", "second"])
def test_unreadable_parquet(data, refused, damage):
    good = (data / "bm25" / "a.parquet").read_bytes()
    (data / "bad").mkdir()
    if damage == "second":  # the schema comes from a good file, the damage is met while reading
        (data / "bad" / "a.parquet").write_bytes(good)
    content = b"PAR1 not a parquet file" if damage == "garbage" else good[: len(good) // 2]
    (data / "bad" / "z.parquet").write_bytes(content)
    text = refused(runs="bad")
    assert text.startswith("E105"), text
    assert "cannot be read" in text


def test_paths_that_must_not_be_used(data, refused):
    assert refused(runs="bm*").startswith("E150: runs: the path")
    text = refused("--out", data / "qrels")
    assert text.startswith("E152")
    assert refused("--out", data).startswith("E152")
    assert refused("--out", data / "bm25" / "a.parquet" / "x").startswith("E152")
    assert refused("--out", data / "out" / "per_query" / "part-0.parquet").startswith("E153")
    assert refused("--partition", "date=../../x").startswith("E151")
    assert refused("--partition", "date=2026-11-29").startswith("E155")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mesure", "AP"], "did you mean '--measure'"),
        (["--ties", "docid"], "allowed: docid_desc, docid_asc"),
        (["--depth", "x"], "--depth must be a whole number"),
        (["-m", "ndgc"], "did you mean 'ndcg'"),
        (["--columns", "runz.score=s"], "did you mean 'runs'"),
        (["--columns", "runs.scor=s"], "did you mean 'score'"),
        (["--order-by", "rank", "--duplicate-docs", "max"], "no defined places"),
        (["--master", "local", "--remote", "sc://x"], ""),
        (["--global-gains", "1"], "unknown gain"),
        (["--rel", "nan"], "finite"),
    ],
    ids=str,
)
def test_wrong_flags(refused, arguments, words):
    code = 3 if "runs.scor=s" in arguments else 2
    if "--master" in arguments:
        pytest.skip("the session is shared here; see test_session")
    assert words in refused(*arguments, exit_code=code)


def test_configuration(data, refused, run_cli):
    config = data / "job.toml"
    config.write_text("mesure = ['AP']")
    assert "unknown key 'mesure' (did you mean 'measure'?)" in refused(
        "--config", config, exit_code=2
    )
    config.write_text("measure = [")
    assert "is not TOML" in refused("--config", config, exit_code=2)
    assert "cannot read the configuration" in refused("--config", data / "no.toml", exit_code=2)
    config.write_text("depth = 'x'")
    assert "--depth must be a whole number" in refused("--config", config, exit_code=2)
    config.write_text(
        f'qrels = "{data}/qrels"\nruns = ["{data}/bm25"]\nmeasure = "AP"\nformat = "json"\n'
        "no-relevant = 'skip'\n[columns]\nruns.score = 'score'\n"
    )
    code, out, _ = run_cli("evaluate", "--config", config, "--measure", "RR")
    assert code == 0
    assert json.loads(out)["measures"] == ["RR"]  # the flag wins


def test_unknown_command(run_cli):
    code, _, err = run_cli("evalute")
    assert code == 2
    assert "did you mean 'evaluate'" in err
    assert run_cli()[0] == 2


def test_columns_in_python(spark):
    """Other names, as --columns has them, in every function that reads runs or qrels."""
    run = pa.table({"qid": ["q"], "docno": ["d"], "s": [1.0]})
    qrels = pa.table({"qid": ["q"], "docno": ["d"], "label": [1]})
    runs_names = {"runs.query_id": "qid", "runs.doc_id": "docno", "runs.score": "s"}
    names = {
        **runs_names,
        "qrels.query_id": "qid", "qrels.doc_id": "docno", "qrels.relevance": "label",
    }  # fmt: skip
    values = [
        nd.evaluate(run, qrels, "RR", columns=names).collect()[0]["value"],
        nd.Evaluator(qrels, "RR", columns=names).evaluate(run).collect()[0]["value"],
        nd.ranked(run, columns=runs_names).collect()[0]["rank"],
        nd.ideals(qrels, "nDCG", columns=names).collect()[0]["idcg"],
        nd.contributions(run, qrels, "nDCG", columns=names).collect()[0]["contribution"],
    ]
    assert values == [1] * 5
    assert nd.check(run, qrels, columns=names).count() == 0
    for bad, hint in (
        ({"runz.score": "s"}, "did you mean 'runs'"),
        ({"s": "score"}, "bad columns"),
    ):
        with pytest.raises(nd.UsageError, match=hint):
            nd.evaluate(run, qrels, "RR", columns=bad)
