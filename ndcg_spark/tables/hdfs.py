"""HDFS where Arrow's own client lacks libhdfs: the package hdfs-native (the extra `hdfs`)."""

from __future__ import annotations

from typing import Any

from pyarrow import fs as pafs

OVERWRITING = "py::hdfs-native"  # the type of a file system that renames over files


class _Handler(pafs.FSSpecHandler):  # type: ignore[misc]
    """What fsspec's adapter lacks: the time of a file, which a lock's age is told by."""

    @staticmethod
    def _create_file_info(path: str, info: dict[str, Any]) -> pafs.FileInfo:
        known = {"file": pafs.FileType.File, "directory": pafs.FileType.Directory}
        kind = known.get(info["type"], pafs.FileType.Unknown)
        size = info["size"] if kind == pafs.FileType.File else None
        return pafs.FileInfo(path, kind, size=size, mtime=info["modification_time"] / 1000)

    def get_type_name(self) -> str:
        return OVERWRITING.removeprefix("py::")

    def move(self, source: str, to: str) -> None:
        self.fs.mv(source, to, overwrite=True)  # one step of the name node


def open_hdfs(scheme: str, host: str) -> pafs.FileSystem:
    """The file system of a name node, or of the name service that Hadoop's configuration knows.

    Raises:
        ImportError: where hdfs-native is not installed.
        OSError: where the name node cannot be reached, when the file system is first used.
    """
    from hdfs_native import fsspec

    kind = fsspec.ViewfsFileSystem if scheme == "viewfs" else fsspec.HdfsFileSystem
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    return pafs.PyFileSystem(_Handler(kind(name or None, int(port) if port else None)))
