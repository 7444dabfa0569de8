"""Text files of runs and judgements (tables/text_kernel.py) to Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.errors import InputError
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.read import run_name
from ndcg_spark.tables.text_kernel import TextTable

KNOWN = {
    "qrels": ("query_id", "doc_id", "relevance", "gain", "iteration"),
    "runs": ("run_id", "query_id", "doc_id", "score", "rank"),
}


def qrels_batches(path: str) -> Iterator[pa.RecordBatch]:
    """A qrels file's rows; relevance is bigint where every grade is whole, else double.

    Raises:
        InputError: E160, naming the file, the line and what is wrong with it.
    """
    whole = all(_whole(batch) for batch in _batches(path, "qrels"))
    for batch in _batches(path, "qrels"):
        if whole:
            place = batch.schema.get_field_index("relevance")
            grades = batch.column(place).cast(pa.int64())
            batch = batch.set_column(place, "relevance", grades)
        yield batch


def run_batches(path: str) -> Iterator[pa.RecordBatch]:
    """A run file's rows; fields after the run's name are ignored, as trec_eval does.

    Raises:
        InputError: E160, naming the file, the line and what is wrong with it.
    """
    for batch in _batches(path, "runs"):
        if "run_id" not in batch.schema.names:
            names = pa.repeat(pa.scalar(run_name(path)), batch.num_rows)
            batch = batch.append_column("run_id", names)
        yield batch


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


def _batches(path: str, role: str) -> Iterator[pa.RecordBatch]:
    """
    Raises:
        InputError: E101, E105, E110 for a header without what is needed, E160 for a wrong line.
    """
    system, inner = filesystem(path)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(system.open_input_file(inner))
        except FileNotFoundError:
            raise InputError("E101", f"the file {path!r} does not exist") from None
        except OSError as problem:
            raise InputError("E105", f"{path} cannot be read: {problem}") from None
        table = TextTable(stream, role, {name: name for name in KNOWN[role]}, path)
        value = {"qrels": ("relevance",), "runs": ("score", "rank")}[role]
        there = table.schema_arrow.names
        missing = [name for name in ("query_id", "doc_id") if name not in there]
        if not set(value) & set(there):
            missing.append(" or ".join(value))
        if missing:
            raise InputError("E110", f"{path}: missing column(s) {', '.join(missing)}")
        yield from table.batches()


def _whole(batch: pa.RecordBatch) -> bool:
    grades = batch.column("relevance").to_numpy(zero_copy_only=False)
    return bool(np.all(grades == np.rint(grades)) and np.all(np.abs(grades) < 2**53))
