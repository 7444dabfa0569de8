"""What `evaluate` prints: a table, JSON, or trec_eval's lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, TextIO

from ndcg_spark.engine.text import best_marked, json_text, number, plain, text_table
from ndcg_spark.evaluation.job import Evaluation
from ndcg_spark.measures import Measure, RelString, RunId

# trec_eval prints these for all queries together only
SUMMARY_ONLY = ("runid", "num_q", "gm_map", "gm_bpref")


def print_evaluation(
    found: Evaluation, how: str, per_query: bool, quiet: bool, out: TextIO
) -> None:
    """Print an evaluation in one of the three formats, per-query values streamed."""
    if how == "trec":
        _print_trec(found, per_query, out)
    elif how == "json":
        _print_json(found, per_query, out)
    else:
        _print_tables(found, per_query, quiet, out)


def _print_tables(found: Evaluation, per_query: bool, quiet: bool, out: TextIO) -> None:
    runs = list(found.counts)
    value = {
        (row["run_id"], row["measure"], row["segment"]): row["mean"] for row in found.aggregate
    }
    names = [str(m) for m in found.measures if m.aggregation != "none"]
    whole = {str(m) for m in found.measures if m.aggregation == "sum"}
    rows = [["measure", *(f"{run} " for run in runs)]]
    for segment in dict.fromkeys(row["segment"] for row in found.aggregate):
        for name in names:
            means = [value.get((run, name, segment)) for run in runs]
            cells = [number(mean, name in whole) for mean in means]
            cells = [f"{cell} " for cell in cells] if name in whole else best_marked(means, cells)
            rows.append([name if segment == "all" else f"{name} ({segment})", *cells])
    if per_query:
        _print_queries(found, whole, out)
    print(text_table(rows), file=out)
    if quiet:
        return
    labels = list(dict.fromkeys(label for counts in found.counts.values() for label in counts))
    rows = [["counts", *runs]]
    rows += [
        [label.replace("_", " "), *(str(found.counts[run][label]) for run in runs)]
        for label in labels
    ]
    print(f"\n{text_table(rows)}", file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


def _print_queries(found: Evaluation, whole: set[str], out: TextIO) -> None:
    names = list(map(str, found.measures))
    print("\t".join(["run", "query", *names]), file=out)
    for row in found.per_query():
        cells = (number(v, n in whole) for n, v in zip(names, row["values"], strict=True))
        print("\t".join([row["run_id"], str(row["query_id"]), *cells]), file=out)
    print(file=out)


def _print_trec(found: Evaluation, per_query: bool, out: TextIO) -> None:
    """trec_eval's lines, one block per run: a name of width 22, the query or `all`, the value."""
    plain = [row for row in found.aggregate if row["segment"] == "all"]
    blocks = {run: [r for r in plain if r["run_id"] == run] for run in found.counts}
    open_run: str | None = None
    for row in found.per_query() if per_query else ():
        if open_run not in (None, row["run_id"]):
            _print_all(found, blocks.pop(open_run), out)
        open_run = row["run_id"]
        query, values, text = str(row["query_id"]), row["values"], ""
        for measure, label, value in zip(found.measures, found.labels, values, strict=True):
            if value is None or measure.trec in SUMMARY_ONLY:
                continue
            if isinstance(measure, RelString):  # one string, of several pieces
                text = measure.text(value) if measure.is_first else text + measure.text(value)
                if measure.is_last:
                    print(f"{label:<22}\t{query}\t'{text}'", file=out)
                continue
            _print_line(measure, label, query, value, out)
    for rows in blocks.values():
        _print_all(found, rows, out)


def _print_all(found: Evaluation, rows: list[dict[str, Any]], out: TextIO) -> None:
    for measure, label, row in zip(found.measures, found.labels, rows, strict=True):
        if isinstance(measure, RunId):
            print(f"{label:<22}\tall\t{row['run_id']}", file=out)
        elif measure.aggregation != "none":
            value = math.nan if row["mean"] is None else row["mean"]
            _print_line(measure, label, "all", value, out)


def _print_line(measure: Measure, label: str, query: str, value: float, out: TextIO) -> None:
    if measure.aggregation == "sum" and math.isfinite(value):
        shown = str(round(value))
    else:
        shown = f"{value:6.4f}"
    print(f"{label:<22}\t{query}\t{shown}", file=out)


def _print_json(found: Evaluation, per_query: bool, out: TextIO) -> None:
    head = {
        "engine": found.engine,
        "reader": found.inputs.reader,
        "measures": list(map(str, found.measures)),
        "counts": found.counts,
        "aggregate": [plain(row) for row in found.aggregate],
        "tables": found.tables,
    }
    text = json_text("evaluate", head)
    if not per_query:
        print(text, file=out)
        return
    print(text[:-2] + ',\n "per_query": [', file=out)  # streamed: it may be long
    separator = "  "
    for row in _query_rows(found):
        print(separator + json.dumps(plain(row)), file=out, end="")
        separator = ",\n  "
    print("\n ]\n}", file=out)


def _query_rows(found: Evaluation) -> Iterator[dict[str, Any]]:
    kept = ("run_id", "query_id", "n_ret", "n_rel", "n_judged", "status")
    for row in found.per_query():
        for measure, value in zip(found.measures, row["values"], strict=True):
            yield {**{k: row[k] for k in kept}, "measure": str(measure), "value": value}
