"""Figures of stored tables: rows in, a figure of matplotlib out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.plot.style import INK, SERIES, drawing, styled

Row = Mapping[str, Any]
MOST = len(SERIES)  # more lines are not told apart


def differences(rows: Sequence[Row]) -> Any:
    """Candidates less baseline with their intervals: a line for each row of a comparison."""
    with styled():
        figure = drawing(height=1.0 + 0.32 * max(len(rows), 1))
        axes = figure.add_subplot()
        names = sorted({row[key] for row in rows for key in ("candidate", "baseline")})
        labels = []
        for place, row in enumerate(rows):
            color = SERIES[names.index(row["candidate"]) % MOST]
            labels.append(f"{row['measure']}  {row['candidate']}")
            if row["ci_low"] is not None and row["ci_high"] is not None:
                axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=color, linewidth=2)
            axes.plot([row["delta"]], [place], marker="o", color=color)
        axes.axvline(0, color=INK, linewidth=1)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        base = rows[0]["baseline"] if rows else "the baseline"
        axes.set_xlabel(f"difference to {base} (mean, with its interval)")
    return figure


def cutoffs(rows: Sequence[Row]) -> Any:
    """The mean of a measure by its cut-off, one line a run: rows of family, cutoff, run_id, mean,
    ci_low, ci_high."""
    families = list(dict.fromkeys(row["family"] for row in rows))
    with styled():
        figure = drawing(width=3.6 * max(len(families), 2))
        for place, family in enumerate(families, 1):
            axes = figure.add_subplot(1, max(len(families), 2), place)
            own = [row for row in rows if row["family"] == family]
            lines(axes, own, "run_id", "cutoff", "mean", "ci_low", "ci_high")
            axes.set_title(family, fontsize=10)
            axes.set_xlabel("cut-off")
            axes.set_xticks(sorted({row["cutoff"] for row in own}))
            axes.legend(fontsize=8)
    return figure


def histogram(rows: Sequence[Row]) -> Any:
    """Of how many queries a run has which value: rows of run_id, low, high, n."""
    with styled():
        figure = drawing()
        axes = figure.add_subplot()
        for place, run in enumerate(_few(rows, "run_id")):
            own = sorted((r for r in rows if r["run_id"] == run), key=lambda r: r["low"])
            edges = [r["low"] for r in own] + [own[-1]["high"]]
            counts = [r["n"] for r in own]
            axes.stairs(counts, edges, color=SERIES[place], linewidth=1.6, label=run)
        axes.set_xlabel("value of a query")
        axes.set_ylabel("queries")
        axes.legend(fontsize=8)
    return figure


def heat(rows: Sequence[Row]) -> Any:
    """Means by segment and column (a run, an arm, a measure): rows of segment, column, value, n."""
    segments = list(dict.fromkeys(row["segment"] for row in rows))
    columns = list(dict.fromkeys(row["column"] for row in rows))
    known = [row["value"] for row in rows if row["value"] is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    with styled():
        figure = drawing(2.4 + 1.1 * max(len(columns), 3), 1.0 + 0.36 * max(len(segments), 1))
        axes = figure.add_subplot()
        from matplotlib.patches import Rectangle

        for row in rows:
            x, y = columns.index(row["column"]), segments.index(row["segment"])
            if row["value"] is None:
                text, share = "hidden" if row.get("suppressed") else "-", 0.0
            else:
                text = f"{row['value']:.3f}"
                share = (row["value"] - low) / (high - low) if high > low else 0.5
            axes.add_patch(
                Rectangle((x, y), 1, 1, facecolor=SERIES[0], alpha=0.05 + 0.4 * share, linewidth=0)
            )
            axes.text(
                x + 0.5, y + 0.5, f"{text}  n={row['n']:,}", ha="center", va="center", fontsize=8
            )
        axes.set_xlim(0, max(len(columns), 1))
        axes.set_ylim(max(len(segments), 1), 0)
        axes.set_xticks([i + 0.5 for i in range(len(columns))], columns)
        axes.set_yticks([i + 0.5 for i in range(len(segments))], segments)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.xaxis.tick_top()
        for side in axes.spines.values():
            side.set_visible(False)
    return figure


def trend(rows: Sequence[Row]) -> Any:
    """Means by day with bands: rows of arm, date, mean, ci_low, ci_high."""
    days = sorted({row["date"] for row in rows})
    placed = [{**row, "day": days.index(row["date"])} for row in rows]
    with styled():
        figure = drawing()
        axes = figure.add_subplot()
        lines(axes, placed, "arm", "day", "mean", "ci_low", "ci_high")
        step = math.ceil(len(days) / 8) or 1
        axes.set_xticks(range(0, len(days), step), days[::step])
        axes.legend(fontsize=8, title="arm")
    return figure


def propensities(rows: Sequence[Row]) -> Any:
    """How likely a place is looked at, relative to the first: rows of segment, rank, propensity."""
    with styled():
        figure = drawing()
        axes = figure.add_subplot()
        lines(axes, rows, "segment", "rank", "propensity")
        axes.set_ylim(0, None)
        axes.set_xticks(sorted({row["rank"] for row in rows}))
        axes.set_xlabel("rank")
        axes.set_ylabel("propensity (first rank = 1)")
        axes.legend(fontsize=8)
    return figure


def curves(rows: Sequence[Row]) -> Any:
    """The paper's panels: mean nDCG by sample size with bands of two standard errors, a panel for
    each measure; that of the log discount once more, enlarged about the largest samples."""
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    panels = [(measure, False) for measure in measures]
    if "nDCG" in measures:
        panels.insert(measures.index("nDCG") + 1, ("nDCG", True))
    width = min(3, max(len(panels), 1))
    height = -(-len(panels) // width) or 1
    with styled():
        figure = drawing(4.0 * width, 3.1 * height)
        for place, (measure, enlarged) in enumerate(panels, 1):
            axes = figure.add_subplot(height, width, place)
            _panel(axes, [row for row in rows if row["measure"] == measure], enlarged)
            axes.set_title(f"{measure}, enlarged" if enlarged else measure, fontsize=10)
    return figure


def _panel(axes: Any, rows: Sequence[Row], enlarged: bool) -> None:
    last = sorted({row["n"] for row in rows})[-3:]
    banded = [
        {**row, "low": row["mean"] - 2 * error, "high": row["mean"] + 2 * error}
        for row in rows
        if row["mean"] is not None and (not enlarged or row["n"] in last)
        for error in [row["se"] or 0.0]
    ]
    lines(axes, banded, "run_id", "n", "mean", "low", "high")
    _log_scale(axes, {row["n"] for row in banded})
    if not enlarged:
        axes.set_ylim(0, 1.02)
    axes.set_xlabel("documents")
    axes.set_ylabel("mean nDCG")
    axes.legend(fontsize=8)


def _log_scale(axes: Any, sizes: set[int]) -> None:
    """A logarithmic axis with five plain numbers that are in the table."""
    known = sorted(sizes)
    axes.set_xscale("log")
    axes.set_xticks([], minor=True)
    if known:
        span = math.log(known[-1] / known[0])
        places = [known[0] * math.exp(span * i / 4) for i in range(5)]
        shown = sorted({min(known, key=lambda n: abs(math.log(n / p))) for p in places})
        axes.set_xticks(shown, [f"{n:,}" for n in shown])
        axes.minorticks_off()


def lines(
    axes: Any, rows: Sequence[Row], by: str, x: str, y: str, low: str = "", high: str = ""
) -> None:
    """A line for each value of `by`, with a band where both bounds are known."""
    for place, name in enumerate(_few(rows, by)):
        own = sorted((r for r in rows if r[by] == name and r[y] is not None), key=lambda r: r[x])
        points = [row[x] for row in own]
        color = SERIES[place]
        axes.plot(points, [row[y] for row in own], marker=".", color=color, label=name)
        banded = [row for row in own if low and row[low] is not None and row[high] is not None]
        if banded:
            axes.fill_between(
                [row[x] for row in banded], [row[low] for row in banded],
                [row[high] for row in banded], alpha=0.2, color=color, linewidth=0,
            )  # fmt: skip


def _few(rows: Sequence[Row], by: str) -> list[Any]:
    """The first names, sorted: a run has the same colour in every figure of a page."""
    return sorted({row[by] for row in rows}, key=str)[:MOST]
