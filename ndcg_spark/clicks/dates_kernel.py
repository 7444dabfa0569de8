"""The day of every impression: of its event_date, or of its event_ts in a time zone."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.errors import InputError
from ndcg_spark.tables import casts_kernel as casts

_TEXT = r"^\s*(\d{4})-?(\d\d)-?(\d\d)([ T].*)?$"
KINDS = "a date, or text as in 2026-11-29"


def dates(rows: pa.RecordBatch, timezone: str, where: Callable[[str], str]) -> pa.Array:
    """(rows,) days as text, 2026-11-29; text that is none stays as it is.

    Raises:
        InputError: E112 for other types, and for a time without a zone, whose day is not known.
    """
    if "event_date" in rows.schema.names:
        column = casts.plain(rows.column("event_date"))
        return _of_date(column, timezone, where("event_date"))
    column = casts.plain(rows.column("event_ts"))
    if not pa.types.is_timestamp(column.type) or column.type.tz is None:
        raise InputError(
            "E112",
            f"{where('event_ts')} is {casts.type_name(column.type)}, not a timestamp with time "
            "zone; its day cannot be told safely. Cast it, or map event_date",
        )
    return _texts(_local(column, timezone))


def text_date(text: str) -> str:
    """A day as it is written in the name of a partition, as 2026-11-29.

    >>> text_date("20261129")
    '2026-11-29'
    """
    return str(_normal(pa.array([text]))[0].as_py())


def _of_date(column: pa.Array, timezone: str, where: str) -> pa.Array:
    if casts.is_nothing(column.type):
        return pa.nulls(len(column), pa.string())
    if casts.is_text(column.type):
        coded = column.dictionary_encode()
        return _normal(coded.dictionary).take(coded.indices)
    if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        raise InputError("E112", f"{where} is {casts.type_name(column.type)}, not {KINDS}")
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = _local(column, timezone)
    return _texts(column)


def _normal(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, pattern=_TEXT, replacement=r"\1-\2-\3")


def _local(column: pa.Array, timezone: str) -> pa.Array:
    """The time on the clock of a zone."""
    return pc.local_timestamp(column.cast(pa.timestamp(column.type.unit, timezone)))


def _texts(column: pa.Array) -> pa.Array:
    """Days as text, each made once."""
    coded = column.cast(pa.date32(), safe=False).dictionary_encode()
    return coded.dictionary.cast(pa.string()).take(coded.indices)
