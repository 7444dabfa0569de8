"""A log's files in the engine's tasks: the columns, and the fields of results, that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from ndcg_spark.arrays.ragged import with_entries
from ndcg_spark.clicks.log_kernel import NESTED, Log, impressions
from ndcg_spark.errors import InputError
from ndcg_spark.tables import casts_kernel as casts
from ndcg_spark.tables.files_kernel import MOMENT, Column, Conform, find_name, in_file, schema_of
from ndcg_spark.tables.listing import DataFile

ROWS = 200_000  # impressions read at a time
# a file that has one of these, where the first file has none, would be read wrongly
TOLD = ("query_id", "user_id", "arm", "is_bot")


@dataclass(frozen=True)
class LogReading:
    """What a task needs to know of a log in files."""

    source: str
    log: Log
    role: str = "impressions"
    rows: int = ROWS
    as_text: ClassVar[Mapping[str, str]] = {}  # a log is no text

    def asked(self, file: DataFile, parquet: Any) -> tuple[list[str], Conform]:
        """The columns to read; raises E110, E112 and E115 for what the file has instead."""
        schema, log = schema_of(parquet), self.log
        self._refuse_more(file, schema)
        nested = [name for name in log.read if log.kind == "results" and name in log.items]
        wanted = [name for name in log.read if name not in nested]
        if "impression_id" not in log.wanted and _complete(parquet, log.shape.own("user_id")):
            wanted = [name for name in wanted if name != "impression_id"]  # it stands in for none
        own = {
            name: find_name(self, file, schema, Column(name, log.shape.own(name), "text"))
            for name in (*wanted, *[NESTED] * bool(nested))
        }
        paths = [name for place, name in own.items() if name is not None and place != NESTED]
        fields: dict[str, str] = {}
        whole = own.get(NESTED)
        if whole is not None:
            fields = self._fields(file, schema.field(whole).type, nested)
            paths += _leaves(parquet, whole, set(fields.values()))

        def conform(batch: pa.RecordBatch | None, rows: int) -> pa.RecordBatch:
            found = {
                name: pa.repeat(
                    pa.scalar(dict(file.values)[log.shape.own(name)], pa.string()), rows
                )
                for name, column in own.items()
                if column is None
            }
            if batch is not None:
                columns = ((name, column) for name, column in own.items() if column is not None)
                found |= {n: moments(batch, c, schema) for n, c in columns if n != NESTED}
                if whole is not None:
                    found |= side_by_side(batch.column(whole), fields)
            return impressions(pa.record_batch(found), log, self._where(file))

        return list(dict.fromkeys(paths)), conform

    def _where(self, file: DataFile) -> Callable[[str], str]:
        return lambda name: in_file(self, file, self.log.shape.own(name))

    def _refuse_more(self, file: DataFile, schema: pa.Schema) -> None:
        there = {name.casefold() for name in schema.names}
        for name in TOLD:
            if name not in self.log.has and self.log.shape.own(name).casefold() in there:
                raise InputError(
                    "E110",
                    f"{in_file(self, file)} has the column {self.log.shape.own(name)!r}, which the "
                    "first file of the log lacks; write them alike",
                )

    def _fields(self, file: DataFile, kind: pa.DataType, wanted: list[str]) -> dict[str, str]:
        """Our name -> the name of the field of a result."""
        inner = result_fields(kind)
        if inner is None:
            raise InputError(
                "E112",
                f"{in_file(self, file, self.log.shape.own(NESTED))} is {casts.type_name(kind)}, "
                "not a list of structs",
            )
        found = {name: inner.get(self.log.shape.own(name).casefold()) for name in wanted}
        lacking = [self.log.shape.own(name) for name, own in found.items() if own is None]
        if lacking:
            raise InputError(
                "E110",
                f"{in_file(self, file, self.log.shape.own(NESTED))} lacks the field(s) "
                f"{', '.join(lacking)}; it has: {', '.join(inner.values())}",
            )
        return {name: own for name, own in found.items() if own is not None}


def moments(batch: pa.RecordBatch, name: str, schema: pa.Schema) -> pa.Array:
    """The column; one that the file stores as moments comes without a zone."""
    column = batch.column(name)
    moment = schema.field(name).type == MOMENT and pa.types.is_timestamp(column.type)
    return column.cast(MOMENT, safe=False) if moment else column


def _complete(parquet: Any, name: str) -> bool:
    """Whether the file says of a column that no value is missing."""
    data = parquet.metadata
    paths = [data.schema.column(place).path for place in range(data.num_columns)]
    if name not in paths:
        return False
    place = paths.index(name)
    groups = (data.row_group(number).column(place) for number in range(data.num_row_groups))
    return all(
        group.is_stats_set and group.statistics.has_null_count and not group.statistics.null_count
        for group in groups
    )


def result_fields(kind: pa.DataType) -> dict[str, str] | None:
    """Folded name -> name of the fields of a list of structs; None for what is no such list."""
    if not casts.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return None
    inner = kind.value_type
    names = [inner.field(place).name for place in range(inner.num_fields)]
    return {name.casefold(): name for name in names}


def _leaves(parquet: Any, whole: str, fields: set[str]) -> list[str]:
    """The paths of a nested column's leaves that belong to some of its fields."""
    paths = [parquet.schema.column(place).path for place in range(len(parquet.schema.names))]
    own = [path for path in paths if path.startswith(f"{whole}.")]
    found = [path for path in own if fields & set(path[len(whole) + 1 :].split("."))]
    return found if {name for f in found for name in f.split(".")} >= fields else own


def side_by_side(column: pa.Array, fields: dict[str, str]) -> dict[str, pa.Array]:
    """The fields of a list of structs as lists."""
    flat = column.flatten()
    own = dict(zip([f.name for f in flat.type], flat.flatten(), strict=True))
    return {name: with_entries(column, own[field]) for name, field in fields.items()}


@dataclass(frozen=True)
class FromFiles:
    """What a kernel makes of a task's impressions."""

    kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None

    def __call__(self, _: LogReading, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows if self.kernel is None else self.kernel(rows)
