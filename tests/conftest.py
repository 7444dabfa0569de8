"""One session per engine: `pytest --engine sail|spark|connect` (sail needs no JVM)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ndcg_spark import cli
from ndcg_spark.engine import sessions
from ndcg_spark.engine.sessions import Engine, open_engine

FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # tests are short: compile little
TREC_SAMPLE = Path(__file__).resolve().parents[2] / "shared" / "trec_sample"


def pytest_addoption(parser):
    parser.addoption("--engine", default="sail", choices=["sail", "spark", "connect"])
    parser.addoption("--spark-conf", action="append", default=[], help="a setting, KEY=VALUE")


NEED_SPARK = {"engine", "spark", "run_cli"}


def pytest_collection_modifyitems(items):
    """Tests that need an engine are marked `spark`: `make quick` leaves them out."""
    for item in items:
        if NEED_SPARK & set(getattr(item, "fixturenames", ())) or item.get_closest_marker(
            "cluster"
        ):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def engine(request, tmp_path_factory):
    """The engine under test, with two shuffle partitions."""
    name = request.config.getoption("--engine")
    server = None
    given = (item.partition("=") for item in request.config.getoption("--spark-conf"))
    few = {"spark.sql.shuffle.partitions": "2", **{key: value for key, _, value in given}}
    if name == "sail":
        found = open_engine("sail", conf=few)
    elif name == "spark":
        warehouse = str(tmp_path_factory.mktemp("warehouse"))
        found = open_engine(
            "spark",
            master="local[2]",
            conf={
                **few,
                "spark.driver.extraJavaOptions": FAST_JVM,
                "spark.sql.warehouse.dir": warehouse,
            },
        )
    else:
        server, url = connect_server(tmp_path_factory.mktemp("connect"))
        found = open_engine("spark", remote=url, conf=few)
        found = Engine(found.spark, found.name, found.embedded, local_files=True)
    yield found
    found.stop()
    if server:
        stop(server)


@pytest.fixture(scope="session")
def spark(engine):
    return engine.spark


@pytest.fixture
def run_cli(engine, monkeypatch, capsys):
    """Run a command in this process on the shared session: (exit code, stdout, stderr)."""
    shared = Engine(engine.spark, engine.name, engine.embedded, engine.local_files)
    monkeypatch.setattr(Engine, "stop", lambda self: None)
    monkeypatch.setattr(sessions, "open_engine", lambda *_: shared)

    def run(*arguments):
        capsys.readouterr()
        code = cli.main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run
    monkeypatch.undo()


@pytest.fixture(scope="session")
def trec_sample():
    """trec_eval's own sample, where it is at hand (it may not be redistributed)."""
    if not TREC_SAMPLE.is_dir():
        pytest.skip("the TREC sample is not on this machine")
    return TREC_SAMPLE


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def spark_environment() -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if "REMOTE" not in k and "CONNECT" not in k}
    return {
        **plain,
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect_server(folder: Path) -> tuple[subprocess.Popen, str]:
    """A Spark Connect server on loopback, in a process group of its own."""
    port = free_port()
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [
                spark_home() / "bin" / "spark-submit",
                "--class",
                "org.apache.spark.sql.connect.service.SparkConnectServer",
                "--master",
                "local[2]",
                "--driver-java-options",
                FAST_JVM,
                "--conf",
                f"spark.connect.grpc.binding.port={port}",
                "--conf",
                "spark.connect.grpc.binding.address=127.0.0.1",
                "--conf",
                "spark.driver.host=127.0.0.1",
                "--conf",
                "spark.ui.enabled=false",
                "spark-internal",
            ],
            stdout=log,
            stderr=log,
            env=spark_environment(),
            cwd=folder,
            start_new_session=True,
        )
    awaited(server, port, folder / "log")
    return server, f"sc://127.0.0.1:{port}"


def awaited(server: subprocess.Popen, port: int, log: Path) -> None:
    """Wait until a server that was started listens on loopback."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    stop(server)
    raise RuntimeError(f"the server did not start:\n{Path(log).read_text()}")


def stop(server: subprocess.Popen) -> None:
    """End the process group that a test started."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
