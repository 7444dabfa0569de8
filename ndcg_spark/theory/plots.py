"""The paper's panels from the curves table: mean nDCG by sample size, one line a ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.errors import UsageError

Row = Mapping[str, Any]


def plot_curves(curves: Sequence[Row], path: str) -> None:
    """Write a figure (.svg or .png): a panel for each measure, with bands of two standard errors;
    the first panel of the log discount comes once more, enlarged about the largest samples.

    Raises:
        UsageError: where matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'ndcg-spark[report]'") from None
    measures = list(dict.fromkeys(row["measure"] for row in curves))
    panels = [(measure, False) for measure in measures]
    if "nDCG" in measures:
        panels.insert(measures.index("nDCG") + 1, ("nDCG", True))
    width = 3
    height = -(-len(panels) // width)
    figure = Figure(figsize=(4.2 * width, 3.2 * height), layout="constrained")
    FigureCanvasAgg(figure)
    for place, (measure, enlarged) in enumerate(panels, 1):
        axes = figure.add_subplot(height, width, place)
        _panel(axes, [row for row in curves if row["measure"] == measure], enlarged)
        axes.set_title(f"{measure}, enlarged" if enlarged else measure, fontsize=10)
    # neither date nor random ids: the same curves give the same file
    metadata = {"Date": None} if path.endswith(".svg") else {"Software": None}
    with rc_context({"svg.hashsalt": "ndcg_spark"}):
        figure.savefig(path, metadata=metadata)


def _panel(axes: Any, rows: Sequence[Row], enlarged: bool) -> None:
    last = sorted({row["n"] for row in rows})[-3:]
    for run in dict.fromkeys(row["run_id"] for row in rows):
        own = [row for row in rows if row["run_id"] == run and row["mean"] is not None]
        if enlarged:
            own = [row for row in own if row["n"] in last]
        n, mean = [row["n"] for row in own], [row["mean"] for row in own]
        error = [2 * (row["se"] or 0.0) for row in own]
        (line,) = axes.plot(n, mean, marker=".", label=run)
        low, high = ([m + side * e for m, e in zip(mean, error, strict=True)] for side in (-1, 1))
        axes.fill_between(n, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    axes.set_xscale("log")
    if not enlarged:
        axes.set_ylim(0, 1.02)
    axes.set_xlabel("documents")
    axes.set_ylabel("mean nDCG")
    axes.legend(fontsize=8)
