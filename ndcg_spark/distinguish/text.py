"""What `distinguishability` prints: curves at the largest size, pairs, counts, advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from ndcg_spark.distinguish.job import Distinguished
from ndcg_spark.engine.text import json_text, number, text_table


def print_distinguished(found: Distinguished, how: str, out: TextIO) -> None:
    """Print means at every size, the verdicts at the largest, and what follows from them."""
    if how == "json":
        text = {
            "engine": found.engine,
            "curves": found.curves,
            "pairs": found.pairs,
            "counts": found.counts,
            "advice": found.advice,
            "tables": found.tables,
        }
        print(json_text("distinguishability", text), file=out)
        return
    sizes = sorted({row["n"] for row in found.curves})
    print(f"{text_table(_curves(found, sizes))}\n", file=out)
    if found.pairs:
        print(f"{text_table(_pairs(found, sizes[-1]))}\n", file=out)
    print(", ".join(f"{name} {n}" for name, n in found.counts.items()) + "\n", file=out)
    for line in found.advice:
        print(f"- {line}", file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


def _curves(found: Distinguished, sizes: list[int]) -> list[list[str]]:
    shown = sizes if len(sizes) <= 6 else sizes[-6:]
    rows = [["measure", "ranker", *(f"n={size}" for size in shown), "corrected", "limit"]]
    cells: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in found.curves:
        cells.setdefault((row["measure"], row["run_id"]), {})[row["n"]] = row
    for (measure, run), own in sorted(
        cells.items(), key=lambda item: [r["measure"] for r in found.curves].index(item[0][0])
    ):
        last = own[sizes[-1]]
        values = [number(own[size]["mean"], False) for size in shown]
        rows.append(
            [
                measure,
                run,
                *values,
                number(last["mean_cc"], False),
                number(last["limit_plugin"], False),
            ]
        )
    return rows


def _pairs(found: Distinguished, size: int) -> list[list[str]]:
    heading = ["measure", "pair", "gap", "corrected", "signal/noise", "grows as n^", "win share"]
    rows = [[*heading, "95% interval", "settled", "queries", "verdict"]]
    late = sorted({row["n"] for row in found.pairs})[-3:][0]
    settled = {
        (row["measure"], row["run_a"], row["run_b"]): row["settled_share"]
        for row in found.pairs
        if row["n"] == late
    }
    for row in found.pairs:
        if row["n"] != size:
            continue
        low, high = row["win_lo"], row["win_hi"]
        rows.append(
            [
                row["measure"],
                f"{row['run_a']} - {row['run_b']}",
                number(row["mean_gap"], False),
                number(row["cc_gap"], False),
                number(row["snr"], False),
                number(row["snr_exponent"], False),
                number(row["win_share"], False),
                "-" if low is None else f"[{low:.3f}, {high:.3f}]",
                number(settled[row["measure"], row["run_a"], row["run_b"]], False),
                str(row["n_queries"]),
                row["verdict"],
            ]
        )
    return rows
