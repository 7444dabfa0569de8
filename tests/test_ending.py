"""How the program ends: signals, servers that are not there, modules that many threads want."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ndcg_spark
from tests.conftest import awaited, free_port, stop

PACKAGE = Path(ndcg_spark.__file__).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Runs that take the embedded engine some seconds."""
    place = tmp_path_factory.mktemp("ending")
    queries, depth = 8_000, 500
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(queries), depth)
    doc = np.tile(np.arange(depth), queries)
    score = rng.random(queries * depth)
    pq.write_table(
        pa.table({"query_id": query, "doc_id": doc, "score": score}), place / "run.parquet"
    )
    pq.write_table(
        pa.table({"query_id": query, "doc_id": doc, "relevance": (score > 0.5).astype(int)}),
        place / "qrels.parquet",
    )
    return place


def begun(place, tmp_path, *more):
    """A job that has begun to write, and its temporary directory."""
    (tmp_path / "tmp").mkdir()
    measures = ",".join(f"nDCG@{k}" for k in range(1, 60))
    running = subprocess.Popen(
        [sys.executable, "-m", "ndcg_spark", "evaluate", "--qrels", place / "qrels.parquet",
         "--runs", place / "run.parquet", "-m", measures, "--out", tmp_path / "out", *more],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lock = tmp_path / "out" / ".ndcg_spark" / "whole" / "lock"
    while not lock.exists() and running.poll() is None:
        time.sleep(0.01)
    assert running.poll() is None, running.communicate()
    return running


@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", [0.0, 1.5])
def test_a_signal_ends_the_embedded_engine(place, tmp_path, number, wait):
    running = begun(place, tmp_path, "--engine", "sail")
    time.sleep(wait)
    start = time.monotonic()
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert time.monotonic() - start < 5
    assert (running.returncode, out) == (128 + number, "")
    said = err.removeprefix("ndcg-spark: engine sail (embedded)\n")  # if it came so far
    assert said == "ndcg-spark: interrupted; nothing was published\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    left = [p for p in (tmp_path / "out").rglob("*") if p.name not in (".ndcg_spark", "whole")]
    assert left == []


@pytest.mark.cluster
def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    """`nohup` and `&` in a script: an interrupt from the terminal is for others."""
    done = subprocess.run(
        [sys.executable, "-c", "import os, signal\n"
         "from ndcg_spark.ending import as_program\n"
         "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
         "with as_program(print): os.kill(os.getpid(), signal.SIGINT); print('went on')"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr


@pytest.mark.cluster
def test_a_server_that_is_not_there(place):
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ndcg_spark", "evaluate", "--qrels", place / "qrels.parquet",
         "--runs", place / "run.parquet", "--remote", f"sc://127.0.0.1:{free_port()}/;token=hunter2"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert time.monotonic() - start < 10
    assert done.returncode == 3
    assert done.stderr.startswith(
        "ndcg-spark: error: E144: no Spark Connect server answers at 127."
    )
    assert "hunter2" not in done.stderr


IMPORTS = """
import importlib, random, sys, threading
seed, *modules = sys.argv[1:]
random.seed(int(seed))
random.shuffle(modules)
start, problems = threading.Barrier(16), []
def load(name):
    start.wait()
    try:
        importlib.import_module(name)
    except BaseException as problem:
        problems.append(f"{name}: {problem!r}")
threads = [threading.Thread(target=load, args=(name,)) for name in modules[:16]]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("\\n".join(problems) or 0)
"""


@pytest.mark.parametrize("seed", range(4))
def test_sixteen_threads_that_import_at_once(seed):
    """As the workers of an engine do, each for the function that it was sent."""
    files = (p.relative_to(PACKAGE.parent).with_suffix("") for p in PACKAGE.rglob("*.py"))
    modules = [".".join(p.parts).removesuffix(".__init__") for p in files]
    wanted = [m for m in modules if m.endswith("_kernel") or ".measures" in m or ".arrays" in m]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(seed), *sorted(wanted)], capture_output=True, text=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.cluster
def test_a_fresh_standalone_sail_server(place, tmp_path):
    """Its first job is ours: the server's threads import the package all at once."""
    port = free_port()
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            [Path(sys.executable).parent / "sail", "spark", "server", "--ip", "127.0.0.1",
             "--port", str(port)],
            stdout=log, stderr=log, start_new_session=True, cwd=PACKAGE.parent,
            env={**os.environ, "SAIL_EXECUTION__COLLECT_STATISTICS": "false"},
        )  # fmt: skip
    try:
        awaited(server, port, tmp_path / "log")
        done = subprocess.run(
            [sys.executable, "-c", "import sys, ndcg_spark as nd\n"
             "from pyspark.sql import SparkSession\n"
             "SparkSession.builder.remote(sys.argv[1]).getOrCreate()\n"
             "print(nd.evaluate(sys.argv[2], sys.argv[3], 'nDCG').count())",
             f"sc://127.0.0.1:{port}", place / "run.parquet", place / "qrels.parquet"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "8000\n"), done.stderr[-2000:]
    finally:
        stop(server)
