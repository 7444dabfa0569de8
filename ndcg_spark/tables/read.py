"""Reading Parquet paths and catalog tables, and turning engine errors into clear ones."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyarrow import fs as pafs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.errors import InputError, NdcgSparkError, UsageError
from ndcg_spark.tables.contracts import ANY_RUNS, Contract, conform
from ndcg_spark.tables.listing import GLOB, refuse_empty, refuse_glob
from ndcg_spark.tables.paths import data_files, filesystem, located

TABLE = "table:"
# a cluster's defaults must not hide lost files
STRICT = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
WIDER = {
    "tinyint": T.LongType(),
    "smallint": T.LongType(),
    "int": T.LongType(),
    "float": T.DoubleType(),
}
UNREADABLE = re.compile(
    r"not a Parquet file|FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|Could not read footer"
    r"|Parquet column cannot be converted"
    r"|Parquet error|Corrupt footer|magic number|PARQUET_COLUMN_DATA_TYPE_MISMATCH"
    r"|EOFException|could not read page|checksum",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Access:
    """How sources are read: reader (arrow, engine, auto), glob patterns, a filter on partitions."""

    reader: str = "auto"
    glob: bool = False
    where: str | None = None


def read_qrels(
    spark: SparkSession, source: str, *, glob: bool = False, local: bool = True
) -> DataFrame:
    """The judgements of a Parquet path or ``table:NAME``, as they are stored.

    Raises:
        InputError: E101 to E104 and E150, naming the path.
    """
    return read_table(spark, "qrels", source, glob=glob, local=local)


def read_run(
    spark: SparkSession,
    sources: str | Sequence[str],
    *,
    columns: Mapping[str, str] | None = None,
    contract: Contract = ANY_RUNS,
    glob: bool = False,
    local: bool = True,
) -> DataFrame:
    """The runs of one or more sources as one table; one without run_id takes its file's name.

    columns: maps a contract's column to the sources' own name, ``{"query_id": "qid"}``

    Raises:
        InputError: E101 to E104, E110 to E116, E150, naming the source.
    """
    names = [sources] if isinstance(sources, str) else list(sources)
    mapping = dict(columns or {})
    own = mapping.get("run_id", "run_id")
    tables, unnamed = [], []
    for source in names:
        added = None
        table = read_table(spark, "runs", source, glob=glob, local=local)
        columns_here = [column.casefold() for column in table.columns]
        if "run_id" not in mapping and own.casefold() not in columns_here:
            unnamed.append(run_name(source))
            table, added = table.withColumn(own, F.lit(unnamed[-1])), own
        tables.append(conform(table, contract, mapping, added))
    twice = sorted({name for name in unnamed if unnamed.count(name) > 1})
    if twice:
        raise InputError(
            "E116", f"two sources without a run_id are both named {twice[0]!r}; rename one"
        )
    return functools.reduce(lambda a, b: a.unionByName(b), tables)


def readable_files(source: str, reader: str, remote: bool) -> bool:
    """Whether the tasks read the files themselves: so they do where a path's file system can be
    opened, unless `reader` is engine; remote: the engine is elsewhere, with files of its own.

    Raises:
        UsageError: where reader is arrow and cannot be.
        InputError: E156 where there is no client for the file system.
    """
    if source.startswith(TABLE):
        if reader == "arrow":
            raise UsageError(f"--reader arrow reads files, and {source} is a table of the catalog")
        return False
    if reader == "engine" or (remote and reader == "auto"):
        return False
    try:
        filesystem(source)
    except InputError:
        if reader == "arrow":
            raise
        return False
    return True


def run_name(source: str) -> str:
    """The name of a run that has none: its file, directory or table name."""
    last = source.removeprefix(TABLE).rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"(\.parquet|\.zstd|\.snappy)+$", "", last)


def translate(problem: Exception, role: str = "input") -> Exception:
    """A clear InputError for an engine's error about unreadable input, else the error itself."""
    text = str(problem)
    if isinstance(problem, NdcgSparkError) or not UNREADABLE.search(text):
        return problem
    names = re.findall(r"[^\s'\"\[\]()]+\.parquet", text)
    file = f" {names[0]}" if names else ""
    reason = next((line for line in text.splitlines() if UNREADABLE.search(line)), text)
    return InputError(
        "E105", f"{role}: the Parquet file{file} cannot be read: {reason.strip()[:300]}"
    )


def read_table(
    spark: SparkSession,
    role: str,
    source: str,
    *,
    glob: bool = False,
    local: bool = True,
) -> DataFrame:
    """A Parquet path or ``table:NAME`` as it is stored; `role` names it in errors.

    Raises:
        InputError: E101 to E105, E115, E150, naming role and path.
    """
    if source.startswith(TABLE):
        return _attempt(role, source, lambda: spark.table(source.removeprefix(TABLE)))
    refuse_glob(role, source, glob)
    if local and not GLOB.search(source):
        _look(role, source)

    def read() -> DataFrame:
        reader, place = spark.read.options(**STRICT), located(source)
        found = reader.parquet(place)
        if spark.version.startswith("3."):  # its reader does not widen
            return found
        wide = T.StructType([_widened(field) for field in found.schema.fields])
        return found if wide == found.schema else reader.schema(wide).parquet(place)

    return _attempt(role, source, read)


def _widened(field: T.StructField) -> T.StructField:
    """Files of one table may hold int in one and bigint in another: read both as the wider."""
    return T.StructField(
        field.name, WIDER.get(field.dataType.simpleString(), field.dataType), field.nullable
    )


def _look(role: str, source: str) -> None:
    """Refuse a missing path, an empty directory and zero-byte files (engines skip those)."""
    try:
        system, path = filesystem(source)
    except InputError:
        return  # no client for this file system here: the engine will say
    info = system.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise InputError("E101", f"{role}: the path {source!r} does not exist")
    files = data_files(system, info)
    refuse_empty(role, source, [(file.base_name, file.size or 0) for file in files])


def _attempt(role: str, source: str, read: Callable[[], DataFrame]) -> DataFrame:
    try:
        table = read()
        table.schema  # noqa: B018 - Spark Connect only looks when the schema is asked for
        return table
    except Exception as problem:
        text = str(problem)
        if "PATH_NOT_FOUND" in text or "TABLE_OR_VIEW_NOT_FOUND" in text:
            raise InputError("E101", f"{role}: {source!r} does not exist") from None
        if "UNABLE_TO_INFER_SCHEMA" in text:
            raise InputError("E102", f"{role}: there is no Parquet file under {source!r}") from None
        if "COLUMN_ALREADY_EXISTS" in text:
            raise InputError(
                "E115", f"{role}: {source!r} has two columns whose names differ only in case"
            ) from None
        translated = translate(problem, role)
        if translated is problem:
            raise
        raise translated from None
