"""The few things that the write protocol asks of a file system."""

from __future__ import annotations

import json
import os
from typing import Any

from pyarrow import fs as pafs

from ndcg_spark.errors import InputError
from ndcg_spark.tables.hdfs import OVERWRITING


class Store:
    """A directory and all below it, by names relative to it.

    overwrites: a rename replaces a file in one step
    objects: names are keys of an object store: a file appears whole when it is closed, and nothing
        can be renamed
    """

    def __init__(self, system: pafs.FileSystem, root: str) -> None:
        self.fs, self.root = system, root.rstrip("/") or "/"
        self.local = isinstance(system, pafs.LocalFileSystem)
        kind = getattr(system, "type_name", "")
        self.objects = kind in ("s3", "gcs", "abfs")
        self.overwrites = self.local or kind == OVERWRITING

    def path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str) -> bool:
        return bool(self.fs.get_file_info(self.path(name)).type != pafs.FileType.NotFound)

    def kind(self, name: str) -> pafs.FileType:
        return self.fs.get_file_info(self.path(name)).type

    def children(self, name: str) -> list[str]:
        """Names of what lies directly in a directory; none where it does not exist."""
        if self.local:  # with links that lead nowhere
            place = self.path(name)
            return sorted(os.listdir(place)) if os.path.isdir(place) else []
        chosen = pafs.FileSelector(self.path(name), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(chosen))

    def files(self, name: str) -> list[str]:
        """Names, below a directory, of the files in it at any depth."""
        chosen = pafs.FileSelector(self.path(name), recursive=True, allow_not_found=True)
        start = len(self.path(name)) + 1
        found = self.fs.get_file_info(chosen)
        return sorted(info.path[start:] for info in found if info.type == pafs.FileType.File)

    def make(self, name: str) -> None:
        self.fs.create_dir(self.path(name), recursive=True)

    def age(self, name: str, now: float) -> float:
        """Seconds since the file was written."""
        written = self.fs.get_file_info(self.path(name)).mtime_ns
        return now - (written or 0) / 1e9

    def read(self, name: str) -> bytes | None:
        """The bytes of a small file; None where there is none."""
        try:
            with self.fs.open_input_stream(self.path(name)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes, by: str) -> None:
        """Write a small file so that a reader sees the old or the new one, whole.

        by: makes the name of the temporary file unlike those of other writers
        """
        aside = name if self.objects else f"{name}.{by}"
        with self.fs.open_output_stream(self.path(aside)) as stream:
            stream.write(content)
        if not self.objects:
            self.replace(aside, name)

    def replace(self, name: str, to: str) -> None:
        """Rename a file over another."""
        if not self.overwrites and self.exists(to):  # libhdfs does not rename over a file
            self.fs.delete_file(self.path(to))
        self.fs.move(self.path(name), self.path(to))

    def put(self, name: str, to: str) -> None:
        """Bring a file to another place, where nothing or the same file may be already."""
        if self.objects:
            self.fs.copy_file(self.path(name), self.path(to))
        elif self.exists(name):
            self.replace(name, to)

    def remove(self, name: str) -> None:
        """Remove a file, a link or a directory with all that is in it; nothing is fine too."""
        if self.local and os.path.islink(self.path(name)):
            os.unlink(self.path(name))
            return
        try:
            kind = self.kind(name)
            if kind == pafs.FileType.Directory:
                self.fs.delete_dir(self.path(name))
            elif kind == pafs.FileType.File:
                self.fs.delete_file(self.path(name))
        except FileNotFoundError:  # another run has just cleaned up
            return


def in_partition(table: str, partition: str) -> str:
    """The name of a table's partition; of the table where it is whole.

    >>> in_partition("per_query", "date=2026-11-29"), in_partition("per_query", "")
    ('per_query/date=2026-11-29', 'per_query')
    """
    return f"{table}/{partition}" if partition else table


def decoded(content: bytes, what: str) -> Any:
    """The JSON that a file of ours holds.

    Raises:
        InputError: E157 where it is damaged.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InputError("E157", f"{what} is damaged: {problem}") from None
