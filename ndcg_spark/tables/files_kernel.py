"""Reading data files in the engine's tasks: the columns that are asked for, in their own types."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.errors import InputError
from ndcg_spark.tables import casts_kernel as casts
from ndcg_spark.tables.listing import DataFile
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.text_kernel import COLUMNS, TextTable, is_text

ROWS = 1_000_000  # read at a time
CODED = ("query_id", "run_id")  # columns of few values: a dictionary of them is kept
Kind = Literal["text id", "whole id", "text", "number", "integer", "score"]
WANTED = {
    "text id": "a string", "whole id": "an integer", "text": "a string or an integer",
    "number": "a number", "integer": "an integer", "score": "a number",
}  # fmt: skip


MOMENT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Column:
    """A column that is wanted: its name, what it is called in the files, and what it must be.

    optional: a file may lack it
    given: its value where no file has it (a run's name)
    """

    name: str
    own: str
    kind: Kind
    optional: bool = False
    given: str | None = None


@dataclass(frozen=True)
class Split:
    """Bytes of a file: the row groups whose middle lies in them are read."""

    file: DataFile
    start: int
    end: int


Conform = Callable[[pa.RecordBatch | None, int], pa.RecordBatch]


class Reads(Protocol):
    """What a task needs to know of a source: where it lies, its role, and what to read of it."""

    @property
    def source(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def rows(self) -> int:
        """How many are read at a time."""

    @property
    def as_text(self) -> Mapping[str, str]:
        """Our name -> the source's name of its columns, where it may be a text; none else."""

    def asked(self, file: DataFile, parquet: Any) -> tuple[list[str], Conform]:
        """The columns to read of a file, and what makes of them the rows that are wanted; it is
        given None and a number of rows where no column is read."""


def in_file(reads: Reads, file: DataFile, column: str = "") -> str:
    """A file, and a column of it, for an error."""
    named = f", column {column!r}" if column else ""
    return f"{reads.role}: the file {file.name!r}{named}"


@dataclass(frozen=True)
class Reading:
    """The columns of a contract."""

    source: str
    role: str
    columns: tuple[Column, ...]
    rows: int = ROWS

    @property
    def as_text(self) -> Mapping[str, str]:
        return {c.name: c.own for c in self.columns} if self.role in COLUMNS else {}

    def asked(self, file: DataFile, parquet: Any) -> tuple[list[str], Conform]:
        schema = parquet.schema_arrow
        own = {column.name: find(self, file, schema, column) for column in self.columns}
        names = list(dict.fromkeys(name for name in own.values() if name is not None))

        def conform(batch: pa.RecordBatch | None, rows: int) -> pa.RecordBatch:
            return conformed(self, file, own, batch, rows)

        return names, conform


def schema_of(file: Any) -> pa.Schema:
    """The file's columns; what is stored as INT96, as Spark stores its timestamps, is a moment in
    UTC, though the type does not say so."""
    schema = file.schema_arrow
    places = () if isinstance(file, TextTable) else range(len(file.schema.names))
    for stored in (file.schema.column(place) for place in places):
        if stored.physical_type == "INT96" and (own := schema.get_field_index(stored.path)) >= 0:
            schema = schema.set(own, pa.field(stored.path, MOMENT))
    return schema


def read_split(reading: Reads, split: Split) -> Iterator[pa.RecordBatch]:
    """The rows of a split, as the columns wanted.

    Raises:
        InputError: E105 for a file that cannot be read; E110, E112, E115 for its columns.
    """
    with opened(reading, split.file) as found:
        if isinstance(found, TextTable):
            if split.start == 0:  # a text has no parts that could be read alone
                names, conform = reading.asked(split.file, found)
                for batch in found.batches():
                    yield conform(batch.select(names), batch.num_rows)
        elif groups := _groups(found, split):
            yield from _batches(reading, split.file, found, groups)


@contextlib.contextmanager
def opened(reading: Reads, file: DataFile) -> Iterator[Any]:
    """The Parquet file, or the text of a run or of judgements.

    Raises:
        InputError: E105 for a file that cannot be read.
    """
    system, _ = filesystem(reading.source)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(system.open_input_file(file.path))
            head = stream.read(512)
            stream.seek(0)
            names = reading.as_text
            if names and is_text(file.name, head, file.alone):
                found = TextTable(stream, reading.role, names, in_file(reading, file))
            else:
                found = pq.ParquetFile(stream, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as problem:
            raise unreadable(reading, file, problem) from None
        yield found


def unreadable(reading: Reads, file: DataFile, problem: Exception) -> InputError:
    reason = " ".join(str(problem).split())[:300]
    return InputError("E105", f"{in_file(reading, file)} cannot be read as Parquet: {reason}")


def _groups(file: Any, split: Split) -> list[int]:
    """The row groups whose middle lies in the split."""
    found = []
    for place in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(place)
        begin = min(
            min(o for o in (c.dictionary_page_offset, c.data_page_offset) if o)
            for c in map(group.column, range(group.num_columns))
        )
        size = sum(group.column(i).total_compressed_size for i in range(group.num_columns))
        if split.start <= begin + size // 2 < split.end and group.num_rows:
            found.append(place)
    return found


def _batches(
    reading: Reads, file: DataFile, parquet: Any, groups: list[int]
) -> Iterator[pa.RecordBatch]:
    names, conform = reading.asked(file, parquet)
    if not names:
        yield conform(None, sum(parquet.metadata.row_group(group).num_rows for group in groups))
        return
    batches = parquet.iter_batches(reading.rows, row_groups=groups, columns=names)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as problem:
            raise unreadable(reading, file, problem) from None
        if batch is None:
            return
        yield conform(batch, batch.num_rows)


def find(reading: Reads, file: DataFile, schema: pa.Schema, column: Column) -> str | None:
    """What the file calls a column (`find_name`), whose type fits.

    Raises:
        InputError: E110 where there is none, E115 where there are two, E112 for its type.
    """
    name = find_name(reading, file, schema, column)
    if name is not None:
        refuse_type(reading, file, column, schema.field(name).type)
    return name


def find_name(reading: Reads, file: DataFile, schema: pa.Schema, column: Column) -> str | None:
    """The column of exactly this name, else the one that differs in case only.

    None where its value comes from the path, or is given, or the file lacks an optional one.

    Raises:
        InputError: E110 where there is none, E115 where there are two.
    """
    if column.own in dict(file.values):
        return None
    exact = [name for name in schema.names if name == column.own]
    found = exact or [n for n in schema.names if n.casefold() == column.own.casefold()]
    if len(found) > 1:
        what = "of one name" if exact else "whose names differ only in case"
        raise InputError(
            "E115",
            f"{in_file(reading, file)} has two columns {what}: {', '.join(found)}; rename one",
        )
    if not found:
        if column.optional or column.given is not None:
            return None
        raise InputError(
            "E110",
            f"{in_file(reading, file)} lacks the column {column.own!r}, which other files of this "
            f"source have; it has: {', '.join(schema.names) or 'none'}",
        )
    return str(found[0])


def refuse_type(reading: Reads, file: DataFile, column: Column, kind: pa.DataType) -> None:
    fits = {
        "text id": casts.is_text(kind),
        "whole id": casts.is_whole(kind),
        "text": casts.is_text(kind) or casts.is_whole(kind),
        "number": casts.is_number(kind) or pa.types.is_boolean(kind),
        "integer": casts.is_whole(kind),
        "score": casts.is_number(kind),
    }
    if fits[column.kind] or casts.is_nothing(kind):
        return
    raise InputError(
        "E112",
        f"{in_file(reading, file, column.own)} is {casts.type_name(kind)}, not "
        f"{WANTED[column.kind]} as wanted; cast it, knowingly",
    )


def conformed(
    reading: Reading,
    file: DataFile,
    own: dict[str, str | None],
    batch: pa.RecordBatch | None,
    rows: int,
) -> pa.RecordBatch:
    """The columns wanted, of some rows of a file."""
    values, found = dict(file.values), {}
    for column in reading.columns:
        name = own[column.name]
        if batch is not None and name is not None:
            found[column.name] = cast(reading, file, column, batch.column(name))
        elif column.own in values or column.given is not None:
            text = values.get(column.own, column.given)
            if column.kind not in ("text", "text id"):
                refuse_type(reading, file, column, pa.string())
            found[column.name] = pa.repeat(pa.scalar(text, pa.string()), rows)
        else:
            found[column.name] = pa.nulls(rows, arrow_type(column.kind))
    return pa.record_batch(found)


def arrow_type(kind: Kind) -> pa.DataType:
    """The type of a column without any value."""
    whole = kind in ("whole id", "integer")
    return pa.int64() if whole else pa.string() if "text" in kind else pa.float64()


def cast(reading: Reads, file: DataFile, column: Column, values: pa.Array) -> pa.Array:
    """The values in the type that the contract asks for."""
    where = in_file(reading, file, column.own)
    if casts.is_nothing(values.type):
        return pa.nulls(len(values), arrow_type(column.kind))
    if column.kind in ("whole id", "integer"):
        return casts.whole(values, where)
    if column.kind == "number":
        return casts.number(values, where)
    if column.kind == "score":
        return casts.score(values, where)
    if casts.is_whole(values.type):
        return casts.whole(values, where).cast(pa.string())
    if column.name in CODED and pa.types.is_dictionary(values.type):
        return values.cast(pa.dictionary(pa.int32(), pa.string()))
    return casts.plain(values)
