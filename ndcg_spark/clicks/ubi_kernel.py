"""Rows of OpenSearch's User Behavior Insights, as files have them, under our names."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from ndcg_spark.errors import InputError
from ndcg_spark.tables import casts_kernel as casts

# our name -> the path of UBI 1.x
QUERIES = {
    "query_id": "query_id",
    "client_id": "client_id",
    "user_query": "user_query",
    "at": "timestamp",
    "hits": "query_response_hit_ids",
}
EVENTS = {
    "query_id": "query_id",
    "action_name": "action_name",
    "at": "timestamp",
    "object_id": "event_attributes.object.object_id",
    "ordinal": "event_attributes.position.ordinal",
}
KINDS = {"at": "timestamp", "hits": "array<string>", "ordinal": "bigint"}
SOURCE = "_source"  # where an export of an index keeps a document
MILLIS, MICROS = 1000, pa.timestamp("us", "UTC")
ZONED = r"(Z|z|[+-]\d\d:?\d\d)$"
BLOCK = 2**30  # bytes: a line must not be cut


def schema_of(paths: Mapping[str, str]) -> str:
    """The rows' columns, for an engine."""
    return ", ".join(f"{name} {KINDS.get(name, 'string')}" for name in paths)


@dataclass(frozen=True)
class UbiRows:
    """Rows by our names, of lines of JSON (a column `value`) or of a table.

    paths: QUERIES or EVENTS; where: names the source in an error
    What a row lacks is null.

    Raises:
        InputError: E160 for a line that is no JSON object, E112 for a value of another type.
    """

    paths: Mapping[str, str]
    where: str
    lines: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield self._rows(self._parsed(batch.column("value")) if self.lines else batch)

    def _parsed(self, lines: pa.Array) -> pa.RecordBatch:
        lines = lines.filter(pc.not_equal(pc.utf8_trim_whitespace(lines), ""))
        text = "\n".join(lines.to_pylist()).encode()
        try:
            table = pj.read_json(io.BytesIO(text), pj.ReadOptions(block_size=BLOCK))
            return table.combine_chunks().to_batches()[0] if table.num_rows else _nothing()
        except pa.ArrowInvalid:
            return self._loaded(lines.to_pylist())

    def _loaded(self, lines: list[str]) -> pa.RecordBatch:
        """Lines whose fields differ in type: rare, and slower."""
        try:
            rows = [json.loads(line) for line in lines]
        except ValueError:
            rows = [None]
        if not all(isinstance(row, dict) for row in rows):
            raise InputError("E160", f"{self.where} has a line that is no JSON object")
        found = {
            path: pa.array([_text(_at(row, path)) for row in rows], _kind(name))
            for name, path in self.paths.items()
        }
        return pa.record_batch(found)

    def _rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        makers: dict[str, Callable[[pa.Array, str], pa.Array]] = {
            "at": _moments,
            "hits": _lists,
            "ordinal": _places,
        }
        made = {}
        for name, path in self.paths.items():
            where = f"{self.where}: {path}"
            found = _field(rows, path)
            if found is None:
                found = pa.nulls(rows.num_rows)
            if pa.types.is_null(found.type):
                made[name] = pa.nulls(rows.num_rows, _kind(name, final=True))
            else:
                made[name] = makers.get(name, casts.whole_text)(found, where)
        return pa.record_batch(made)


def _nothing() -> pa.RecordBatch:
    return pa.record_batch({"query_id": pa.array([], pa.string())})


def _kind(name: str, final: bool = False) -> pa.DataType:
    if name == "hits":
        return pa.list_(pa.string())
    if final and name in ("at", "ordinal"):
        return MICROS if name == "at" else pa.int64()
    return pa.string()


def _at(row: object, path: str) -> object:
    """The value at a path of a row, within `_source` where there is one."""
    found = row.get(SOURCE, row) if isinstance(row, dict) else None
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _text(value: object) -> object:
    if isinstance(value, list):
        return [_text(item) for item in value]
    return None if value is None else str(value)


def _field(rows: pa.RecordBatch, path: str) -> pa.Array | None:
    """The column at a path; flat columns with dots in their names are found too."""
    if path in rows.schema.names:
        return rows.column(path)
    found: pa.Array | None = None
    first, *rest = path.split(".")
    if SOURCE in rows.schema.names:
        first, rest = SOURCE, [first, *rest]
    if first not in rows.schema.names:
        return None
    found = rows.column(first)
    for part in rest:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(part) < 0:
            return None
        found = pc.struct_field(found, part)
    return found


def _lists(column: pa.Array, where: str) -> pa.Array:
    if not casts.is_list(column.type):
        raise InputError("E112", f"{where} is {casts.type_name(column.type)}, not a list")
    plain = column.cast(pa.list_(column.type.value_type))
    items = plain.flatten()
    texts = (
        pa.nulls(len(items), pa.string())
        if pa.types.is_null(items.type)
        else casts.whole_text(items, where)
    )
    sizes = pc.fill_null(pc.list_value_length(plain), 0)
    ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(sizes.cast(pa.int64()))])
    return pa.ListArray.from_arrays(ends.cast(pa.int32()), texts)


def _places(column: pa.Array, where: str) -> pa.Array:
    """Ordinals as whole numbers; what is none is null: they only check."""
    if casts.is_text(column.type):
        known = pc.match_substring_regex(column, r"^\s*\d{1,18}\s*$")
        column = pc.utf8_trim_whitespace(pc.if_else(known, column, None))
    return column.cast(pa.int64(), safe=False)


def _moments(column: pa.Array, where: str) -> pa.Array:
    """Times: ISO 8601 (without a zone: UTC), milliseconds since 1970, or timestamps."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(MICROS)
    try:
        if casts.is_text(kind):
            return _written(column)
        return pc.multiply(column.cast(pa.int64()), MILLIS).cast(MICROS)
    except pa.ArrowInvalid:
        raise InputError(
            "E112",
            f"{where} holds a value that is no time; write 2026-11-29T10:00:00.000Z, or "
            "milliseconds since 1970",
        ) from None


def _written(column: pa.Array) -> pa.Array:
    column = pc.utf8_trim_whitespace(column.cast(pa.string()))
    digits = pc.match_substring_regex(column, r"^-?\d+$")
    zoned = pc.match_substring_regex(column, ZONED)
    millis = pc.multiply(pc.if_else(digits, column, None).cast(pa.int64()), MILLIS).cast(MICROS)
    with_zone = pc.if_else(pc.and_(zoned, pc.invert(digits)), column, None).cast(MICROS)
    rest = pc.if_else(pc.or_(zoned, digits), None, column).cast(pa.timestamp("us"))
    return pc.coalesce(millis, with_zone, pc.assume_timezone(rest, "UTC"))
