"""Faults while a job runs, and files that an engine would read wrongly: docs/faults.md has all rows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark as nd
from tests.evaluation.test_bad_input import write
from tests.tables.test_write import leftovers
from tests.test_submit import submit

RUN = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}
QRELS = {"query_id": ["q", "q"], "doc_id": ["b", "c"], "relevance": [1, 2]}


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "qrels.parquet", **QRELS)
    write(tmp_path / "run" / "a.parquet", **RUN)
    return tmp_path


@pytest.fixture
def evaluate(place, run_cli):
    """Evaluate what lies there: (exit code, what it said, the value of nDCG@10 or none)."""

    def run(*more, runs="run"):
        code, out, err = run_cli(
            "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / runs,
            "-m", "nDCG@10", "--format", "json", *more,
        )  # fmt: skip
        value = json.loads(out)["aggregate"][0]["mean"] if code == 0 else None
        return code, err, value

    return run


def damaged(path: Path, *, compression: str) -> None:
    """Many rows in one page, a byte of whose middle is another one."""
    n = 2000
    pq.write_table(
        pa.table({"query_id": ["q"] * n, "doc_id": [f"d{i}" for i in range(n)], "score": np.random.default_rng(1).random(n)}),
        path, compression=compression, use_dictionary=False, write_page_checksum=True,
    )  # fmt: skip
    start = pq.ParquetFile(path).metadata.row_group(0).column(2).data_page_offset
    content = bytearray(path.read_bytes())
    content[start + 8000] ^= 0x10
    path.write_bytes(content)


@pytest.mark.every_engine
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_flipped_bit_in_a_page(place, evaluate, compression):
    damaged(place / "run" / "a.parquet", compression=compression)
    code, err, _ = evaluate()
    assert (code, "E105" in err, "a.parquet" in err) == (3, True, True), err


@pytest.mark.every_engine
def test_a_cluster_that_ignores_corrupt_files(place, spark, evaluate):
    """The engine's own reader, in a session whose default is to drop what it cannot read."""
    (place / "run" / "b.parquet").write_bytes((place / "run" / "a.parquet").read_bytes()[:300])
    key = "spark.sql.files.ignoreCorruptFiles"
    spark.conf.set(key, "true")
    try:
        for more in ((), ("--reader", "engine")):
            code, err, _ = evaluate(*more)
            assert (code, "E105: " in err) == (3, True), err
            assert "b.parquet" in err or "runs:" in err  # not every engine tells the file
    finally:
        spark.conf.set(key, "false")


@pytest.mark.every_engine
def test_a_column_with_a_dot_in_its_name(place, evaluate):
    good = evaluate()[2]
    write(place / "dot.parquet", **{"query.id": RUN["query_id"], "doc_id": RUN["doc_id"], "score": RUN["score"]})  # fmt: skip
    for more in ((), ("--reader", "engine"), ("--plan", "window")):
        code, err, value = evaluate(
            "--columns", "runs.query_id=query.id", *more, runs="dot.parquet"
        )
        assert (code, value) == (0, good), err


@pytest.mark.every_engine
def test_runs_in_directories_named_by_numbers(place, run_cli):
    for name in ("001", "01", "1"):
        write(place / "runs" / f"run_id={name}" / "a.parquet", **RUN)
    code, out, err = run_cli(
        "evaluate", "--qrels", place / "qrels.parquet", "--runs", place / "runs", "-m", "AP",
        "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert [row["run_id"] for row in json.loads(out)["aggregate"]] == ["001", "01", "1"]


@pytest.mark.every_engine
def test_infinite_scores_and_signed_zeros(place, evaluate):
    """Infinity is a score; -0.0 equals 0.0, so that document ids decide (descending)."""
    good = evaluate()[2]
    write(place / "inf.parquet", **{**RUN, "score": [float("inf"), 0.0, float("-inf")]})
    assert evaluate(runs="inf.parquet")[2] == good
    values = set()
    for zeros in ([0.0, 0.0, -0.0], [-0.0, 0.0, 0.0], [0.0, -0.0, 0.0], [0.0, 0.0, 0.0]):
        write(place / "zero.parquet", **{**RUN, "score": zeros})
        values |= {evaluate(*more, runs="zero.parquet")[2] for more in ((), ("--plan", "window"))}
    log3 = np.log2(3)
    assert values == {(2 + 1 / log3) / (2 + 1 / log3)}  # c, b, a


@pytest.mark.every_engine
def test_collated_ids_are_compared_by_their_bytes(engine, spark):
    """A column of Spark 4 for which 'A' equals 'a'."""
    if not engine.name.startswith("spark") or engine.name.startswith("spark 3"):
        pytest.skip("only Spark 4 has collations")
    run = spark.createDataFrame([("r", "Q", "A", 2.0), ("r", "Q", "a", 1.0)], "run_id string, query_id string, doc_id string, score double")  # fmt: skip
    qrels = spark.createDataFrame([("Q", "a", 1), ("q", "A", 1)], "query_id string, doc_id string, relevance int")  # fmt: skip
    collate = ["query_id", "doc_id"]
    loose = [
        table.selectExpr(
            *(f"{c} collate UTF8_LCASE as {c}" if c in collate else c for c in table.columns)
        )
        for table in (run, qrels)
    ]
    for options in ({}, {"plan": "window"}):
        exact = nd.evaluate(run, qrels, ["nDCG@10"], **options).collect()
        found = nd.evaluate(*loose, ["nDCG@10"], **options).collect()
        assert sorted(found) == sorted(exact)


FLAKY = '''
import os, pathlib, time
from dataclasses import dataclass
from ndcg_spark import Measure

def misbehave():
    """A worker's first calls go wrong, as often as FAULT_TIMES says."""
    for number in range(int(os.environ["FAULT_TIMES"])):
        try:
            os.close(os.open(pathlib.Path(os.environ["FAULT_FOLDER"]) / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        kind = os.environ["FAULT"]
        if kind == "exit":
            os._exit(9)
        if kind == "hang":
            time.sleep(10_000)
        raise RuntimeError("a fault that passes")

@dataclass(frozen=True, kw_only=True)
class Flaky(Measure, names=("Flaky",)):
    """The number of documents."""

    def score(self, batch):
        from pyspark import TaskContext

        if TaskContext.get() is not None:
            misbehave()
        return batch.n_ret.astype(float)
'''


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "times", "conf"),
    [
        ("raise", 3, []),
        ("exit", 3, []),
        ("hang", 1, ["spark.sql.execution.pyspark.udf.idleTimeoutSeconds=4",
                     "spark.sql.execution.pyspark.udf.killOnIdleTimeout=true"]),
    ],
)  # fmt: skip
def test_a_task_that_fails_and_is_tried_again(place, monkeypatch, fault, times, conf):
    (place / "flaky.py").write_text(FLAKY)
    (place / "faults").mkdir()
    for name, value in (("", fault), ("_TIMES", str(times)), ("_FOLDER", str(place / "faults"))):
        monkeypatch.setenv(f"FAULT{name}", value)
    done = submit(
        place, "evaluate.py", "--qrels", place / "qrels.parquet", "--runs", place / "run",
        "-m", "flaky:Flaky", "-m", "nDCG@10", "--out", place / "out", "--quiet",
        conf=conf, master="local[2,4]", modules=[place / "flaky.py"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(list((place / "faults").iterdir())) == times  # each of them went wrong
    assert {row["measure"]: row["value"] for row in pq.read_table(place / "out" / "per_query").to_pylist()} == {
        "flaky:Flaky": 3.0, "nDCG@10": pytest.approx((1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3))),
    }  # fmt: skip
    assert leftovers(place / "out") == set()


@pytest.mark.cluster
@pytest.mark.long
def test_a_scratch_disk_that_is_full(place, monkeypatch):
    """The engine's scratch is a file system of 1 MB: one line, and the old tables stay."""
    scratch = place / "scratch"
    scratch.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", scratch], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    try:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(scratch))
        n = 400_000
        random = np.random.default_rng(1)
        pq.write_table(
            pa.table({
                "query_id": [f"q{i}" for i in random.integers(0, 5000, n)],
                "doc_id": [f"{x:x}" for x in random.integers(0, 2**62, n)],
                "score": random.random(n),
            }),
            place / "run" / "a.parquet",
        )  # fmt: skip
        (place / "out" / "per_query").mkdir(parents=True)
        (place / "out" / "per_query" / "old.parquet").touch()
        done = submit(
            place, "evaluate.py", "--qrels", place / "qrels.parquet", "--runs", place / "run",
            "-m", "nDCG@10", "--out", place / "out", "--quiet",
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 3, said[-3000:]
        (line,) = (line for line in said.splitlines() if line.startswith("ndcg-spark: error"))
        assert "E159" in line
        assert "No space left on device" in line
        assert os.listdir(place / "out" / "per_query") == ["old.parquet"]
    finally:
        subprocess.run(["umount", scratch], check=True)
