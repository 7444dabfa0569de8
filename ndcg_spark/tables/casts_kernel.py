"""A column of any file in the contract's type, or a refusal that names file, column and value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.errors import InputError

TEXT, WHOLE, DOUBLE = pa.string(), pa.int64(), pa.float64()
LARGEST = 2**63 - 1
# what Spark calls these types, which users of this package know
NAMES = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float": "float",
    "bool": "boolean", "large_string": "string", "string_view": "string",
}  # fmt: skip


def plain(column: pa.Array) -> pa.Array:
    """Without a dictionary, and without the larger or viewing forms of text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(TEXT)
    return column


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: without dictionaries, larger and viewing forms."""
    if pa.types.is_dictionary(kind):
        return value_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return TEXT
    return kind


def type_name(kind: pa.DataType) -> str:
    own = str(value_type(kind))
    return NAMES.get(own, own.replace("decimal128", "decimal"))


def is_text(kind: pa.DataType) -> bool:
    return bool(value_type(kind) == TEXT)


def is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(value_type(kind)))


def is_number(kind: pa.DataType) -> bool:
    own = value_type(kind)
    return bool(pa.types.is_integer(own) or pa.types.is_floating(own) or pa.types.is_decimal(own))


def is_nothing(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(value_type(kind)))


def whole(column: pa.Array, where: str) -> pa.Array:
    """Integers of any width as bigint.

    Raises:
        InputError: E112 for one beyond it, with the value.
    """
    column = plain(column)
    if pa.types.is_uint64(column.type):
        beyond = pc.greater(column, pa.scalar(LARGEST, pa.uint64()))
        if pc.any(beyond).as_py():
            value = column.filter(beyond)[0].as_py()
            raise InputError(
                "E112",
                f"{where} holds {value}, which is too large for a bigint; write such ids as text",
            )
    return column.cast(WHOLE)


def number(column: pa.Array, where: str) -> pa.Array:
    """Numbers of any kind, and true and false, as doubles."""
    column = plain(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_float16(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return pa.array(values, mask=column.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_integer(column.type):
        column = whole(column, where)
    return column.cast(DOUBLE, safe=False)


def score(column: pa.Array, where: str) -> pa.Array:
    """Integers as bigint, decimals as they are, else doubles: scores compare as what they are."""
    if is_whole(column.type):
        return whole(column, where)
    column = plain(column)
    return column if pa.types.is_decimal(column.type) else number(column, where)
