"""Paths as file systems see them."""

from __future__ import annotations

import os
import re
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from ndcg_spark.errors import InputError
from ndcg_spark.tables.hdfs import open_hdfs

_URL = re.compile(r"([A-Za-z][\w+.-]+):(?://([^/?#]*))?(.*)", re.DOTALL)
# what pyarrow calls a file system that others know by other names
_CLIENTS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}


def located(location: str) -> str:
    """A location as both sides write it, the engine and our client.

    A path is absolute and has no scheme, whichever form of ``file:`` it was given in; a URL stays.

    Raises:
        InputError: E156 for files of another host.

    >>> located("file:///data/a"), located("file://localhost/data/a"), located("file:/data/a")
    ('/data/a', '/data/a', '/data/a')
    >>> located("s3a://bucket/a")
    's3a://bucket/a'
    """
    found = _URL.fullmatch(location)
    if not found:
        return os.path.abspath(location)
    scheme, host, path = found[1].lower(), found[2], found[3]
    if scheme != "file":
        return location
    if host not in (None, "", "localhost"):
        raise InputError("E156", f"{location!r} is of the host {host!r}; files are of this machine")
    return os.path.abspath(path)


def filesystem(location: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URL, and the path within it.

    Raises:
        InputError: E156, where no client for the file system is installed here.
    """
    place = located(location)
    found = _URL.fullmatch(place)
    if not found:
        return pafs.LocalFileSystem(), place
    scheme = _CLIENTS.get(found[1].lower(), found[1].lower())
    host, path = found[2] or "", found[3]
    settings = _s3_settings() if scheme == "s3" else ""
    try:
        system, start = pafs.FileSystem.from_uri(f"{scheme}://{host}/{settings}")
    except (OSError, ValueError, ImportError) as problem:
        system, start = _other_client(scheme, host, location, str(problem)), ""
    # the path as it is: a URL's escapes are not Hadoop's
    return system, f"{start.rstrip('/')}{path}".rstrip("/") or "/"


def _other_client(scheme: str, host: str, location: str, problem: str) -> pafs.FileSystem:
    """HDFS by hdfs-native, where that is installed.

    Raises:
        InputError: E156 where there is no client.
    """
    hadoop = scheme in ("hdfs", "viewfs")
    try:
        if hadoop:
            return open_hdfs(scheme, host)
        remedy = "there are: paths, file:, s3:, gs:, abfs:, hdfs:"
    except ImportError:
        remedy = (
            "give libhdfs its HADOOP_HOME and CLASSPATH=$(hadoop classpath --glob), or install "
            "'ndcg-spark[hdfs]', which needs neither"
        )
    except (OSError, ValueError) as refused:
        problem, remedy = str(refused), "is it the name node's, or a name service's?"
    what = problem.splitlines()[0] if problem else "it says nothing"
    raise InputError(
        "E156", f"no client for the file system of {location!r} here: {what}; {remedy}"
    )


def _s3_settings() -> str:
    """Region and endpoint out of AWS's own variables, which Arrow's client reads only in part."""
    given = {"region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        scheme, _, host = endpoint.rpartition("://")
        given |= {"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"}
        given["region"] = given["region"] or "us-east-1"
    return "?" + urlencode({key: value for key, value in given.items() if value})


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


def overlapping(one: str, other: str) -> bool:
    """Whether two locations are the same, or one lies inside the other."""
    a, b = (_normal(location) for location in (one, other))
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _normal(location: str) -> str:
    place = located(location)
    found = _URL.fullmatch(place)
    if not found:
        return os.path.realpath(place)
    scheme = _CLIENTS.get(found[1].lower(), found[1].lower())
    return f"{scheme}://{found[2] or ''}{found[3]}".rstrip("/")
