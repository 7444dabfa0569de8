"""A source of files on the driver: its columns by the first file, and the tasks that read it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.errors import InputError, nearest
from ndcg_spark.tables import casts_kernel as casts
from ndcg_spark.tables.contracts import KIND_NAMES, Contract, Field, swapped
from ndcg_spark.tables.files_kernel import (
    Column,
    Kind,
    Reading,
    Reads,
    Split,
    arrow_type,
    find_name,
    opened,
    read_split,
    schema_of,
)
from ndcg_spark.tables.listing import DataFile, Listing
from ndcg_spark.tables.text_kernel import TextTable

TASK_BYTES, LEAST = 128 * 2**20, 4 * 2**20  # compressed bytes that a task reads
# a batch that goes into an engine's sorts: the embedded one cannot spill what came in one piece
ROWS_TO_ENGINE = 2**16
R = TypeVar("R", bound=Reads)
Task = tuple[int, tuple[Split, ...]]  # the place of its reading, and what it reads


@dataclass(frozen=True)
class Files:
    """Files with the columns of a contract; kinds: of every column that they have."""

    listing: Listing
    reading: Reading
    names: tuple[str, ...]  # of the first file's columns
    empty: bool = False  # no file has a row

    def has(self, own: str) -> bool:
        """Whether the files, or their paths, have a column of this name."""
        return own in self.listing.keys or own.casefold() in {n.casefold() for n in self.names}

    @property
    def kinds(self) -> dict[str, Kind]:
        return {column.name: column.kind for column in self.reading.columns}


def contract_files(
    listing: Listing,
    contract: Contract,
    columns: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
) -> Files:
    """The files read as a contract asks; `columns` maps its columns to the files' own names.

    given: values of columns that the files need not have (a run's name)

    Raises:
        InputError: E110 for missing columns, E112 for wrong types, E115 for two of one name, all of
            the first file that has rows.
    """
    mapping = dict(columns or {})
    own = {field.name: mapping.pop(field.name, field.name) for field in contract.fields}
    role = contract.role
    if mapping:
        stray = sorted(mapping)[0]
        raise InputError(
            "E110",
            f"{role} has no column {stray!r} to map{nearest(stray, own)}; it has: {', '.join(own)}",
        )
    every = tuple(Column(name, name_there, "text") for name, name_there in own.items())
    reading = Reading(listing.source, role, every)
    file, schema, rows = first_schema(reading, listing)
    there = [*schema.names, *listing.keys]
    found: list[Column] = []
    missing: list[str] = []
    for field in contract.fields:
        asked = Column(field.name, own[field.name], "text", True, (given or {}).get(field.name))
        kind = _kind(reading, file, schema, asked, field, rows)
        if kind is not None:
            optional = not field.required and own[field.name] == field.name
            found.append(dataclasses.replace(asked, kind=kind, optional=optional))
        elif field.required or own[field.name] != field.name:
            missing.append(own[field.name])
    if missing:
        raise InputError(
            "E110",
            f"{role}: missing column(s) {', '.join(missing)}; the table has: "
            f"{', '.join(there) or 'no columns'}. {swapped(role, missing, there)}Map them with "
            f"--columns {role}.{missing[0]}=NAME (columns= in Python)",
        )
    reading = dataclasses.replace(reading, columns=tuple(found))
    return Files(listing, reading, tuple(schema.names), not rows)


def first_schema(reading: Reads, listing: Listing) -> tuple[DataFile, pa.Schema, int]:
    """The first file that has rows, its columns and rows; the first one where none has."""
    first = None
    for file in listing.files:
        with opened(reading, file) as table:
            rows = table.has_rows if isinstance(table, TextTable) else table.metadata.num_rows
            found = file, schema_of(table), int(rows)
        first = first or found
        if rows:
            return found
    assert first is not None  # a listing has files
    return first


def _kind(
    reading: Reading, file: DataFile, schema: pa.Schema, column: Column, field: Field, rows: int
) -> Kind | None:
    """What the column must be in all files, by the first one; None where it is not there."""
    if column.own in dict(file.values):
        return "text id" if field.kind == "id" else "text"
    name = find_name(reading, file, schema, column)
    if name is None:
        return "text" if column.given is not None else None
    kind = schema.field(name).type
    fits = {
        "id": casts.is_text(kind) or casts.is_whole(kind),
        "text": casts.is_text(kind) or casts.is_whole(kind),
        "number": casts.is_number(kind) or (pa.types.is_boolean(kind) and field.name != "score"),
        "integer": casts.is_whole(kind),
    }
    nothing = casts.is_nothing(kind) and not rows  # as pandas writes an empty part
    if not (fits[field.kind] or nothing):
        raise InputError(
            "E112",
            f"{reading.role}: {name} is {casts.type_name(kind)}, not {KIND_NAMES[field.kind]} "
            f"(file {file.name!r})",
        )
    if field.kind == "id":
        return "whole id" if casts.is_whole(kind) else "text id"
    return "score" if field.name == "score" else field.kind


def tasks_of(listings: Sequence[Listing], cores: int) -> list[Task]:
    """What every task reads: parts of about TASK_BYTES, fewer bytes where there are few in all."""
    total = sum(listing.size for listing in listings)
    wanted = max(min(TASK_BYTES, total // (2 * cores) + 1), LEAST)
    found: list[Task] = []
    for place, listing in enumerate(listings):
        held: list[Split] = []
        size = 0
        for split in _splits(listing, wanted):
            held.append(split)
            size += split.end - split.start
            if size >= wanted:
                found.append((place, tuple(held)))
                held, size = [], 0
        if held:
            found.append((place, tuple(held)))
    return found


def _splits(listing: Listing, wanted: int) -> Iterator[Split]:
    for file in listing.files:
        parts = max(round(file.size / wanted), 1)
        ends = [file.size * part // parts for part in range(parts + 1)]
        for start, end in itertools.pairwise(ends):
            yield Split(file, start, end)


def in_tasks(
    spark: SparkSession,
    tasks: Sequence[Task],
    readings: Sequence[R],
    kernel: Callable[[R, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """What the kernel makes of each task's rows, lazily: read in the engine's tasks."""
    run = _Task(tuple(tasks), tuple(readings), kernel)
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, schema)


@dataclass(frozen=True)
class _Task(Generic[R]):
    tasks: tuple[Task, ...]
    readings: tuple[R, ...]
    kernel: Callable[[R, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                place, splits = self.tasks[number]
                reading = self.readings[place]
                yield from self.kernel(reading, _rows(reading, splits))


def _rows(reading: Reads, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
    for split in splits:
        yield from read_split(reading, split)


SPARK_TYPES: dict[str, str] = {
    "text id": "string", "whole id": "bigint", "text": "string", "number": "double",
    "integer": "bigint", "score": "double",
}  # fmt: skip


def rows_of_files(spark: SparkSession, sources: Sequence[Files], cores: int) -> DataFrame:
    """The rows of all sources, which have the same columns; scores as doubles."""
    kinds = {name: kind for source in sources for name, kind in source.kinds.items()}
    schema = ", ".join(f"`{name}` {SPARK_TYPES[kind]}" for name, kind in kinds.items())
    readings = [dataclasses.replace(source.reading, rows=ROWS_TO_ENGINE) for source in sources]
    listings = [source.listing for source in sources]
    return in_tasks(
        spark, tasks_of(listings, cores), readings, _Plain(tuple(kinds.items())), schema
    )


@dataclass(frozen=True)
class _Plain:
    kinds: tuple[tuple[str, Kind], ...]

    def __call__(self, _: Reading, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            columns = {}
            for name, kind in self.kinds:
                here = name in batch.schema.names
                values = casts.plain(batch.column(name)) if here else _nothing(kind, batch)
                columns[name] = casts.number(values, name) if kind == "score" else values
            yield pa.record_batch(columns)


def _nothing(kind: Kind, batch: pa.RecordBatch) -> Any:
    return pa.nulls(batch.num_rows, arrow_type(kind))
