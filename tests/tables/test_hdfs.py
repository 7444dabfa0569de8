"""HDFS by hdfs-native: a stand-in with the package's interface and a name node's rules on a local
directory (no name node is at hand; the package itself is not tested here)."""

from __future__ import annotations

import os
import shutil
import sys
import types

import pytest
from fsspec import AbstractFileSystem

from ndcg_spark.errors import InputError
from ndcg_spark.tables import hdfs, locks
from ndcg_spark.tables.paths import filesystem
from tests.tables.test_write import killed_run, pinned_texts, publish


class NameNode(AbstractFileSystem):
    protocol = "hdfs"
    cachable = False
    root_marker = "/"
    root = ""

    def _here(self, path):
        return self.root + self._strip_protocol(path)

    def info(self, path, **_):
        status = os.stat(self._here(path))
        directory = os.path.isdir(self._here(path))
        return {
            "name": self._strip_protocol(path), "size": 0 if directory else status.st_size,
            "type": "directory" if directory else "file",
            "modification_time": int(status.st_mtime * 1000),
        }  # fmt: skip

    def ls(self, path, detail=True, **_):
        names = [
            f"{self._strip_protocol(path).rstrip('/')}/{n}" for n in os.listdir(self._here(path))
        ]
        return [self.info(name) for name in names] if detail else names

    def mkdir(self, path, create_parents=True, **_):
        os.makedirs(self._here(path), exist_ok=True)

    def mv(self, source, to, overwrite=False, **_):
        if os.path.exists(self._here(to)) and not overwrite:
            raise FileExistsError(to)
        os.replace(self._here(source), self._here(to))

    def rm(self, path, recursive=False, **_):
        here = self._here(path)
        if not os.path.isdir(here):
            os.unlink(here)
        elif recursive:
            shutil.rmtree(here)
        else:
            raise IsADirectoryError(path)

    def _open(self, path, mode="rb", **_):
        return open(self._here(path), mode)


@pytest.fixture(params=["hdfs-native", "libhdfs"])
def name_node(tmp_path, monkeypatch, request):
    """Its location, where libhdfs is missing and hdfs-native installed; or with libhdfs' rename."""
    if request.param == "libhdfs":
        monkeypatch.setattr(hdfs._Handler, "move", lambda self, *names: self.fs.mv(*names))
        monkeypatch.setattr(hdfs._Handler, "get_type_name", lambda _: "hdfs")
    module = types.ModuleType("hdfs_native")
    module.fsspec = types.SimpleNamespace(HdfsFileSystem=NameNode, ViewfsFileSystem=NameNode)
    monkeypatch.setitem(sys.modules, "hdfs_native", module)
    monkeypatch.setattr(NameNode, "root", str(tmp_path))
    monkeypatch.setattr(locks, "SETTLE_SECONDS", 0.0)
    for name in ("HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.delenv(name, raising=False)
    return "hdfs://namenode:8020"


def test_a_kill_before_or_after_any_request(name_node, monkeypatch):
    steps = 0
    while True:
        out = f"{name_node}/{steps}"
        publish(out, "old")
        killed = killed_run(out, steps, monkeypatch)
        assert pinned_texts(out) in ({"old"}, {"new"})
        publish(out, "again")
        assert pinned_texts(out) == {"again"}
        if not killed:
            break
        steps += 1
    assert steps > 9


def test_a_second_writer_and_the_age_of_a_lock(name_node):
    system, path = filesystem(f"{name_node}/out/.ndcg_spark/whole/lock")
    publish(f"{name_node}/out", "first")
    with system.open_output_stream(path) as stream:  # of another host, just now
        stream.write(b'{"owner": "other", "space": "elsewhere", "pid": 1}')
    with pytest.raises(InputError, match="E154: another run is writing"):
        publish(f"{name_node}/out", "second")
    os.utime(NameNode.root + path, (0, 0))
    publish(f"{name_node}/out", "second")
    assert pinned_texts(f"{name_node}/out") == {"second"}


def test_without_any_client(monkeypatch):
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(InputError, match=r"E156.*hadoop classpath.*ndcg-spark.hdfs."):
        filesystem("hdfs://namenode:8020/out")
