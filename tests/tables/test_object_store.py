"""Output in an object store: an S3 server on loopback, written by the engine and by our client."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from pyarrow import fs as pafs

from ndcg_spark.errors import InputError
from ndcg_spark.tables import locks
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.write import Output
from tests.conftest import awaited, free_port, stop
from tests.tables.test_write import TABLES, killed_run, pinned_texts, publish


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An S3 server on loopback; its endpoint."""
    port = free_port()
    with open(tmp_path_factory.mktemp("s3") / "log", "wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    awaited(running, port, log.name)
    yield f"http://127.0.0.1:{port}"
    stop(running)


@pytest.fixture
def bucket(server, monkeypatch, request):
    """A new bucket, as a location; the settings for it are in the environment."""
    settings = {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server, "AWS_ALLOW_HTTP": "true",
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(locks, "SETTLE_SECONDS", 0.0)
    host = server.removeprefix("http://")
    client = pafs.S3FileSystem(
        access_key="key", secret_key="hunter2", endpoint_override=host, scheme="http",
        region="us-east-1", allow_bucket_creation=True,
    )  # fmt: skip
    name = f"b{abs(hash(request.node.nodeid)):x}"
    client.create_dir(name)
    return f"s3://{name}"


def keys(location):
    system, path = filesystem(location)
    listed = system.get_file_info(pafs.FileSelector(path, recursive=True))
    return {f.path[len(path) + 1 :] for f in listed if f.type == pafs.FileType.File}


def test_a_kill_before_or_after_any_request(bucket, monkeypatch):
    steps = 0
    while True:
        out = f"{bucket}/{steps}"
        publish(out, "old")
        killed = killed_run(out, steps, monkeypatch)
        assert pinned_texts(out) in ({"old"}, {"new"})
        publish(out, "again")
        assert pinned_texts(out) == {"again"}
        left_over = {k for k in keys(out) if not k.startswith(tuple(f"{t}/" for t in TABLES))}
        assert left_over == {".ndcg_spark/whole/current.json"}
        assert len(keys(out)) == 5  # three files, the manifest under its plain name, current.json
        if not killed:
            break
        steps += 3  # (the same protocol is stopped before every step in test_write)
    assert steps > 9


def test_a_second_writer(bucket):
    with Output(bucket).writing(), pytest.raises(InputError, match="E154: another run is writing"):
        publish(bucket, "second")


def ndcg_spark(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "ndcg_spark", *arguments], capture_output=True, text=True,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )  # fmt: skip


@pytest.mark.cluster
def test_the_embedded_engine_writes_and_reads(bucket, tmp_path):
    """`demo` twice and once killed: the tables of a local run, once."""
    here = ndcg_spark("demo", "--engine", "sail", "--out", str(tmp_path / "o"), "--quiet")
    assert here.returncode == 0, here.stderr
    command = ("demo", "--engine", "sail", "--out", f"{bucket}/tables", "--quiet")
    for _ in range(2):
        done = ndcg_spark(*command)
        assert done.returncode == 0, done.stderr
    running = subprocess.Popen([sys.executable, "-m", "ndcg_spark", *command])
    while ".ndcg_spark/whole/lock" not in keys(f"{bucket}/tables"):
        time.sleep(0.02)
    running.kill()
    running.wait()
    done = ndcg_spark(*command)
    assert done.returncode == 0, done.stderr
    system, path = filesystem(f"{bucket}/tables/per_query")
    columns = ["run_id", "query_id", "measure", "value"]
    local = pq.read_table(tmp_path / "o" / "per_query", columns=columns)
    there = pq.read_table(path, filesystem=system, columns=columns)
    assert there.sort_by([(c, "ascending") for c in columns]) == local.sort_by(
        [(c, "ascending") for c in columns]
    )
    assert all(k.startswith((*TABLES, ".ndcg_spark/whole/current.json")) for k in keys(
        f"{bucket}/tables"))  # fmt: skip
    compared = ndcg_spark(
        "compare",
        "--engine",
        "sail",
        "--scores",
        f"{bucket}/tables/per_query",
        "--baseline",
        "bm25",
    )
    assert compared.returncode == 0, compared.stderr
