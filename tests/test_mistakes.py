"""What a user can do wrong outside the data: one line that says what, exit 2 or 3, no traceback."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from ndcg_spark import cli
from ndcg_spark.engine.running import refused
from ndcg_spark.engine.text import markdown_table, text_table

DAY = "2026-11-29"


@pytest.fixture
def place(tmp_path):
    pq.write_table(
        pa.table({"query_id": ["a", "a"], "doc_id": ["d", "e"], "score": [2.0, 1.0]}),
        tmp_path / "run.parquet",
    )
    pq.write_table(
        pa.table({"query_id": ["a", "a"], "doc_id": ["d", "e"], "relevance": [1, 0]}),
        tmp_path / "qrels.parquet",
    )
    return tmp_path


@pytest.fixture
def refusal(capsys):
    """Run a command that needs no engine; its exit code and the one line that it says."""

    def run(*arguments):
        code = cli.main([str(a) for a in arguments])
        said = capsys.readouterr()
        assert said.out == ""
        assert re.fullmatch(r"ndcg-spark: [^\n]+\n", said.err), said.err
        return code, said.err

    return run


@pytest.mark.parametrize(
    "content",
    [
        b"measure = 'nDCG\xff'",
        b"measure = " + b"[" * 100_000,
        b"a = {b = " * 5000,
        b"\x00",
        "measure = 'nDCG'".encode("utf-16"),
        b"a." * 3000 + b"b = 1",
    ],
    ids=["not UTF-8", "deep lists", "deep tables", "zero", "UTF-16", "deep keys"],
)
def test_configurations_that_are_none(tmp_path, refusal, content):
    (tmp_path / "c.toml").write_bytes(content)
    code, said = refusal("evaluate", "--config", tmp_path / "c.toml")
    assert code == 2
    assert "c.toml" in said


@pytest.mark.parametrize("name", ["", "nowhere.toml", ".", "x\0y"])
def test_configurations_that_are_not_there(tmp_path, refusal, name):
    assert refusal("evaluate", "--config", f"{tmp_path}/{name}")[0] == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--date", "0001-01-01", "--days", "2"), "bad --date '0001-01-01'"),
        (("--date", "1970-01-02", "--days", "9"), "8 days before 1970-01-02"),
        (("--date", DAY, "--days", "9" * 30), "first day there is"),
        (("--date", "9999-12-31"), "bad --date"),
        (("--date", "20261129"), "bad --date"),
        (("--date", "2026-W48-7"), "bad --date"),
        (("--date", "2026-1-2"), "bad --date"),
        (("--date", "../../x"), "bad --date"),
    ],
)  # fmt: skip
def test_days_that_are_none(place, refusal, flags, words):
    code, said = refusal("clicks", "--impressions", place / "run.parquet", *flags)
    assert code == 2
    assert words in said


def test_more_measures_than_make_sense(place, refusal):
    names = ",".join(f"P@{k}" for k in range(1, 20_001))
    command = ("evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "run.parquet")
    code, said = refusal(*command, "-m", names)
    assert code == 2
    assert "20000 measures in one call; 1000 are the most" in said


EVALUATE = ("evaluate", "--quiet", "-m", "AP")


@pytest.mark.parametrize("key", ["measure", "Query_ID", "mean", "n_ret"])
def test_a_partition_that_hides_a_column(place, run_cli, key):
    code, _, err = run_cli(
        *EVALUATE, "--qrels", place / "qrels.parquet", "--runs", place / "run.parquet",
        "--out", place / "out", "--partition", f"{key}=x",
    )  # fmt: skip
    assert code == 3
    assert f"E151: the partition key {key!r} is a column" in err
    assert not list((place / "out").rglob("*.parquet"))


@pytest.mark.parametrize("role", ["weights", "ideals"])
def test_queries_of_another_type(place, run_cli, role):
    table = {"query_id": [1], "weight": [1.0]}
    if role == "ideals":
        table = {"query_id": [1], "measure": ["nDCG"], "idcg": [1.0], "n_rel": [1], "n_gain": [1]}
    pq.write_table(pa.table(table), place / "table.parquet")
    code, _, err = run_cli(
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "run.parquet",
        "-m", "nDCG", "--plan", "window" if role == "ideals" else "kernel",
        f"--{role}", place / "table.parquet",
    )  # fmt: skip
    assert code == 3
    assert f"E140: query_id is bigint in the {role} but string in the qrels" in err


def test_an_output_that_is_a_file(place, run_cli):
    inputs = ("--qrels", place / "qrels.parquet", "--runs", place / "run.parquet")
    (place / "file").touch()
    for out in (place / "file", place / "file" / "below"):
        code, _, err = run_cli(*EVALUATE, *inputs, "--out", out)
        assert code == 3
        assert "E153: cannot write to" in err
    (place / "out").mkdir()
    (place / "out" / "per_query").touch()
    code, _, err = run_cli(*EVALUATE, *inputs, "--out", place / "out")
    assert code == 3
    assert "E153" in err
    assert "is a file" in err


@pytest.mark.parametrize(
    "text",
    ["Job aborted\nCaused by: java.io.IOException: No space left on device\n\tat a.b(C.java:1)",
     "object store: Read-only file system (os error 30)", "write: Disk quota exceeded"],
)  # fmt: skip
def test_a_disk_that_takes_no_more(text):
    found = refused(RuntimeError(text))
    assert isinstance(found, nd.InputError)
    assert found.code == "E159"
    assert "at a.b" not in str(found)


def test_an_unexpected_error_is_one_line(monkeypatch, capsys):
    def broken(_):
        raise RuntimeError("password=hunter2\nCaused by: the\x1b[31m cause\nmore")

    monkeypatch.setitem(cli.COMMANDS, "measures", (broken, None, "broken"))
    assert cli.main(["measures"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "ndcg-spark: unexpected error: Caused by: the\\x1b[31m cause (--verbose shows where)\n"
    )
    assert cli.main(["measures", "--verbose"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "hunter2" not in said
    assert said.endswith("ndcg-spark: unexpected error: Caused by: the\\x1b[31m cause\n")


def test_ids_do_not_steer_terminals_or_markdown(tmp_path, run_cli):
    bad = "q\x1b[2J\n|<script>`*"
    columns = {"query_id": [bad], "doc_id": ["d"]}
    pq.write_table(pa.table({**columns, "score": [1.0]}), tmp_path / "r.parquet")
    judged = {"query_id": [bad, bad], "doc_id": ["d", "\x1be"], "relevance": [1, 2]}
    pq.write_table(pa.table(judged), tmp_path / "q.parquet")
    inputs = ("--qrels", tmp_path / "q.parquet", "--runs", tmp_path / "r.parquet")
    for command in (("evaluate", "--per-query"), ("evaluate", "--per-query", "--format", "trec"),
                    ("evaluate", "--per-query", "--format", "json"), ("explain",)):  # fmt: skip
        code, out, err = run_cli(*command, *inputs, "-m", "nDCG")
        assert code == 0, err
        assert "\x1b" not in out + err
        assert "q" in out
    table = markdown_table([["id", "x"], [bad, "1"]])
    assert len(table.split("\n")) == 3
    assert r"q\\x1b\[2J\\n\|\<script\>\`\*" in table
    assert len(text_table([["id", "x"], [bad, "1"]]).split("\n")) == 3
