"""Runs and judgements as text: what people's files look like, and wrong lines named by number."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QRELS = [("q1", "d1", 1), ("q1", "d2", 0), ("q1", "d3", 2), ("q2", "d1", 1), ("q2", "d4", 0)]
RUN = [
    ("q1", "d1", 3.0),
    ("q1", "d2", 2.0),
    ("q1", "d3", 1.0),
    ("q2", "d4", 2.0),
    ("q2", "d1", 1.0),
]
RIGHT = {"q1": 0.7601875334, "q2": 0.6309297536}

FORMS = {
    "trec": (
        "\n".join(f"{q} 0 {d} {g}" for q, d, g in QRELS),
        "\n".join(f"{q}\tQ0  {d} {n} {s} bm25" for n, (q, d, s) in enumerate(RUN)),
    ),
    "beir": (
        "\n".join(["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{g}" for q, d, g in QRELS)]),
        "\n".join(["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{s}" for q, d, s in RUN)]),
    ),
    "csv": (
        "\n".join(["relevance,doc_id,note,query_id", *(f'{g},{d},"a, b",{q}' for q, d, g in QRELS)]),
        "\n".join(["run_id,query_id,doc_id,score", *(f'"bm25",{q},"{d}",{s}' for q, d, s in RUN)]),
    ),
    "jsonl": (
        "\n".join(json.dumps({"query_id": q, "doc_id": d, "relevance": g}) for q, d, g in QRELS),
        "\n".join(
            json.dumps({"score": s, "run_id": "bm25", "doc_id": d, "query_id": q}) for q, d, s in RUN
        ),
    ),
}  # fmt: skip
COMPRESSIONS = {
    "plain": lambda b: b,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda b: pa.compress(b, "zstd", asbytes=True),
    "two gz members": lambda b: gzip.compress(b[:20]) + gzip.compress(b[20:]),
}
WRITINGS = {
    "utf-8": lambda t: t.encode(),
    "final line end": lambda t: (t + "\n").encode(),
    "mark": lambda t: b"\xef\xbb\xbf" + t.encode(),
    "crlf": lambda t: t.replace("\n", "\r\n").encode(),
    "cr": lambda t: t.replace("\n", "\r").encode(),
    "utf-16": lambda t: t.encode("utf-16"),
    "utf-16-be": lambda t: b"\xfe\xff" + t.encode("utf-16-be"),
    "empty lines": lambda t: ("\n\n" + t.replace("\n", "\n\n")).encode(),
}


@pytest.fixture
def evaluate(tmp_path, run_cli):
    def run(qrels: bytes, runs: bytes, *more, names=("q", "bm25")):
        paths = [tmp_path / name for name in names]
        for path, content in zip(paths, (qrels, runs), strict=True):
            path.write_bytes(content)
        code, out, err = run_cli(
            "evaluate", "--qrels", paths[0], "--runs", paths[1], "-m", "nDCG@10", "-q", "--format",
            "json", *more,
        )  # fmt: skip
        return (
            (code, err)
            if code
            else ({r["query_id"]: r["value"] for r in json.loads(out)["per_query"]}, out)
        )

    return run


def right(found):
    assert found[0] == pytest.approx(RIGHT), found


@pytest.mark.every_engine
@pytest.mark.parametrize("form", FORMS)
def test_evaluate_reads_every_form(evaluate, form):
    qrels, run = (text.encode() for text in FORMS[form])
    found = evaluate(qrels, run)
    right(found)
    assert [row["run_id"] for row in json.loads(found[1])["aggregate"]] == ["bm25"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("writing", WRITINGS)
def test_however_it_is_written(evaluate, form, writing):
    right(evaluate(*(WRITINGS[writing](text) for text in FORMS[form])))


@pytest.mark.parametrize("form", ["trec", "csv"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_however_it_is_compressed(evaluate, tmp_path, run_cli, form, compression):
    packed = [COMPRESSIONS[compression](text.encode()) for text in FORMS[form]]
    right(evaluate(*packed))
    code, _, err = run_cli(
        "import-trec",
        "--qrels",
        tmp_path / "q",
        "--runs",
        tmp_path / "bm25",
        "--out",
        tmp_path / "o",
    )
    assert code == 0, err
    rows = pq.read_table(tmp_path / "o" / "qrels").to_pylist()
    assert [(r["query_id"], r["doc_id"], r["relevance"]) for r in rows] == QRELS
    rows = pq.read_table(tmp_path / "o" / "runs").to_pylist()
    assert [(r["query_id"], r["doc_id"], r["score"]) for r in rows] == RUN
    assert {r["run_id"] for r in rows} == {"bm25"}


def test_names_of_ones_own(evaluate):
    qrels, run = FORMS["csv"]
    qrels = qrels.replace("relevance", "label").replace("query_id", "qid")
    flags = ("--columns", "qrels.query_id=qid,qrels.relevance=label")
    right(evaluate(qrels.encode(), run.encode(), *flags))
    code, err = evaluate(qrels.encode(), run.encode())
    assert code == 3
    assert "E160" in err or "E110" in err


def test_a_directory_of_texts_and_parquet(evaluate, tmp_path, run_cli):
    """Texts in a directory are known by their names; anything else is named, not skipped."""
    place = tmp_path / "runs"
    place.mkdir()
    lines = FORMS["trec"][1].split("\n")
    (place / "a.txt").write_text("\n".join(lines[:3]))
    (place / "b.run.gz").write_bytes(gzip.compress("\n".join(lines[3:]).encode()))
    (tmp_path / "q").write_text(FORMS["trec"][0])
    command = (
        "evaluate",
        "--qrels",
        tmp_path / "q",
        "--runs",
        place,
        "-m",
        "nDCG@10",
        "-q",
        "--format",
        "json",
    )
    code, out, err = run_cli(*command)
    assert code == 0, err
    assert {r["query_id"]: r["value"] for r in json.loads(out)["per_query"]} == pytest.approx(RIGHT)
    (place / "README.md").write_text("about")
    code, _, err = run_cli(*command)
    assert code == 3
    assert "E105" in err
    assert "README.md" in err


WRONG = [
    ("qrels", "q1 0 d1 1\nq1 0 d2\n", "line 2: 3 fields instead of 4"),
    ("qrels", "q1 0 d1 1\n\nq1 0 d3 99999999999999999999\n", "line 3: relevance 99999999999999999999 is too large"),
    ("qrels", "q1\td1\t1\n", "line 1: 3 fields"),
    ("qrels", "relevance,doc_id,query_id\n1,d1\n", "line 2: 2 fields instead of 3"),
    ("qrels", "relevance,doc_id,query_id\n\nhigh,d1,q1\n", "line 3: relevance 'high' is not a number"),
    ("qrels", '{"query_id": "q1", "doc_id": "d1", "relevance": 1}\n{"query_id"\n', "line 2: no JSON"),
    ("qrels", '{"query_id": "q1", "doc_id": ["d1"], "relevance": 1}\n', "line 1: doc_id ['d1'] is no text"),
    ("runs", "q1 Q0 d1 1 2.5\n", "line 1: 5 fields instead of 6"),
    ("runs", "q1 Q0 d1 1 x tag\n", "line 1: score 'x' is not a number"),
]  # fmt: skip


@pytest.mark.parametrize(("role", "text", "words"), WRONG)
def test_a_wrong_line_is_named(evaluate, role, text, words):
    qrels, run = FORMS["trec"]
    both = (text, run) if role == "qrels" else (qrels, text)
    code, err = evaluate(*(content.encode() for content in both))
    assert code == 3, err
    assert "E160" in err
    assert words in err


def test_a_rank_of_twenty_digits(tmp_path, run_cli, evaluate):
    """It is refused where ranks are kept, and does not matter where nobody reads it."""
    qrels, run = FORMS["trec"]
    run = run.replace(" 0 3.0", " 99999999999999999999 3.0")
    right(evaluate(qrels.encode(), run.encode()))
    code, _, err = run_cli("import-trec", "--runs", tmp_path / "bm25", "--out", tmp_path / "o")
    assert code == 3
    assert "line 1: rank 99999999999999999999 is too large" in err


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b\x08broken", b"BZh9broken", b"\xfd7zXZ\x00broken", b"\x28\xb5\x2f\xfdbroken"],
)
def test_a_broken_compression(evaluate, content):
    code, err = evaluate(content, FORMS["trec"][1].encode())
    assert code == 3, err
    assert "E105" in err
    assert "qrels: the file 'q'" in err


def test_garbage_is_no_text(evaluate):
    code, err = evaluate(bytes(range(256)), FORMS["trec"][1].encode())
    assert (code, "E105" in err) == (3, True), err
    code, err = evaluate("q1 0 d1 1\n".encode("utf-16")[:-1], FORMS["trec"][1].encode())
    assert (code, "E160" in err) == (3, True), err


def test_texts_against_parquet(evaluate, tmp_path):
    """Ids of a text are text: numbers in the other table are refused, never cast."""
    table = pa.table({"query_id": [1], "doc_id": [1], "relevance": [1]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    code, err = evaluate(sink.getvalue().to_pybytes(), b"1 Q0 1 1 1.0 x\n")
    assert (code, "E140" in err) == (3, True), err


def test_chunks_of_lines(monkeypatch):
    """Lines, characters and \\r\\n that lie across the blocks that are read."""
    from ndcg_spark.tables import lines_kernel, text_kernel

    run = FORMS["trec"][1]
    for size in (2, 3, 5, 64):
        for writing in ("crlf", "cr", "utf-16"):
            monkeypatch.setattr(lines_kernel, "CHUNK", size)
            found = text_kernel.TextTable(
                io.BytesIO(WRITINGS[writing](run)), "runs",
                {name: name for name in ("run_id", "query_id", "doc_id", "score")}, "x",
            )  # fmt: skip
            rows = [tuple(row.values()) for b in found.batches() for row in b.to_pylist()]
            assert rows == [("bm25", q, d, s) for q, d, s in RUN], (size, writing)
