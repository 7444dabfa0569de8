"""Paths as file systems see them."""

from __future__ import annotations

import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from ndcg_spark.errors import InputError


def filesystem(location: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URL, and the path within it.

    Raises:
        InputError: E156, where no client for the file system is installed here.
    """
    local = re.sub(r"^file:(//)?(?=/)", "", location)
    if not re.match(r"[A-Za-z][\w+.-]+:", local):
        return pafs.LocalFileSystem(), os.path.abspath(local)
    try:
        system, path = pafs.FileSystem.from_uri(local)
    except (OSError, ValueError, ImportError) as problem:
        raise InputError(
            "E156", f"no client for the file system of {location!r} here: {problem}"
        ) from None
    return system, path


def data_files(system: pafs.FileSystem, found: pafs.FileInfo) -> list[pafs.FileInfo]:
    """The file that was found, or the files under the directory; hidden ones (_, .) left out."""
    if found.type != pafs.FileType.Directory:
        return [found]
    listed = system.get_file_info(pafs.FileSelector(found.path, recursive=True))
    return [f for f in listed if f.type == pafs.FileType.File and visible(f.path, found.path)]


def visible(path: str, root: str) -> bool:
    return not any(part.startswith(("_", ".")) for part in path[len(root) :].split("/"))


def table_in(location: str, table: str) -> str:
    """The table of an output directory; the location itself where there is none below it."""
    below = f"{location.rstrip('/')}/{table}"
    try:
        system, path = filesystem(below)
        return below if system.get_file_info(path).type == pafs.FileType.Directory else location
    except (InputError, OSError):  # a catalog table, or no client here: the engine will say
        return location


def parquet_rows(location: str) -> int | None:
    """Rows of a Parquet file or directory by the files' footers; None where that cannot be told."""
    try:
        system, path = filesystem(location)
        files = data_files(system, system.get_file_info(path))
        return int(sum(pq.read_metadata(f.path, filesystem=system).num_rows for f in files))
    except (InputError, OSError, pa.ArrowInvalid):  # a catalog table, or damage the engine reports
        return None


def redacted(location: str) -> str:
    """The location without a password in it, for manifests and messages."""
    return re.sub(r"://[^/@]*@", "://***@", location)


def overlapping(one: str, other: str) -> bool:
    """Whether two locations are the same, or one lies inside the other."""
    a, b = (_normal(location) for location in (one, other))
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _normal(location: str) -> str:
    local = re.sub(r"^file:(//)?(?=/)", "", location)
    if re.match(r"[A-Za-z][\w+.-]+:", local):
        return local.rstrip("/")
    return os.path.realpath(local)
