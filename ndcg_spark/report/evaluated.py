"""Sections of evaluations and comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.plot import figures
from ndcg_spark.plot.api import cells
from ndcg_spark.plot.rows import by_cutoff
from ndcg_spark.report.blocks import (
    Cell,
    Picture,
    Section,
    Table,
    between,
    number,
    probability,
    without_empty,
    words,
)
from ndcg_spark.tables.segments import ALL

Row = Mapping[str, Any]
DOCUMENTS = 30  # shown of one list
SEGMENTS = 40  # the largest groups


def runs_and_policies(manifest: Row) -> Section:
    """What was evaluated, and how: an evaluation's manifest."""
    facts = [
        (key, manifest.get(key)) for key in ("engine", "version", "plan", "started", "finished")
    ]
    inputs = manifest.get("inputs") or {}
    if isinstance(inputs, dict):
        facts += [(role, ", ".join(paths)) for role, paths in inputs.items() if paths]
    policies = manifest.get("policies") or {}
    rows = [[words(key.replace("_", " ")), words(value)] for key, value in facts if value]
    chosen = [[words(key), words(value)] for key, value in sorted(policies.items())]
    blocks = [Table("run", "The run", ["what", "value"], rows)]
    if chosen:
        blocks.append(Table("policies", "Policies", ["option", "value"], chosen))
    counts = manifest.get("counts") or {}
    if counts and all(isinstance(value, dict) for value in counts.values()):
        blocks.insert(0, _counts(counts))
    return Section("run", "What was counted, and how", blocks=blocks)


def _counts(counts: Mapping[str, Mapping[str, int]]) -> Table:
    columns = list(dict.fromkeys(key for own in counts.values() for key in own))
    rows = [
        [words(run), *(number(own.get(column)) for column in columns)]
        for run, own in counts.items()
    ]
    shown = [column.replace("_", " ") for column in columns]
    return Table("counts", "Queries and documents of each run", ["run", *shown], rows)


def measures(aggregate: Sequence[Row], comparison: Sequence[Row], measure: str) -> Section:
    """Means with intervals, the best marked, and what the comparison says about the measure."""
    rows = [row for row in aggregate if row["segment"] == ALL]
    names = list(dict.fromkeys(row["measure"] for row in rows))
    runs = list(dict.fromkeys(row["run_id"] for row in rows))
    best: dict[str, float] = {}
    for row in rows:
        if row["mean"] is not None:
            best[row["measure"]] = max(row["mean"], best.get(row["measure"], row["mean"]))
    by_key = {(row["run_id"], row["measure"]): row for row in rows}

    def cell(run: str, name: str) -> Cell:
        mean = by_key.get((run, name), {}).get("mean")
        top = len(runs) > 1 and mean is not None and mean == best.get(name)
        return number(mean, kind="best" if top else "")

    matrix = [[words(run), *(cell(run, name) for name in names)] for run in runs]
    blocks: list[Table | Picture] = [
        Table("means", "Mean of each measure", ["run", *names], matrix, note="The best is bold.")
    ]
    compared = [row for row in comparison if row["segment"] == ALL]
    of_measure = [row for row in compared if row["measure"] == measure]
    if compared:
        blocks += _compared(compared)
    detail = [
        [words(row["measure"]), words(row["run_id"]), number(row["mean"]),
         between(row["ci_low"], row["ci_high"]), number(row["std"]), number(row["n_queries"]),
         number(row["n_missing"]), number(row["n_no_relevant"]), number(row["n_undefined"])]
        for row in rows
    ]  # fmt: skip
    columns = ["measure", "run", "mean", "95 % interval", "std", "queries", "missing",
               "no relevant", "undefined"]  # fmt: skip
    blocks.append(Table("intervals", "Means with their intervals", columns, detail))
    cut = by_cutoff(rows)
    if cut:
        columns_kept = ("family", "cutoff", "run_id", "mean", "ci_low", "ci_high")
        numbers = [{key: row[key] for key in columns_kept} for row in cut]
        blocks.append(
            Picture(
                "cutoffs", "Means by cut-off, with their intervals", figures.cutoffs(cut), numbers
            )
        )
    return Section("measures", "Measures", verdicts(of_measure or compared), blocks)


def verdicts(compared: Sequence[Row]) -> list[str]:
    """A sentence for each candidate and measure of the first test."""
    tests = list(dict.fromkeys(row["test"] for row in compared))
    return [
        f"{row['candidate']} against {row['baseline']}, {row['measure']}: {_verdict(row)[0]}"
        f" ({row['delta']:+.4f}{_p(row)})"
        for row in compared
        if row["test"] == tests[0] and row["delta"] is not None
    ]


def _p(row: Row) -> str:
    p = row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"]
    return "" if p is None else f", p = {probability(p).text}, {row['test']}, {row['correction']}"


def _verdict(row: Row) -> tuple[str, str]:
    """In words, and good or bad: never more than the test could tell."""
    p = row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"]
    if p is None or row["delta"] is None:
        return row["note"] or "not tested", ""
    alpha = row["alpha"] or 0.05
    if row["p_least"] is not None and row["p_least"] >= alpha:
        return "could not be told by this test", ""
    if p >= alpha:
        return "no difference shown", ""
    return ("better", "good") if row["delta"] > 0 else ("worse", "bad")


def _compared(rows: Sequence[Row]) -> list[Table | Picture]:
    shown = []
    for row in rows:
        verdict, kind = _verdict(row)
        shown.append([
            words(row["measure"]), words(row["candidate"]), words(row["baseline"]),
            number(row["delta"], sign=True), between(row["ci_low"], row["ci_high"], sign=True),
            words(row["test"]), probability(row["p_value"]), probability(row["p_adjusted"]),
            Cell(verdict, verdict, kind), number(row["effect_size"]), number(row["wins"]),
            number(row["losses"]), number(row["ties"]), number(row["n_pairs"]),
            words(row["note"] or ""),
        ])  # fmt: skip
    columns = ["measure", "run", "against", "difference", "interval", "test", "p", "p corrected",
               "verdict", "effect size", "wins", "losses", "ties", "queries", "note"]  # fmt: skip
    corrections = ", ".join(sorted({str(row["correction"]) for row in rows}))
    note = f"p corrected for all comparisons of a test: {corrections}."
    table = without_empty(Table("comparison", "Against the baseline", columns, shown, note=note))
    first = [row for row in rows if row["test"] == rows[0]["test"] and row["delta"] is not None]
    kept = ("baseline", "candidate", "measure", "delta", "ci_low", "ci_high")
    numbers = [{key: row[key] for key in kept} for row in first[:SEGMENTS]]
    if len({row["baseline"] for row in first}) != 1:
        return [table]
    caption = "Differences with their intervals"
    return [table, Picture("differences", caption, figures.differences(first[:SEGMENTS]), numbers)]


def segments(aggregate: Sequence[Row], measure: str) -> Section | None:
    """A heat map of the largest segments."""
    rows = [row for row in aggregate if row["measure"] == measure]
    if all(row["segment"] == ALL for row in rows):
        return None
    return heat_of([dict(row) for row in rows], measure, "segments", "Segments")


def heat_of(rows: list[dict[str, Any]], measure: str, name: str, title: str) -> Section:
    found = cells(rows)
    sizes: dict[str, int] = defaultdict(int)
    for row in found:
        sizes[row["segment"]] += row["n"] or 0
    largest = set(sorted(sizes, key=lambda s: (-sizes[s], s))[:SEGMENTS])
    kept = [row for row in found if row["segment"] in largest]
    left = len(sizes) - len(largest)
    text = [f"The {SEGMENTS} largest groups; {left:,} smaller ones are not shown."] if left else []
    caption = f"Mean {measure} by group, with the group's size"
    return Section(name, title, text, [Picture(name, caption, figures.heat(kept), kept)])


def queries(
    histogram: Sequence[Row], extremes: Sequence[Row], documents: Sequence[Row], measure: str,
    baseline: str | None,
) -> Section:  # fmt: skip
    """How values spread, and the biggest wins and losses with their documents where known."""
    blocks: list[Table | Picture] = []
    if histogram:
        caption = f"{measure}: how many queries have which value"
        blocks.append(Picture("distribution", caption, figures.histogram(histogram), histogram))
    lists = defaultdict(list)
    for row in documents:
        lists[row["run_id"], row["query_id"], row["measure"]].append(row)
    for run in dict.fromkeys(row["run_id"] for row in extremes):
        own = [row for row in extremes if row["run_id"] == run]
        for place, (what, side) in enumerate((("losses", -1), ("wins", 1))):
            kept = [row for row in own if row["delta"] * side > 0]
            kept.sort(key=lambda row: (-abs(row["delta"]), row["query_id"]))
            if not kept:
                continue
            shown = [
                [words(row["query_id"]), number(row["value"]), number(row["baseline_value"]),
                 number(row["delta"], kind="good" if side > 0 else "bad", sign=True)]
                for row in kept
            ]  # fmt: skip
            more = {
                i: _documents(lists[key], row["query_id"])
                for i, row in enumerate(kept)
                if (key := (run, row["query_id"], measure)) in lists
            }
            name = f"{what}-{list(dict.fromkeys(r['run_id'] for r in extremes)).index(run)}"
            columns = ["query", run, str(baseline), "difference"]
            caption = f"Biggest {what} of {run} against {baseline}, {measure}"
            note = "" if more or place else "explain --out shows their documents here."
            blocks.append(Table(name, caption, columns, shown, more, note))
    return Section("queries", "Query by query", blocks=blocks)


def _documents(rows: Sequence[Row], query: str) -> Table:
    ordered = sorted(rows, key=lambda r: (r["rank"] is None, r["rank"] or r["ideal_rank"] or 0))
    shown = [
        [words(row["doc_id"]), number(row["rank"]), number(row["relevance"], 0),
         number(row["contribution"]), number(row["lost"]), number(row["ideal_rank"]),
         number(row.get("baseline_rank"))]
        for row in ordered[:DOCUMENTS]
    ]  # fmt: skip
    columns = ["document", "rank", "label", "adds", "lost", "ideal rank", "baseline's rank"]
    left = len(ordered) - len(shown)
    return Table("documents", f"Documents of {query}", columns, shown,
                 note=f"{left} more are not shown." if left > 0 else "")  # fmt: skip
