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


def is_list(kind: pa.DataType) -> bool:
    is_type = pa.types
    return bool(
        is_type.is_list(kind) or is_type.is_large_list(kind) or is_type.is_fixed_size_list(kind)
        or is_type.is_list_view(kind) or is_type.is_large_list_view(kind)
    )  # fmt: skip


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
    """Numbers of any kind, and true and false, as doubles.

    Raises:
        InputError: E112 for other types, text that holds a number among them.
    """
    column = plain(column)
    kind = column.type
    if not (is_number(kind) or is_nothing(kind) or pa.types.is_boolean(kind)):
        raise InputError("E112", f"{where} is {type_name(kind)}, not a number")
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


def text(column: pa.Array, where: str) -> pa.Array:
    """Any single values as text, as Spark writes them.

    Raises:
        InputError: E112 for what has no one text: lists, structs, bytes.
    """
    column = plain(column)
    kind, is_type = column.type, pa.types
    if is_type.is_float16(kind) or is_type.is_float32(kind):
        column = column.cast(DOUBLE)
    known = (
        is_text(kind) or is_number(kind) or is_nothing(kind) or is_type.is_boolean(kind)
        or is_type.is_date(kind) or is_type.is_timestamp(kind) or is_type.is_time(kind)
    )  # fmt: skip
    if not known:
        raise InputError("E112", f"{where} is {type_name(kind)}, which has no text")
    found = column.cast(TEXT)
    if is_type.is_floating(kind):  # 1.0, as engines write it, and not 1
        found = pc.replace_substring_regex(found, pattern=r"^(-?\d+)$", replacement=r"\1.0")
    return found


def truth(column: pa.Array, where: str) -> pa.Array:
    """True and false: booleans, numbers that are not zero, and their names.

    Raises:
        InputError: E112 for other types and other texts, with one of them.
    """
    column = plain(column)
    if is_nothing(column.type):
        return pa.nulls(len(column), pa.bool_())
    if pa.types.is_boolean(column.type):
        return column
    if is_number(column.type):
        return pc.not_equal(number(column, where), 0.0)
    if is_text(column.type):
        low = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        yes, no = (
            pc.is_in(low, value_set=pa.array(names))
            for names in (["true", "t", "1", "yes", "y"], ["false", "f", "0", "no", "n"])
        )
        odd = column.filter(pc.and_(pc.invert(pc.or_(yes, no)), column.is_valid()))
        if not len(odd):
            return pc.if_else(column.is_valid(), yes, None)
        raise InputError("E112", f"{where} holds {odd[0].as_py()!r}, not true or false")
    raise InputError("E112", f"{where} is {type_name(column.type)}, not true or false")


def whole_or_text(column: pa.Array, where: str) -> pa.Array:
    """Ids as they compare: text as text, numbers (pandas makes doubles of them where one is
    missing) as bigint.

    Raises:
        InputError: E112 for other types, and for a number that is not whole, with its value.
    """
    column = plain(column)
    if is_text(column.type) or is_nothing(column.type):
        return column.cast(TEXT)
    if is_whole(column.type):
        return whole(column, where)
    if not pa.types.is_floating(column.type):
        raise InputError("E112", f"{where} holds {type_name(column.type)}, not ids")
    values = number(column, where).to_numpy(zero_copy_only=False)
    odd = np.flatnonzero(~np.isnan(values) & ((values != np.rint(values)) | (abs(values) > 2**53)))
    if len(odd):
        raise InputError("E112", f"{where} holds {values[odd[0]]!r}, which is no whole number")
    missing = np.isnan(values)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def whole_text(column: pa.Array, where: str) -> pa.Array:
    """The same ids as text."""
    own = plain(column)
    return own.cast(TEXT) if is_whole(own.type) else whole_or_text(own, where).cast(TEXT)


def place(column: pa.Array, where: str) -> pa.Array:
    """Ranks, as bigint: whole numbers, also as doubles."""
    found = plain(column)
    if is_whole(found.type):
        return whole(found, where)
    return whole_or_text(number(found, where), where).cast(WHOLE)
