"""Tables of Python users: DataFrames, paths, Arrow streams, and other packages' objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from ndcg_spark.ending import temporary
from ndcg_spark.engine.foreign import foreign
from ndcg_spark.engine.sessions import (
    active_session,
    cores_of,
    is_remote,
    sees_local_files,
    session,
)
from ndcg_spark.errors import UsageError
from ndcg_spark.tables.contracts import Contract, conform
from ndcg_spark.tables.files import contract_files, rows_of_files
from ndcg_spark.tables.listing import Listing, listed
from ndcg_spark.tables.read import Access, read_table, readable_files

FILTERED = ("runs", "impressions")  # what --where filters, or is refused for
IN_MESSAGE = 2**20  # bytes that are sent to the engine; more goes through a file where it sees ours


class ArrowStream(Protocol):
    """What pandas, Polars, pyarrow and DuckDB have in common (the Arrow PyCapsule interface)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Table = (
    DataFrame
    | str
    | os.PathLike[str]
    | ArrowStream
    | Mapping[Any, Mapping[Any, Any]]
    | Iterable[Any]
)


def session_of(*tables: Table | None) -> SparkSession:
    """The session of the first DataFrame among these; else the active one, else a new one."""
    for table in tables:
        if _is_dataframe(table):
            own: SparkSession = table.sparkSession  # type: ignore[union-attr]
            return own
    return active_session() or session()


def table_of(role: str, table: Table, spark: SparkSession) -> DataFrame:
    """The table as a DataFrame of this session; `role` names it in errors.

    Raises:
        UsageError: for what is no table.
        InputError: for a path that cannot be read.
    """
    if _is_dataframe(table):
        found: Any = table
        return found  # type: ignore[no-any-return]
    if isinstance(table, (str, os.PathLike)):
        return read_table(spark, role, os.fspath(table), local=sees_local_files(spark))
    if isinstance(table, pa.RecordBatchReader) or hasattr(table, "__arrow_c_stream__"):
        return from_arrow(pa.RecordBatchReader.from_stream(table).read_all(), spark)
    own = foreign(role, table)
    if own is not None:
        return from_arrow(own, spark)
    raise UsageError(
        f"{role}: {type(table).__name__} is no table; give a DataFrame of Spark, a path, or "
        "something with an Arrow stream (a DataFrame of pandas or Polars, a table of pyarrow, a "
        "relation of DuckDB)"
    )


def file_source(spark: SparkSession, table: Table, access: Access) -> str | None:
    """The path of files that the tasks can read; None for a table, and where they cannot."""
    if not isinstance(table, (str, os.PathLike)):
        return None
    source = os.fspath(table)
    return source if readable_files(source, access.reader, is_remote(spark)) else None


def engine_table(spark: SparkSession, role: str, table: Table, access: Access) -> DataFrame:
    """The same as `table_of`, with glob patterns where they were asked for.

    Raises:
        UsageError: for a filter on partitions, which only files read by the tasks have.
    """
    if access.where and role in FILTERED:
        raise UsageError(
            f"--where filters files that are read with --reader arrow; the {role} are read by the "
            "engine, so filter the table itself"
        )
    if isinstance(table, (str, os.PathLike)):
        local = not is_remote(spark)  # a cluster's files are looked at from here too
        return read_table(spark, role, os.fspath(table), glob=access.glob, local=local)
    return table_of(role, table, spark)


def files_or_table(
    spark: SparkSession, role: str, table: Table, access: Access
) -> Listing | DataFrame:
    """The files of a path, which the tasks read; else the engine's table.

    Raises:
        InputError: E101 to E105, E117 to E119, E150, E156, naming role and source.
    """
    if (source := file_source(spark, table, access)) is None:
        return engine_table(spark, role, table, access)
    return filtered(role, source, access)


def filtered(role: str, source: str, access: Access) -> Listing:
    """The files of a path that --where keeps; judgements need not be partitioned as the runs are.

    Raises:
        InputError: E101, E102, E104, E117 to E119, E150, E156, naming role and source.
    """
    listing = listed(role, source, access.glob)
    return listing.where(role, access.where) if role in FILTERED or listing.keys else listing


def contract_rows(
    spark: SparkSession,
    contract: Contract,
    table: Table,
    columns: Mapping[str, str] | None = None,
    access: Access | None = None,
) -> DataFrame:
    """The rows of a table as a contract asks, read by the tasks where they can.

    Raises:
        InputError: as `files_or_table`; E110, E112 and E115 for its columns.
    """
    source = files_or_table(spark, contract.role, table, access or Access())
    if isinstance(source, Listing):
        return rows_of_files(spark, [contract_files(source, contract, columns)], cores_of(spark))
    return conform(source, contract, columns)


def _is_dataframe(table: object) -> bool:
    # Spark 3.5's Connect DataFrame does not derive from the classic one
    return isinstance(table, DataFrame) or type(table).__module__.startswith("pyspark.sql.")


def from_arrow(table: pa.Table, spark: SparkSession) -> DataFrame:
    """An Arrow table as a DataFrame of this session."""
    plain = table.cast(pa.schema([_plain(field) for field in table.schema]))
    if sees_local_files(spark) and (plain.nbytes > IN_MESSAGE or spark.version.startswith("3.")):
        place = temporary("ndcg_spark_table_")
        pq.write_table(plain, f"{place}/table.parquet", row_group_size=2**18)
        return spark.read.parquet(place)
    if spark.version.startswith("3."):  # createDataFrame knows no Arrow there
        rows = list(zip(*(column.to_pylist() for column in plain.columns), strict=True))
        return spark.createDataFrame(rows, from_arrow_schema(plain.schema))
    return spark.createDataFrame(plain)


def _plain(field: pa.Field) -> pa.Field:
    """The field in a type that every engine has: no views, dictionaries or unsigned numbers."""
    return field.with_type(_plain_type(field.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    is_type = pa.types
    if is_type.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if is_type.is_large_string(kind) or is_type.is_string_view(kind):
        return pa.string()
    if is_type.is_unsigned_integer(kind):
        return pa.int64()
    if is_type.is_float16(kind):
        return pa.float32()
    if is_type.is_list(kind) or is_type.is_large_list(kind) or is_type.is_list_view(kind):
        return pa.list_(_plain_type(kind.value_type))
    if is_type.is_struct(kind):
        return pa.struct([_plain(kind.field(place)) for place in range(kind.num_fields)])
    return kind
