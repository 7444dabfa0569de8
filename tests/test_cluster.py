"""A standalone Spark cluster on loopback, two hosts of one core: jobs through it, parts of it killed.

`make cluster` runs all; `make test` leaves the `long` ones out.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark import sample
from tests.conftest import FAST_JVM, free_port, spark_environment, spark_home, stop
from tests.tables.test_write import leftovers
from tools.make_zip import make_zip

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = Path(sample.__file__).parent
MEASURES = "nDCG@10,AP,ERR(max_rel=3)@20,RBP,infAP"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": FAST_JVM,
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.2",
}


def daemon(folder: Path, name: str, *arguments: str, awaited: str, **more: str):
    """A master or worker in a process group of its own, once its log says that it is there."""
    log = folder / name
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [spark_home() / "bin" / "spark-class", *arguments],
            stdout=output,
            stderr=output,
            env={**spark_environment(), "SPARK_DAEMON_MEMORY": "256m", **more},
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


@dataclass
class Cluster:
    folder: Path
    url: str
    workers: dict[int, subprocess.Popen] = field(default_factory=dict)

    def fill(self) -> None:
        """Two workers, each a host of its own: Spark copies no task to the host that has it."""
        for number in (1, 2):
            if number in self.workers and self.workers[number].poll() is None:
                continue
            host = f"127.0.0.{number}"
            self.workers[number] = daemon(
                self.folder, f"worker{number}", "org.apache.spark.deploy.worker.Worker",
                "--host", host, "--webui-port", "0", "-c", "1", "-m", "1g",
                "-d", str(self.folder / f"work{number}"), self.url,
                awaited="Successfully registered", SPARK_LOCAL_IP=host,
                SPARK_LOCAL_DIRS=str(self.folder / f"local{number}"),
            )  # fmt: skip

    def executor(self) -> int | None:
        found = below(self.workers[1].pid, b"CoarseGrainedExecutorBackend")
        return found[0] if found else None

    def python_workers(self) -> list[int]:
        """The forks of the daemon of the first host's executor."""
        executor = self.executor()
        daemons = below(executor, b"pyspark") if executor else []
        return [pid for one in daemons for pid in below(one, b"pyspark")]


def below(parent: int, word: bytes) -> list[int]:
    """The children of a process whose command line has the word."""
    found = []
    for path in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            for child in path.read_text().split():
                if word in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def started(tmp_path_factory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    master = daemon(
        folder, "master", "org.apache.spark.deploy.master.Master",
        "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0", awaited="ALIVE",
    )  # fmt: skip
    found = Cluster(folder, f"spark://127.0.0.1:{port}")
    try:
        yield found
    finally:
        for process in [*found.workers.values(), master]:
            stop(process)


@pytest.fixture
def cluster(started) -> Cluster:
    started.fill()
    return started


def submit(folder: Path, cluster: Cluster, job: str, *arguments, **conf: str) -> subprocess.Popen:
    settings = {**SETTINGS, **conf}
    command = [
        spark_home() / "bin" / "spark-submit", "--master", cluster.url,
        "--driver-java-options", FAST_JVM, "--py-files", make_zip(folder / "dist"),
        *[word for key, value in settings.items() for word in ("--conf", f"{key}={value}")],
        ROOT / "jobs" / job, *arguments, "--quiet",
    ]  # fmt: skip
    environment = {**spark_environment(), "PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    with open(folder / "said", "wb") as said:
        return subprocess.Popen(
            [str(word) for word in command],
            stdout=said,
            stderr=said,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )


def finished(job: subprocess.Popen, folder: Path, *, within: float = 300) -> str:
    """What a job that ended well has said."""
    try:
        code = job.wait(timeout=within)
    finally:
        stop(job)
    said = (folder / "said").read_text()
    assert code == 0, said[-4000:]
    return said


def rows(path: Path) -> pa.Table:
    """A stored table in an order of its own: all columns but values."""
    table = pa.Table.from_pylist(pq.read_table(path).to_pylist())
    keys = [c for c in table.column_names if not pa.types.is_floating(table.schema.field(c).type)]
    return table.sort_by([(key, "ascending") for key in keys])


def same(here: Path, there: Path, *names: str) -> None:
    for name in names:
        assert rows(here / name).equals(rows(there / name)), name  # every bit


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """1.2 million rows in twelve files: a task for each, of a second or so."""
    folder = tmp_path_factory.mktemp("collection")
    (folder / "runs").mkdir()
    random = np.random.default_rng(20261203)
    queries = np.repeat([f"q{i:04d}" for i in range(2000)], 200)
    for number in range(12):
        part = queries[(number // 3) * 100_000 : (number // 3 + 1) * 100_000]
        documents = np.tile(np.arange(200), len(part) // 200)
        pq.write_table(
            pa.table(
                {
                    "run_id": [f"r{number % 3}"] * len(part),
                    "query_id": part,
                    "doc_id": [f"d{i}" for i in documents],
                    "score": random.normal(size=len(part)).round(2),
                }
            ),
            folder / "runs" / f"{number}.parquet",
        )
    judged = slice(None, None, 5)
    pq.write_table(
        pa.table(
            {
                "query_id": queries[judged],
                "doc_id": [f"d{i % 200}" for i in range(0, len(queries), 5)],
                "relevance": random.integers(0, 4, len(queries[judged])),
            }
        ),
        folder / "qrels.parquet",
    )
    return folder


@pytest.fixture(scope="module")
def expected(collection, tmp_path_factory) -> Path:
    """The same evaluation on the embedded engine, in a process of its own."""
    out = tmp_path_factory.mktemp("expected") / "out"
    done = subprocess.run(
        [
            Path(sys.executable).parent / "ndcg-spark",
            *evaluation(collection, out),
            "--engine",
            "sail",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return out


def evaluation(collection: Path, out: Path) -> list[str | Path]:
    return [
        "evaluate", "--qrels", collection / "qrels.parquet", "--runs", collection / "runs",
        "-m", MEASURES, "--out", out,
    ]  # fmt: skip


def kill_executor(cluster: Cluster) -> bool:
    executor = cluster.executor()
    if executor:
        os.kill(executor, signal.SIGKILL)
    return executor is not None


def kill_worker(cluster: Cluster) -> bool:
    """A host goes: the worker's daemon, its executor, and that one's Pythons."""
    for pid in [*cluster.python_workers(), cluster.executor() or 0]:
        if pid:
            os.kill(pid, signal.SIGKILL)
    os.killpg(cluster.workers[1].pid, signal.SIGKILL)
    cluster.workers[1].wait(timeout=60)
    return True


def kill_python(cluster: Cluster) -> bool:
    found = cluster.python_workers()
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return bool(found)


def lose_shuffle_files(cluster: Cluster) -> bool:
    """What the map tasks of one host have written is gone before all of it is fetched."""
    found = list((cluster.folder / "local1").rglob("shuffle_*.data"))
    for path in found:
        path.unlink(missing_ok=True)
    return bool(found)


def hang_python(cluster: Cluster) -> bool:
    found = cluster.python_workers()
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return bool(found)


FAULTS: dict[str, tuple[Callable[[Cluster], bool], str, dict[str, str]]] = {
    "executor": (kill_executor, "Lost executor", {}),
    "worker": (kill_worker, "Lost executor|[Ww]orker (lost|shutting down)", {}),
    "python": (kill_python, "Lost task.*|crashed", {}),
    "fetch": (lose_shuffle_files, "FetchFailed", {}),
    "speculation": (hang_python, "another attempt succeeded|[Ss]peculat", SPECULATION),
}


@pytest.mark.cluster
@pytest.mark.parametrize(
    "fault",
    [name if name == "executor" else pytest.param(name, marks=pytest.mark.long) for name in FAULTS],
)
def test_a_fault_in_the_middle_changes_nothing(fault, cluster, collection, expected, tmp_path):
    inject, trace, conf = FAULTS[fault]
    out = tmp_path / "out"
    command, *arguments = evaluation(collection, out)
    job = submit(tmp_path, cluster, f"{command}.py", *arguments, **conf)
    injected = False
    while not injected and job.poll() is None:
        # tasks write scores: a part of a table lies there
        if list(out.glob(".ndcg_spark/*/scratch-*/scores/_temporary/0/task*")) or (
            list(out.glob(".ndcg_spark/*/scratch-*/scores/_temporary/0/_temporary/*/part*"))
        ):
            injected = inject(cluster)
        time.sleep(0.05)
    said = finished(job, tmp_path)
    assert injected
    assert re.search(trace, said), said[-4000:]
    same(out, expected, "per_query", "aggregate")
    assert leftovers(out) == set()


@pytest.mark.cluster
@pytest.mark.long
def test_clicks_on_the_cluster(cluster, run_cli, tmp_path):
    arguments = [
        "--impressions", SAMPLE / "impressions.parquet", "--date", "2026-11-29", "--days", "2",
        "--segments", "country", "--baseline", "A",
    ]  # fmt: skip
    finished(
        submit(tmp_path, cluster, "clicks.py", *arguments, "--out", tmp_path / "there"), tmp_path
    )
    code, _, err = run_cli("clicks", *arguments, "--out", tmp_path / "here")
    assert code == 0, err
    same(tmp_path / "here", tmp_path / "there", "click_patterns", "daily_state", "daily")
    same(tmp_path / "here", tmp_path / "there", "arm_differences")


@pytest.mark.cluster
@pytest.mark.long
def test_compare_on_the_cluster(cluster, expected, run_cli, tmp_path):
    arguments = ["--scores", expected, "--test", "t,fisher,bootstrap", "--baseline", "r0"]
    finished(
        submit(tmp_path, cluster, "compare.py", *arguments, "--out", tmp_path / "there"), tmp_path
    )
    code, _, err = run_cli("compare", *arguments, "--out", tmp_path / "here")
    assert code == 0, err
    names = [p.name for p in (tmp_path / "here").iterdir() if p.name[0] != "."]
    same(tmp_path / "here", tmp_path / "there", *(n for n in names if n != "manifest"))
