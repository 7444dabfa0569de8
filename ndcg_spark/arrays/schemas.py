"""Schemas as text, ``run_id string, n bigint``, for Spark and for Arrow."""

from __future__ import annotations

import pyarrow as pa

KINDS = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "array<string>": pa.list_(pa.string()),
}


def arrow_schema(text: str) -> pa.Schema:
    """The Arrow schema of a Spark schema's text.

    >>> arrow_schema("run_id string, n bigint").names
    ['run_id', 'n']
    """
    return pa.schema([(name, KINDS[kind]) for name, kind in map(str.split, text.split(", "))])
