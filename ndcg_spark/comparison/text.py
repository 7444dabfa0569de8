"""What `compare` prints: tables for the terminal, papers and pull requests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from ndcg_spark.comparison.job import ComparisonFound
from ndcg_spark.engine.text import (
    LETTERS,
    SUPERSCRIPTS,
    json_text,
    latex_table,
    markdown_table,
    number,
    plain,
    print_rows,
    text_table,
)
from ndcg_spark.tables.segments import ALL

Row = Mapping[str, Any]
TABLES: dict[str, Callable[[Sequence[Sequence[str]]], str]] = {
    "table": text_table,
    "markdown": markdown_table,
    "latex": latex_table,
}
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def print_comparison(found: ComparisonFound, how: str, out: TextIO) -> None:
    """Print means with marks of significance, then the differences, then what to know of them."""
    rows = found.comparison
    if how == "json":
        text = {
            "engine": found.engine,
            "comparison": [plain(row) for row in rows],
            **(dataclasses.asdict(found.power) if found.power else {}),
            "tables": found.tables,
        }
        print(json_text("compare", text), file=out)
        return
    shown = TABLES[how]
    for test in dict.fromkeys(row["test"] for row in rows):
        own = [row for row in rows if row["test"] == test]
        print(f"{shown(means(own))}\n\n{shown(differences(own))}\n", file=out)
        print(f"{legend(own)}\n", file=out)
    if found.power:
        columns = (
            "measure", "share", "required_difference", "required_difference_se", "n_queries",
            "n_systems",
        )  # fmt: skip
        print_rows(found.power.power, columns, out)
        print_rows(found.power.agreement, ("measure_a", "measure_b", "tau_b", "tau_ap", "rbo"), out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


def means(rows: Sequence[Row]) -> list[list[str]]:
    """Systems against measures, by segment: each mean with the letters of the systems that it
    beats, or, with one baseline of several systems, a triangle for better or worse than that."""
    runs = list(dict.fromkeys([r["baseline"] for r in rows] + [r["candidate"] for r in rows]))
    one = len({row["baseline"] for row in rows}) == 1 and len(runs) > 2
    runs = runs if one else sorted(runs)
    letters = len(runs) <= len(LETTERS) and not one  # beyond: read the second table
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    table = [["system", *measures]]
    for segment in dict.fromkeys(row["segment"] for row in rows):
        own = [row for row in rows if row["segment"] == segment]
        for place, run in enumerate(runs):
            name = f"{LETTERS[place]}  {run}" if letters else run
            cells = [
                _mean(run, [row for row in own if row["measure"] == measure], runs, letters, one)
                for measure in measures
            ]
            table.append([name if segment == ALL else f"{name} ({segment})", *cells])
    return table


def _mean(run: str, rows: Sequence[Row], runs: Sequence[str], letters: bool, one: bool) -> str:
    value, marks = None, set()
    for row in rows:
        if run not in (row["baseline"], row["candidate"]):
            continue
        is_candidate = row["candidate"] == run
        value = (
            row["mean_candidate" if is_candidate else "mean_baseline"] if value is None else value
        )
        p = row["p_adjusted"]
        if p is None or p >= row["alpha"] or not row["delta"]:
            continue
        better = (row["delta"] > 0) == is_candidate
        other = row["baseline"] if is_candidate else row["candidate"]
        if letters and better:
            marks.add(SUPERSCRIPTS[runs.index(other)])
        elif one and is_candidate:
            marks.add("▲" if better else "▼")
    return number(value, False) + "".join(sorted(marks, key=(SUPERSCRIPTS + "▲▼").index))


def differences(rows: Sequence[Row]) -> list[list[str]]:
    """A line a pair: difference, interval, corrected p with stars, effect, wins, what n detects."""
    level = f"{100 * (1 - rows[0]['alpha']):g}%"
    extra = any(row["n_wanted"] is not None for row in rows)
    table = [
        [
            "comparison", "difference", f"{level} interval", "relative", "p (corrected)", "effect",
            "win/tie/loss", "n", "dropped", "detectable", *(["n wanted"] if extra else []), "note",
        ]
    ]  # fmt: skip
    sequences = any(row.get("p_anytime") is not None for row in rows)
    if sequences:
        table[0][3:3] = ["at any time", "p (any time)"]
    for row in rows:
        segment = "" if row["segment"] == ALL else f" ({row['segment']})"
        relative, delta = row["relative"], row["delta"]
        table.append(
            [
                f"{row['measure']}{segment}: {row['candidate']} − {row['baseline']}",
                "-" if delta is None else f"{delta:+.4f}",
                _interval(row["ci_low"], row["ci_high"]),
                *(_at_any_time(row) if sequences else []),
                "-" if relative is None else f"{100 * relative:+.2f}%",
                _p(row["p_adjusted"]),
                number(row["effect_size"], False),
                f"{row['wins']}/{row['ties']}/{row['losses']}",
                str(row["n_pairs"]),
                str(row["n_dropped"]),
                number(row["mdd"], False),
                *([str(row["n_wanted"] or "-")] if extra else []),
                row["note"] or "",
            ]
        )
    return table


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _at_any_time(row: Row) -> list[str]:
    return [_interval(row["cs_low"], row["cs_high"]), _p(row["p_anytime"])]


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    stars = next((mark for level, mark in STARS if p < level), "")
    return (f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}") + stars


def _replicates(rows: Sequence[Row]) -> str:
    drawn = {row["replicates"] for row in rows} - {None}
    return f"{max(drawn)} replicates; " if drawn else ""


def legend(rows: Sequence[Row]) -> str:
    """What was tested, in one paragraph."""
    some = rows[0]
    count = sum(row["p_value"] is not None for row in rows)
    seed = "" if some["seed"] is None else f"; {_replicates(rows)}seed {some['seed']}"
    differ = len({row["n_pairs"] for row in rows if row["segment"] == some["segment"]}) > 1
    means = " A mean is over the queries shared with the first other system." if differ else ""
    return (
        f"test {some['test']}, correction {some['correction']} over {count} comparisons{seed}. "
        f"Letters and triangles: corrected p < {some['alpha']:g}; *** p < 0.001, ** < 0.01, "
        f"* < 0.05. detectable: the true difference that n finds with the power asked for.{means}"
    )
