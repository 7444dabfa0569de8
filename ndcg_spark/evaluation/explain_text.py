"""What `explain` prints: the lists that lost most, and the documents of the first of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from ndcg_spark.engine.text import json_text, number, plain, text_table
from ndcg_spark.evaluation.explain_job import Explanation


def print_explanation(found: Explanation, how: str, show: int, out: TextIO) -> None:
    if how == "json":
        head = dataclasses.asdict(found)
        head["lists"] = [_plain(row) for row in found.lists]
        print(json_text("explain", head), file=out)
        return
    against = f" against {found.baseline}" if found.baseline else ""
    verb = "dropped" if found.baseline else "lost"
    lists = "list" if found.n_lost == 1 else "lists"
    print(
        f"{found.measure}{against}: {found.n_lost} {lists} of {found.n_lists} {verb}; "
        f"{len(found.lists)} shown",
        file=out,
    )
    there = [row for row in found.lists if row["status"] != "missing" or found.named]
    if gone := [row for row in found.lists if row not in there]:
        print(f"All is lost where a run lacks the query: {_lacking(gone)}", file=out)
    if there:
        print(f"\n{text_table(_lists(found, there))}", file=out)
    for row in there if found.named else there[:show]:
        _print_documents(found, row, out)
    if not found.named and len(there) > show:
        other = there[show]["query_id"]
        print(f"\n--queries {other} shows the next; --format json and --out have all", file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


def _lacking(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which queries each run lacks, those that lost most first."""
    queries: dict[str, list[str]] = {}
    for row in rows:
        queries.setdefault(row["run_id"], []).append(str(row["query_id"]))
    return "; ".join(f"{run} lacks {', '.join(names)}" for run, names in queries.items())


def _lists(found: Explanation, there: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    before = [found.baseline, "drop"] if found.baseline else []
    best = [] if before else ["best", "lost"]  # 80 columns have room for these or the baseline
    head = ["query", "run", "value", *before, *best, "relevant", "missing", "too low"]
    rows = [[*head, f"unjudged@{found.top}"]]
    for row in there:
        values = [number(row[name], False) for name in ("baseline_value", "drop") if before]
        counts = [str(row[name]) for name in ("n_rel", "missing", "below", "unjudged")]
        cells = [number(row["value"], False), *values]
        cells += [number(row[name], False) for name in ("best", "loss") if best]
        cells += counts
        rows.append([str(row["query_id"]), row["run_id"], *cells])
    return rows


def _print_documents(found: Explanation, row: Mapping[str, Any], out: TextIO) -> None:
    value = f"{found.measure} {number(row['value'], False)} of {number(row['best'], False)}"
    print(f"\n{row['query_id']}, run {row['run_id']}: {value}", file=out)
    before = [f"rank in {found.baseline}"] if found.baseline else []
    rows = [["document", "rank", "label", "adds", "lost", "ideal rank", *before]]
    for document in row["documents"]:
        cells = [_place(document["rank"], "missing"), _label(document["relevance"])]
        cells += [number(document[name], False) for name in ("contribution", "lost")]
        cells.append(_place(document["ideal_rank"], "-"))
        cells += [_place(document["baseline_rank"], "-") for _ in before]
        rows.append([str(document["doc_id"]), *cells])
    print(text_table(rows), file=out)


def _place(rank: int | None, none: str) -> str:
    return none if rank is None else str(rank)


def _label(grade: float | None) -> str:
    return "unjudged" if grade is None else f"{grade:g}"


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain(dict(row)), "documents": [plain(document) for document in row["documents"]]}
