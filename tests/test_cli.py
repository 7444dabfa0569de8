"""The commands as a user sees them."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval

import ndcg_spark as nd
from tests.reference import collection, values
from tests.tables.test_write import leftovers


@pytest.fixture
def small(tmp_path):
    qrels, run = collection(11, grades=(0, 1, 2, 3))
    write(tmp_path / "qrels.parquet", ("query_id", "doc_id", "relevance"), qrels)
    write(tmp_path / "bm25.parquet", ("query_id", "doc_id", "score"), run)
    write(tmp_path / "dense.parquet", ("query_id", "doc_id", "score"), run[5:])
    return tmp_path, qrels, run


def write(path, names, rows):
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path
    )


def table(path):
    rows = pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda r: (r["run_id"], r.get("query_id", ""), r["measure"]))


def test_tables_twice_one_copy(small, run_cli):
    place, qrels, run = small
    command = [
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "bm25.parquet",
        "--runs", place / "dense.parquet", "-m", "nDCG@5,AP", "--out", place / "out",
    ]  # fmt: skip
    code, out, err = run_cli(*command)
    assert code == 0, err
    assert "engine" in err
    assert str(place / "out" / "per_query") in out
    first = table(place / "out" / "per_query"), table(place / "out" / "aggregate")
    measures = nd.parse_measures("nDCG@5,AP")
    mine = {(r["query_id"], r["measure"]): r["value"] for r in first[0] if r["run_id"] == "bm25"}
    assert mine == values(qrels, run, measures)
    assert {r["run_id"] for r in first[1]} == {"bm25", "dense"}
    manifest = json.loads((place / "out" / "manifest" / "_manifest.json").read_text())
    assert manifest["measures"] == ["nDCG@5", "AP"]
    assert manifest["rows"]["per_query"] == len(first[0])
    assert manifest["policies"]["ties"] == "docid_desc"
    assert run_cli(*command)[0] == 0
    assert (table(place / "out" / "per_query"), table(place / "out" / "aggregate")) == first
    assert leftovers(place / "out") == set()  # no lock, journal or attempt stays


def test_partitions_are_replaced_one_by_one(small, run_cli):
    place, *_ = small

    def night(date, *more):
        return run_cli(
            "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "bm25.parquet",
            "-m", "AP", "--out", place / "out", "--partition", f"date={date}", *more,
        )  # fmt: skip

    assert night("2026-11-28")[0] == 0
    before = {p: p.read_bytes() for p in (place / "out").rglob("*.parquet")}
    assert night("2026-11-29")[0] == 0
    assert night("2026-11-29", "-m", "RR")[0] == 0
    assert all(p.read_bytes() == content for p, content in before.items())
    found = {r["measure"] for r in table(place / "out" / "per_query" / "date=2026-11-29")}
    assert found == {"AP", "RR"}
    assert set(pq.read_table(place / "out" / "per_query")["date"].to_pylist()) == {
        "2026-11-28",
        "2026-11-29",
    }


def test_json(small, run_cli):
    place, qrels, run = small
    code, out, _ = run_cli(
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "bm25.parquet",
        "-m", "AP,num_ret", "-q", "--format", "json", "--no-relevant", "nan",
    )  # fmt: skip
    assert code == 0
    found = json.loads(out)
    assert set(found) == {
        "command", "engine", "reader", "measures", "counts", "schema", "version", "aggregate", "per_query", "tables"
    }  # fmt: skip
    assert {(r["query_id"], r["measure"]) for r in found["per_query"]} == {
        (q, m) for q, _, _ in qrels for m in ("AP", "NumRet")
    }
    counts = found["counts"]["bm25"]
    judged, shown = {q for q, _, _ in qrels}, {q for q, _, _ in run}
    assert counts["queries_judged"] == len(judged)
    assert counts["queries_missing"] == len(judged - shown)
    assert counts["queries_unjudged"] == len(shown - judged)
    assert counts["queries_in_run"] == len(shown)
    assert counts["documents_retrieved"] == len(run)
    pairs = {(q, d) for q, d, _ in qrels}
    assert counts["documents_judged"] == sum((q, d) in pairs for q, d, _ in run)


def test_ties_across_a_cutoff_are_counted(tmp_path, run_cli):
    rows = [("a", "x", 2.0), ("a", "y", 2.0), ("b", "x", 2.0), ("b", "y", 1.0), ("b", "z", 1.0)]
    write(tmp_path / "run.parquet", ("query_id", "doc_id", "score"), rows)
    write(
        tmp_path / "q.parquet", ("query_id", "doc_id", "relevance"), [("a", "x", 1), ("b", "x", 1)]
    )

    def tied(measure):
        out = run_cli(
            "evaluate", "--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "run.parquet",
            "-m", measure, "--format", "json",
        )[1]  # fmt: skip
        return json.loads(out)["counts"]["run"]["queries_tied_at_cutoff"]

    assert tied("P@1") == 1
    assert tied("P@2") == 1
    assert tied("P@1,2") == 2
    assert tied("P@3") == 0
    assert tied("AP") == 0


def test_duplicates_kept_once_and_counted(tmp_path, run_cli):
    rows = [("a", "x", 2.0), ("a", "x", 1.0), ("a", "y", 1.5)]
    write(tmp_path / "run.parquet", ("query_id", "doc_id", "score"), rows)
    write(tmp_path / "q.parquet", ("query_id", "doc_id", "relevance"), [("a", "y", 1)])
    out = run_cli(
        "evaluate", "--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "run.parquet",
        "-m", "RR", "--format", "json", "--duplicate-docs", "max",
    )[1]  # fmt: skip
    found = json.loads(out)
    assert found["aggregate"][0]["mean"] == 0.5
    assert found["counts"]["run"]["documents_duplicated"] == 1


def test_column_names_and_run_ids(tmp_path, run_cli):
    write(
        tmp_path / "run.parquet",
        ("run", "qid", "d", "s"),
        [("r1", "a", "x", 1), ("r2", "a", "y", 1)],
    )
    write(tmp_path / "q.parquet", ("qid", "Doc_ID", "grade"), [("a", "x", 1)])
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "run.parquet",
        "-m", "RR", "--format", "json",
        "--columns", "qrels.query_id=qid,qrels.relevance=grade,runs.query_id=qid",
        "--columns", "runs.doc_id=d,runs.score=s,runs.run_id=run",
    )  # fmt: skip
    assert code == 0, err
    assert {r["run_id"]: r["mean"] for r in json.loads(out)["aggregate"]} == {"r1": 1.0, "r2": 0.0}


def test_trec_sample_equals_trec_eval(trec_sample, tmp_path, run_cli):
    names = (
        "ndcg ndcg_cut.5,10,20 map recip_rank P.5,10 recall.100 num_q,num_ret,num_rel,num_rel_ret"
    )
    code, _, err = run_cli(
        "import-trec", "--qrels", trec_sample / "qrels.test", "--runs", trec_sample / "results.test",
        "--out", tmp_path / "trec",
    )  # fmt: skip
    assert code == 0, err
    flags = [f for name in names.split() for f in ("-m", name)]
    source = ["--qrels", tmp_path / "trec" / "qrels", "--runs", tmp_path / "trec" / "runs"]
    code, out, err = run_cli("evaluate", *source, *flags, "-q", "--format", "trec")
    assert code == 0, err
    printed = {tuple(map(str.strip, line.split("\t"))) for line in out.splitlines()}
    with open(trec_sample / "qrels.test") as qrels, open(trec_sample / "results.test") as run:
        oracle = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(qrels),
            {"ndcg", "ndcg_cut.5,10,20", "map", "recip_rank", "P.5,10", "recall.100", "num_ret", "num_rel", "num_rel_ret"},
        ).evaluate(pytrec_eval.parse_run(run))  # fmt: skip
    assert len(oracle) == 3
    wanted = {("num_q", "all", "3")}
    for query, row in oracle.items():
        for name, value in row.items():
            shown = f"{value:.0f}" if name.startswith("num_") else f"{value:.4f}"
            wanted.add((name, query, shown))
    for name in next(iter(oracle.values())):
        column = [row[name] for row in oracle.values()]
        mean = pytrec_eval.compute_aggregated_measure(name, column)
        wanted.add((name, "all", f"{mean:.0f}" if name.startswith("num_") else f"{mean:.4f}"))
    assert printed == wanted
    assert all(line.split("\t")[0].ljust(22) == line.split("\t")[0] for line in out.splitlines())
    code, out, _ = run_cli("evaluate", *source, *flags, "-q", "--format", "json")
    for row in json.loads(out)["per_query"]:
        name = nd.parse_measure(row["measure"]).trec_name()
        if name != "num_q":
            assert row["value"] == pytest.approx(oracle[row["query_id"]][name], abs=1e-12)


@pytest.mark.parametrize("compressed", [False, True])
def test_import_trec_takes_what_trec_eval_takes(tmp_path, run_cli, compressed):
    qrels = b"# judged by two\n\n301\t0 d1   1\n 301 0 d2 0.5 \r\n"
    run = b"301 Q0 d1 1 2.5 tag more junk\n\n#x\n301\tQ0\td2\tx\t-inf\ttag\n"
    opener = gzip.open if compressed else open
    for name, content in (("qrels", qrels), ("run", run)):
        with opener(tmp_path / name, "wb") as file:
            file.write(content)
    code, out, err = run_cli(
        "import-trec",
        "--qrels",
        tmp_path / "qrels",
        "--runs",
        tmp_path / "run",
        "--out",
        tmp_path / "o",
    )
    assert code == 0, err
    assert "2 rows" in out
    assert pq.read_table(tmp_path / "o" / "qrels").to_pylist() == [
        {"query_id": "301", "doc_id": "d1", "relevance": 1.0, "iteration": "0"},
        {"query_id": "301", "doc_id": "d2", "relevance": 0.5, "iteration": "0"},
    ]
    runs = pq.read_table(tmp_path / "o" / "runs").to_pylist()
    assert [(r["run_id"], r["score"], r["rank"]) for r in runs] == [
        ("tag", 2.5, 1),
        ("tag", float("-inf"), None),
    ]


@pytest.mark.parametrize(
    ("qrels", "words"),
    [
        (b"301 0 d1 1\n301 0 d2\n", "line 2: 3 fields instead of 4"),
        (b"301 0 d1 1 x\n", "line 1: 5 fields instead of 4"),
        (b"\n301 0 d1 high\n", "line 2: relevance 'high' is not a number"),
        (b"301 0 d\xff 1\n", "line 1: not UTF-8"),
        (b"\n# nothing\n", "hold no line with content"),
        (b"\x1f\x8b\x08broken", "cannot be read"),
    ],
)
def test_import_trec_names_the_line(tmp_path, run_cli, qrels, words):
    (tmp_path / "qrels").write_bytes(qrels)
    code, _, err = run_cli("import-trec", "--qrels", tmp_path / "qrels", "--out", tmp_path / "o")
    assert code == 3
    assert any(code in err for code in ("E160", "E105", "E103"))
    assert words in err
    assert not list((tmp_path / "o").rglob("*.parquet"))


def test_measures_lists_the_registry(run_cli):
    code, out, _ = run_cli("measures")
    assert code == 0
    listed = [line.split("\t")[0] for line in out.splitlines()][1:]
    assert listed == [m.canonical for m in nd.catalogue()]


def test_demo(run_cli, tmp_path):
    code, out, err = run_cli("demo", "--out", tmp_path / "tables")
    assert code == 0, err
    plain = out.replace("*", "")  # the mark of the best
    lines = {line.split()[0]: line.split()[1:] for line in plain.splitlines() if line.strip()}
    assert lines["measure"] == ["bm25", "dense", "rerank"]
    weak, middle, best = map(float, lines["nDCG@10"])
    assert weak + 0.03 < middle
    assert middle + 0.03 < best
    assert len(table(tmp_path / "tables" / "aggregate")) == 3 * 8


def test_all_trec_reads_like_trec_eval(trec_sample, tmp_path, run_cli):
    """Names, order and widths of `trec_eval -m all_trec -q -c`, release 9; values as pytrec_eval has
    them. Release 10 differs in eight levels and has `unj` besides."""
    code, _, err = run_cli(
        "import-trec", "--qrels", trec_sample / "qrels.test", "--runs", trec_sample / "results.test",
        "--out", tmp_path / "trec",
    )  # fmt: skip
    assert code == 0, err
    source = ["--qrels", tmp_path / "trec" / "qrels", "--runs", tmp_path / "trec" / "runs"]
    nine = ("--dialect", "trec_eval9")
    code, out, err = run_cli("evaluate", *source, "-m", "all_trec", *nine, "-q", "--format", "trec")
    assert code == 0, err
    with open(trec_sample / "qrels.test") as qrels, open(trec_sample / "results.test") as run:
        oracle = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(qrels), pytrec_eval.supported_measures
        ).evaluate(pytrec_eval.parse_run(run))
    lines = [line.split("\t") for line in out.splitlines()]
    assert all(len(line) == 3 and len(line[0]) >= 22 for line in lines)
    own = [name for name, query, _ in lines if query == "all"]
    names = list(next(iter(oracle.values())))  # in trec_eval's order
    assert [n.strip() for n in own] == [n for n in names if n != "relstring"]
    for query, row in oracle.items():
        shown = {n.strip(): v for n, q, v in lines if q == query}
        silent = ("runid", "num_q", "gm_map", "gm_bpref")
        assert list(shown) == [n for n in row if n not in silent]
        for name, value in row.items():
            if name in silent or name == "relstring":
                continue
            assert float(shown[name]) == pytest.approx(value, abs=5.1e-5), (query, name)
        assert shown["relstring"].strip("'").strip("-01") == ""
        assert len(shown["relstring"]) == 12
    assert lines[[q for _, q, _ in lines].index("all")][2] == "STANDARD"
    strings = ("-m", "all_trec,relstring.20", "-q", "--format", "trec")
    code, out, err = run_cli("evaluate", *source, *strings)
    assert code == 0, err
    newer = [line.split("\t") for line in out.splitlines()]
    was, now = ({n.strip(): v for n, q, v in own if q == "all"} for own in (lines, newer))
    assert {name for name in was if was[name] != now[name]} == {
        "iprec_at_recall_0.10", "iprec_at_recall_0.60", "Rprec_mult_0.20", "Rprec_mult_0.60",
        "Rprec_mult_0.80", "Rprec_mult_1.20", "Rprec_mult_1.60", "Rprec_mult_1.80", "11pt_avg",
    }  # fmt: skip
    assert {n: now[n] for n in now if n not in was} == {
        "unj_5": "0.0000", "unj_10": "0.0000", "unj_20": "0.0333",
    }  # fmt: skip
    strings = {q: v for n, q, v in newer if n == "relstring_20          "}
    assert strings["301"] == "'0000011000000--10101'"
    assert list(strings) == ["301", "302", "303"]


def test_official_and_dialect(tmp_path, run_cli):
    rows = [("q", d, s) for d, s in zip("bxad", (4, 3, 2, 1), strict=True)]
    write(tmp_path / "run.parquet", ("query_id", "doc_id", "score"), rows)
    grades = [("q", d, g) for d, g in zip("abcd", (3, 2, 1, 0), strict=True)]
    write(tmp_path / "q.parquet", ("query_id", "doc_id", "relevance"), grades)
    source = ["evaluate", "--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "run.parquet"]
    code, out, _ = run_cli(*source, "-m", "official", "--format", "trec")
    assert code == 0
    assert out.splitlines()[0].split() == ["runid", "all", "run"]
    assert len(out.splitlines()) == 10 + 11 + 9
    code, out, _ = run_cli(*source, "-m", "Rndcg,G", "--dialect", "trec_eval", "--format", "trec")
    assert [line.split()[2] for line in out.splitlines()] == ["0.6237", "0.5258"]
    code, out, _ = run_cli(*source, "-m", "Rndcg,trec_eval:Rndcg", "--format", "json")
    assert json.loads(out)["measures"] == ["nDCG@R", "trec_eval:Rndcg"]


CASES_BY_CLI = [
    "above-one",
    "one-order-rr",
    "map-min",
    "norel-skip",
    "err-4",
    "fam-G",
    "infap",
    "inf-ok",
]


@pytest.mark.parametrize("name", CASES_BY_CLI)
def test_cases_by_the_command_line(name, tmp_path, run_cli):
    from tests.evaluation.test_cases import CASES, measure_and_policies

    (case,) = [c for c in CASES if c["id"] == name]
    measure, policies = measure_and_policies(case)
    rows = [(q, d, float(s)) for q, d, s in case["run"]]
    write(tmp_path / "run.parquet", ("query_id", "doc_id", "score"), rows)
    write(tmp_path / "q.parquet", ("query_id", "doc_id", "relevance"), case["qrels"])
    flags = [f for k, v in policies.items() for f in (f"--{k.replace('_', '-')}", str(v))]
    code, out, err = run_cli(
        "evaluate", "--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "run.parquet",
        "-m", str(measure), "-q", "--format", "json", *flags,
    )  # fmt: skip
    assert code == 0, err
    found = {r["query_id"]: r["value"] for r in json.loads(out)["per_query"]}
    found = {q: v for q, v in found.items() if v is not None}
    assert found == pytest.approx(case["expected"]["per_query"], abs=1e-12)
