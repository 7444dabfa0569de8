"""Runs and qrels as other packages hold them in memory, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import UsageError

VALUES = {"qrels": "relevance", "runs": "score"}


def foreign(role: str, table: object) -> pa.Table | None:
    """The table of dicts (pytrec_eval), ranx's objects, or ir_measures' named tuples; else None.

    role: "runs" or "qrels"; it says what the numbers are

    Raises:
        UsageError: for an entry that is no number, or no dict.
    """
    value = VALUES.get(role)
    if value is None:
        return None
    name = None
    if type(table).__module__.split(".")[0] == "ranx" and hasattr(table, "to_dict"):
        name, table = getattr(table, "name", None), table.to_dict()
    if isinstance(table, Mapping):
        return _of_dicts(role, value, table, name)
    if isinstance(table, Iterable) and not isinstance(table, (str, bytes)):
        rows = table if isinstance(table, Sequence) else list(table)
        if not rows or hasattr(rows[0], "doc_id"):
            return _of_tuples(role, value, rows)
    return None


def _of_dicts(role: str, value: str, table: Mapping[Any, Any], name: str | None) -> pa.Table:
    inner = list(table.values())
    if not all(map(isinstance, inner, repeat(Mapping))):
        raise UsageError(f"{role}: a dict must be of dicts: {{query_id: {{doc_id: {value}}}}}")
    queries = chain.from_iterable(map(repeat, table, map(len, inner)))
    columns = {
        "query_id": _ids(queries),
        "doc_id": _ids(chain.from_iterable(inner)),
        value: _numbers(role, value, chain.from_iterable(map(_values, inner))),
    }
    if name and role == "runs":
        columns["run_id"] = pa.array([name] * len(columns["doc_id"]), pa.string())
    return pa.table(columns)


def _values(documents: Mapping[Any, Any]) -> Iterable[Any]:
    return documents.values()


def _of_tuples(role: str, value: str, rows: Sequence[Any]) -> pa.Table:
    try:
        numbers = _numbers(role, value, map(attrgetter(value), rows))
        queries, docs = (_ids(map(attrgetter(f), rows)) for f in ("query_id", "doc_id"))
    except AttributeError as problem:
        raise UsageError(f"{role}: {problem}") from None
    return pa.table({"query_id": queries, "doc_id": docs, value: numbers})


def _ids(values: Iterable[Any]) -> pa.Array:
    found = list(values)
    try:
        kind = pa.int64() if found and isinstance(found[0], int) else pa.string()
        return pa.array(found, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise UsageError(f"ids must all be texts, or all whole numbers: {problem}") from None


def _numbers(role: str, value: str, values: Iterable[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise UsageError(f"{role}: a {value} is no number: {problem}") from None
