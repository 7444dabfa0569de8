"""Of which shape a log is, by the names and types of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from ndcg_spark.clicks.log_files_kernel import result_fields
from ndcg_spark.clicks.log_kernel import CLICKED, ITEMS, KEYS, NESTED, Shape
from ndcg_spark.errors import InputError, UsageError, nearest
from ndcg_spark.tables import casts_kernel as casts


def own_names(types: Mapping[str, pa.DataType], shape: Shape) -> dict[str, str]:
    """Our name -> the log's name of every column that it has.

    Raises:
        UsageError: for a mapping of a column that impressions do not have.
        InputError: E110 for missing columns, E115 for two that differ only in case.
    """
    known = (*KEYS, *ITEMS, NESTED, CLICKED, *shape.events, *shape.segments)
    for name in shape.columns:
        if name not in known:
            raise UsageError(f"impressions have no column {name!r} to map{nearest(name, known)}")
    found = {name: own for name in known if (own := _there(shape.own(name), types)) is not None}
    nested = () if NESTED not in found else (*ITEMS, *shape.events)
    wanted = [*shape.columns, *shape.segments]
    missing = [shape.own(name) for name in wanted if name not in found and name not in nested]
    if not {"event_ts", "event_date"} & set(found):
        missing.append("event_ts (or event_date)")
    if missing:
        raise InputError(
            "E110",
            f"impressions: missing column(s) {', '.join(dict.fromkeys(missing))}; the log has: "
            f"{', '.join(types)}. Map them with --columns impressions.event_ts=NAME",
        )
    return found


def _there(own: str, types: Mapping[str, pa.DataType]) -> str | None:
    if own in types:
        return own
    found = [name for name in types if name.casefold() == own.casefold()]
    if len(found) > 1:
        raise InputError(
            "E115", f"impressions: the columns {', '.join(found)} differ only in case; rename one"
        )
    return found[0] if found else None


def kind_of(
    types: Mapping[str, pa.DataType], shape: Shape, own: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """results, lists, or long; and our names of what it says about each document shown.

    Raises:
        InputError: E110 for what is missing, E112 for results that are no list of structs.
    """
    wanted = (*ITEMS, *shape.events)
    if NESTED in own:
        fields = result_fields(types[own[NESTED]])
        if fields is None:
            kind = casts.type_name(types[own[NESTED]])
            raise InputError("E112", f"impressions: {own[NESTED]} is {kind}, not a list of structs")
        items = tuple(name for name in wanted if shape.own(name).casefold() in fields)
        missing = [n for n in (*shape.events, *shape.columns) if n in wanted and n not in items]
        missing = [name for name in missing if name not in own or name in shape.events]
        _refuse_missing(missing, shape, f"the fields of {own[NESTED]} are: ", fields.values())
        return "results", items
    items = tuple(name for name in wanted if name in own)
    if CLICKED in own:
        if "doc_id" not in own:
            raise InputError(
                "E110", "impressions with clicked_ids need the list doc_id of what was shown"
            )
        items = tuple(name for name in items if name != shape.events[0])
        _refuse_missing([n for n in shape.events[1:] if n not in items], shape, "", types)
        return "lists", (*items, CLICKED)
    missing = [name for name in shape.events if name not in own]
    _refuse_missing(missing, shape, "(or results, or clicked_ids); the log has: ", types)
    if casts.is_list(types[own[shape.events[0]]]):
        return "lists", items
    missing = [name for name in ("impression_id", "rank") if name not in own]
    _refuse_missing(missing, shape, "of a log with one row a result; it has: ", types)
    return "long", items


def _refuse_missing(missing: list[str], shape: Shape, what: str, there: Iterable[str]) -> None:
    if missing:
        names = ", ".join(shape.own(name) for name in dict.fromkeys(missing))
        raise InputError(
            "E110",
            f"impressions: missing column(s) {names} {what or '; the log has: '}{', '.join(there)}",
        )
