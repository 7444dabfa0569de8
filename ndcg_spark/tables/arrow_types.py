"""The types of an engine's columns as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import types as T

from ndcg_spark.errors import InputError

PLAIN: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(), T.ByteType: pa.int8(), T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(), T.LongType: pa.int64(), T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(), T.BinaryType: pa.binary(), T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"), T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
}  # fmt: skip


class EngineTypes(Mapping[str, pa.DataType]):
    """Column -> Arrow type of an engine's table; those that nobody asks for may be any."""

    def __init__(self, role: str, schema: T.StructType) -> None:
        self._role = role
        self._kinds = {field.name: field.dataType for field in schema.fields}

    def __getitem__(self, name: str) -> pa.DataType:
        """
        Raises:
            InputError: E112 for a type that cannot be sent.
        """
        found = _arrow(self._kinds[name])
        if found is None:
            kind = self._kinds[name].simpleString()
            raise InputError("E112", f"{self._role}: {name} is {kind}, which cannot be read")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def _arrow(kind: T.DataType) -> pa.DataType | None:
    if isinstance(kind, T.StringType):
        return pa.string()
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        inner = _arrow(kind.elementType)
        return None if inner is None else pa.list_(inner)
    if isinstance(kind, T.StructType):
        fields = [(field.name, _arrow(field.dataType)) for field in kind.fields]
        return pa.struct([(name, own or pa.binary()) for name, own in fields])
    return PLAIN.get(type(kind))
