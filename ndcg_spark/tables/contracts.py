"""What a table is: the columns of qrels and runs, and how a DataFrame is brought to them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.errors import InputError, nearest

Kind = Literal["id", "text", "number", "integer"]
INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
TEXTS = (T.StringType, T.VarcharType, T.CharType)
KIND_NAMES = {
    "id": "a string or an integer",
    "text": "a string or an integer",
    "number": "a number",
    "integer": "an integer",
}


@dataclass(frozen=True)
class Field:
    """One column of a contract."""

    name: str
    kind: Kind
    required: bool = True


@dataclass(frozen=True)
class Contract:
    """The columns that a table of this role must or may have."""

    role: str
    fields: tuple[Field, ...]


QRELS = Contract(
    "qrels",
    (
        Field("query_id", "id"),
        Field("doc_id", "id"),
        Field("relevance", "number"),
        Field("gain", "number", required=False),
    ),
)
RUNS = Contract(
    "runs",
    (
        Field("run_id", "text", required=False),
        Field("query_id", "id"),
        Field("doc_id", "id"),
        Field("score", "number"),
    ),
)
RANKED_RUNS = Contract("runs", (*RUNS.fields[:3], Field("rank", "integer")))
WEIGHTS = Contract("weights", (Field("query_id", "id"), Field("weight", "number")))
PER_QUERY = Contract(
    "scores",
    (
        Field("run_id", "text"),
        Field("query_id", "id"),
        Field("measure", "text"),
        Field("value", "number"),
    ),
)
IDEALS = Contract(
    "ideals",
    (
        Field("query_id", "id"),
        Field("measure", "text"),
        Field("idcg", "number"),
        Field("n_rel", "integer"),
        Field("n_gain", "integer"),
    ),
)
CLICKS = Contract(
    "clicks", (Field("query_id", "id"), Field("doc_id", "id"), Field("n_clicks", "number"))
)
ANY_RUNS = Contract(
    "runs",
    (
        *RUNS.fields[:3],
        Field("score", "number", required=False),
        Field("rank", "integer", required=False),
    ),
)


def sorting_key(table: DataFrame, name: str) -> Column:
    """A column of numbers as lists are sorted by it: one zero, and null for what is no number;
    engines sort these in different ways."""
    value, kind = F.col(name), table.schema[name].dataType
    if not isinstance(kind, (T.FloatType, T.DoubleType)):
        return value
    zero = F.lit(0.0).cast(kind.simpleString())
    return F.when(~F.isnan(value), F.when(value == 0, zero).otherwise(value))


def lacks(*names: str) -> Column:
    """Whether a row has no value in one of these columns."""
    return functools.reduce(lambda a, b: a | b, [F.col(name).isNull() for name in names])


def conform(
    table: DataFrame,
    contract: Contract,
    columns: Mapping[str, str] | None = None,
    added: str | None = None,
) -> DataFrame:
    """The contract's columns of a table, under their own names and in their own types.

    Ids become string or bigint, relevance and gain double; scores keep their type, so that they
    compare as what they are. `columns` maps a contract's column to the table's own name for it;
    `added` is a column that we gave the table ourselves.

    Raises:
        InputError: E110 for missing columns, E112 for wrong types, all of them together; E115
            where two columns differ only in case.
    """
    mapping = dict(columns or {})
    own = {field.name: mapping.pop(field.name, field.name) for field in contract.fields}
    if mapping:
        stray = sorted(mapping)[0]
        raise InputError(
            "E110",
            f"{contract.role} has no column {stray!r} to map{nearest(stray, own)}; "
            f"it has: {', '.join(own)}",
        )
    schema = {field.name: field.dataType for field in table.schema.fields}
    missing, wrong, kept = [], [], []
    for field in contract.fields:
        name = _found(own[field.name], schema, contract.role)
        if name is None:
            if field.required or own[field.name] != field.name:
                missing.append(own[field.name])
            continue
        if not _fits(schema[name], field.kind):
            wrong.append(f"{name} is {schema[name].simpleString()}, not {KIND_NAMES[field.kind]}")
        kept.append(_cast(F.col(f"`{name.replace('`', '``')}`"), schema[name], field))
    if missing:
        there = [name for name in schema if name != added]
        raise InputError(
            "E110",
            f"{contract.role}: missing column(s) {', '.join(missing)}; the table has: "
            f"{', '.join(there) or 'no columns'}. {swapped(contract.role, missing, there)}Map "
            f"them with --columns {contract.role}.{missing[0]}=NAME (columns= in Python)",
        )
    if wrong:
        raise InputError("E112", f"{contract.role}: {'; '.join(wrong)}")
    return table.select(*kept)


def swapped(role: str, missing: Sequence[str], there: Sequence[str]) -> str:
    """A hint where the table looks like the other of runs and qrels."""
    other = {"runs": ("score", "relevance", "judgements"), "qrels": ("relevance", "score", "a run")}
    if role not in other:
        return ""
    own, foreign, what = other[role]
    found = own in missing and foreign in {name.casefold() for name in there}
    return f"It looks like {what}: are --runs and --qrels swapped? " if found else ""


def same_ids(
    runs: DataFrame,
    qrels: DataFrame,
    roles: tuple[str, str] = ("runs", "qrels"),
    names: Sequence[str] = ("query_id", "doc_id"),
) -> None:
    """Refuse two tables whose ids differ in type: 1 never meets "01" by a silent cast.

    Raises:
        InputError: E140, naming both types.
    """
    for name in names:
        left, right = runs.schema[name].dataType, qrels.schema[name].dataType
        if left != right:
            raise InputError(
                "E140",
                f"{name} is {left.simpleString()} in the {roles[0]} but {right.simpleString()} in "
                f"the {roles[1]}; both sides must have the same type (cast one of them, knowingly)",
            )


def _found(name: str, schema: Mapping[str, T.DataType], role: str) -> str | None:
    matches = [own for own in schema if own.casefold() == name.casefold()]
    if len(matches) > 1:
        raise InputError(
            "E115", f"{role}: the columns {', '.join(matches)} differ only in case; rename one"
        )
    return matches[0] if matches else None


def _fits(found: T.DataType, kind: Kind) -> bool:
    if kind in ("id", "text"):
        return isinstance(found, (*TEXTS, *INTEGERS))
    return isinstance(found, INTEGERS if kind == "integer" else (T.NumericType,))


def _cast(column: Column, found: T.DataType, field: Field) -> Column:
    if field.kind == "text" or (field.kind == "id" and isinstance(found, TEXTS)):
        column = column.cast("string")  # also drops a collation that would join 'A' to 'a'
    elif field.kind == "id" or field.kind == "integer":
        column = column.cast("bigint")
    elif field.name != "score":
        column = column.cast("double")
    return column.alias(field.name)
