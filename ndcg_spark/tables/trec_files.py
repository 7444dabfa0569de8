"""TREC text files (qrels and runs, plain or gzip) to Arrow batches, line by line checked."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.errors import InputError
from ndcg_spark.tables.paths import filesystem

LINES = 200_000  # lines held in memory at a time
QRELS_LINE = "query_id iteration doc_id relevance"
RUN_LINE = "query_id iteration doc_id rank score run_id"
_SPACE = re.compile(r"[ \t\r\f\v]+")  # C's isspace; a file may hold other Unicode spaces in ids

Parsed = tuple[list[str], Sequence[Any]]


def qrels_batches(path: str) -> Iterator[pa.RecordBatch]:
    """A qrels file's rows; relevance is bigint where every grade is whole, else double.

    Raises:
        InputError: E160, naming the file, the line and what is wrong with it.
    """
    schema = pa.schema(
        [
            ("query_id", pa.string()),
            ("doc_id", pa.string()),
            ("relevance", pa.int64() if _all_whole(path) else pa.float64()),
            ("iteration", pa.string()),
        ]
    )
    number = int if schema.field("relevance").type == pa.int64() else float

    def parse(fields: list[str]) -> tuple[Any, ...]:
        if len(fields) != 4:
            raise ValueError(f"{len(fields)} fields instead of 4 ({QRELS_LINE})")
        return fields[0], fields[2], number(_number(fields[3], "relevance")), fields[1]

    return _batches(path, schema, parse)


def run_batches(path: str) -> Iterator[pa.RecordBatch]:
    """A run file's rows; fields after the run's name are ignored, as trec_eval does.

    Raises:
        InputError: E160, naming the file, the line and what is wrong with it.
    """
    schema = pa.schema(
        [
            ("run_id", pa.string()),
            ("query_id", pa.string()),
            ("doc_id", pa.string()),
            ("score", pa.float64()),
            ("rank", pa.int64()),
        ]
    )

    def parse(fields: list[str]) -> tuple[Any, ...]:
        if len(fields) < 6:
            raise ValueError(f"{len(fields)} fields instead of 6 ({RUN_LINE})")
        rank = int(fields[3]) if fields[3].lstrip("-").isdigit() else None
        return fields[5], fields[0], fields[2], _number(fields[4], "score"), rank

    return _batches(path, schema, parse)


def write_parquet(batches: Iterator[pa.RecordBatch], path: str) -> int:
    """Write batches to one Parquet file; the number of rows."""
    system, inner = filesystem(path)
    system.create_dir(inner.rsplit("/", 1)[0], recursive=True)
    first = next(batches, None)
    if first is None:
        return 0
    rows = 0
    with (
        system.open_output_stream(inner) as stream,
        pq.ParquetWriter(stream, first.schema, compression="zstd", write_page_checksum=True) as out,
    ):
        for batch in _chain(first, batches):
            out.write_batch(batch)
            rows += batch.num_rows
    return rows


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _all_whole(path: str) -> bool:
    for _, fields in _lines(path):
        if len(fields) == 4 and not re.fullmatch(r"[+-]?\d+", fields[3]):
            return False
    return True


def _number(text: str, what: str) -> float:
    if not re.fullmatch(
        r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", text, re.I
    ):
        raise ValueError(f"{what} {text!r} is not a number")
    return float(text)


def _batches(
    path: str, schema: pa.Schema, parse: Callable[[list[str]], tuple[Any, ...]]
) -> Iterator[pa.RecordBatch]:
    rows: list[tuple[Any, ...]] = []
    for number, fields in _lines(path):
        try:
            rows.append(parse(fields))
        except ValueError as problem:
            raise InputError("E160", f"{path}, line {number}: {problem}") from None
        if len(rows) == LINES:
            yield _batch(rows, schema)
            rows = []
    if rows:
        yield _batch(rows, schema)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and fields of the content lines; blank lines and # comments are skipped."""
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8").strip(" \t\r\n\f\v")
                except UnicodeDecodeError:
                    raise InputError("E160", f"{path}, line {number}: not UTF-8 text") from None
                if text and not text.startswith("#"):
                    yield number, _SPACE.split(text)
    except FileNotFoundError:
        raise InputError("E101", f"the file {path!r} does not exist") from None
    except (OSError, EOFError) as problem:
        raise InputError("E105", f"{path} cannot be read: {problem}") from None


def _opened(path: str) -> IO[bytes]:
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if compressed else open(path, "rb")  # type: ignore[return-value]
