"""The jobs through a real spark-submit, from the zip that users ship."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ndcg_spark import sample
from tests.conftest import FAST_JVM, spark_environment, spark_home
from tools.make_zip import make_zip

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = Path(sample.__file__).parent


def submit(folder, *arguments, conf=(), master="local[2]", modules=()):
    """spark-submit a job from the zip, with nothing of the repository on the path."""
    packed = make_zip(folder / "dist")
    with zipfile.ZipFile(packed) as archive:
        job = archive.extract(f"jobs/{arguments[0]}", folder)
    settings = [
        "spark.driver.host=127.0.0.1",
        "spark.ui.enabled=false",
        "spark.sql.shuffle.partitions=2",
        *conf,
    ]
    command = [spark_home() / "bin" / "spark-submit", "--master", master]
    command += ["--driver-java-options", FAST_JVM]
    command += ["--py-files", ",".join(map(str, [packed, *modules]))]
    command += [word for setting in settings for word in ("--conf", setting)]
    return subprocess.run(
        [*map(str, command), job, *map(str, arguments[1:])],
        env={**spark_environment(), "PYTHONPATH": "", "PYTHONSAFEPATH": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def content(path):
    rows = pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda r: (r["run_id"], r.get("query_id", ""), r["measure"]))


@pytest.mark.cluster
def test_evaluate_twice_through_spark_submit(tmp_path):
    arguments = [
        "evaluate.py", "--config", ROOT / "conf" / "evaluate.toml", "--format", "json",
        "--qrels", SAMPLE / "qrels.parquet", "--runs", SAMPLE / "runs.parquet",
        "--out", tmp_path / "out", "--quiet",
    ]  # fmt: skip
    done = submit(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["engine"].startswith("spark ")
    assert found["measures"] == ["nDCG@10", "AP", "RR", "P@5", "P@10", "R@100"]
    first = content(tmp_path / "out" / "per_query"), content(tmp_path / "out" / "aggregate")
    assert len(first[0]) == 3 * 300 * 6
    assert submit(tmp_path, *arguments).returncode == 0
    again = content(tmp_path / "out" / "per_query"), content(tmp_path / "out" / "aggregate")
    assert again == first


@pytest.mark.cluster
def test_explain_through_spark_submit(tmp_path):
    done = submit(
        tmp_path, "explain.py", "--qrels", SAMPLE / "qrels.parquet", "--runs",
        SAMPLE / "runs.parquet", "-m", "nDCG@10", "--baseline", "bm25", "--queries", "q069",
        "--format", "json", "--quiet",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)["lists"]
    assert [(row["query_id"], row["run_id"]) for row in found] == [
        ("q069", "dense"),
        ("q069", "rerank"),
    ]
    assert found[0]["documents"][1]["baseline_rank"] == 3


@pytest.mark.cluster
def test_a_refusal_through_spark_submit(tmp_path):
    done = submit(
        tmp_path, "evaluate.py", "--qrels", SAMPLE / "qrels.parquet", "--runs", tmp_path / "none",
        "-m", "AP",
    )  # fmt: skip
    assert done.returncode == 3
    said = done.stdout + done.stderr  # Spark sends a driver's stderr to stdout
    assert "E101: runs: the path" in said
    assert "Traceback" not in said


@pytest.mark.cluster
def test_import_trec_through_spark_submit(tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 d 1\n")
    done = submit(tmp_path, "import_trec.py", "--qrels", "qrels.txt", "--out", tmp_path / "o")
    assert done.returncode == 0, done.stderr[-3000:]
    assert pq.read_table(tmp_path / "o" / "qrels").num_rows == 1
