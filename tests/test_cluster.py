"""A standalone Spark cluster on loopback: the job through it, with an executor killed on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ndcg_spark import sample
from tests.conftest import FAST_JVM, free_port, spark_environment, spark_home, stop
from tests.tables.test_write import leftovers
from tools.make_zip import make_zip

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = Path(sample.__file__).parent


def daemon(folder: Path, name: str, *arguments: str, awaited: str) -> subprocess.Popen:
    """A master or worker in a process group of its own, once its log says that it is there."""
    log = folder / name
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [spark_home() / "bin" / "spark-class", *arguments],
            stdout=output,
            stderr=output,
            env={**spark_environment(), "SPARK_DAEMON_MEMORY": "256m"},
            cwd=folder,
            start_new_session=True,
        )
    deadline = time.monotonic() + 120
    while not re.search(awaited, log.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            stop(process)
            raise RuntimeError(f"{name} did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)
    return process


@pytest.fixture
def cluster(tmp_path):
    """(URL, the worker): one worker with two cores, everything on 127.0.0.1."""
    port = free_port()
    master = daemon(
        tmp_path, "master", "org.apache.spark.deploy.master.Master",
        "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0", awaited="ALIVE",
    )  # fmt: skip
    try:
        worker = daemon(
            tmp_path, "worker", "org.apache.spark.deploy.worker.Worker",
            "--host", "127.0.0.1", "--webui-port", "0", "-c", "2", "-m", "1g",
            "-d", str(tmp_path / "work"), f"spark://127.0.0.1:{port}",
            awaited="Successfully registered",
        )  # fmt: skip
        try:
            yield f"spark://127.0.0.1:{port}", worker
        finally:
            stop(worker)
    finally:
        stop(master)


def executors(worker: subprocess.Popen) -> list[int]:
    """The executors among the worker's processes, by their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            group = os.getpgid(int(entry.name)) if entry.name.isdigit() else None
            if (
                group == worker.pid
                and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def submit(tmp_path: Path, url: str, out: Path) -> subprocess.Popen:
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "6",
        "spark.executor.extraJavaOptions": FAST_JVM,
    }
    command = [
        spark_home() / "bin" / "spark-submit", "--master", url, "--driver-java-options", FAST_JVM,
        "--py-files", make_zip(tmp_path / "dist"),
        *[word for key, value in settings.items() for word in ("--conf", f"{key}={value}")],
        ROOT / "jobs" / "evaluate.py", "--qrels", SAMPLE / "qrels.parquet",
        "--runs", SAMPLE / "runs.parquet", "-m", "nDCG@10,AP", "--out", out, "--format", "json",
        "--quiet",
    ]  # fmt: skip
    environment = {**spark_environment(), "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
        start_new_session=True,
    )


@pytest.mark.cluster
def test_an_executor_that_dies_changes_nothing(cluster, tmp_path, run_cli):
    url, worker = cluster
    job = submit(tmp_path, url, tmp_path / "out")
    killed = threading.Event()

    def kill_one() -> None:
        while not killed.is_set() and job.poll() is None:
            # the job that writes the scores has begun
            if list((tmp_path / "out").glob(".ndcg_spark/*/scratch-*/scores/_temporary")):
                for pid in executors(worker):
                    os.kill(pid, signal.SIGKILL)
                    killed.set()
            time.sleep(0.1)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    try:
        out, err = job.communicate(timeout=300)
    finally:
        stop(job)
    thread.join()
    assert killed.is_set()
    assert job.returncode == 0, err[-3000:]
    here = run_cli(
        "evaluate", "--qrels", SAMPLE / "qrels.parquet", "--runs", SAMPLE / "runs.parquet",
        "-m", "nDCG@10,AP", "--format", "json",
    )  # fmt: skip
    assert json.loads(out)["aggregate"] == json.loads(here[1])["aggregate"]  # every bit
    assert leftovers(tmp_path / "out") == set()
