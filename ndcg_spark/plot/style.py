"""How figures look, and how they become files: without dates and random names, so the same numbers
give the same bytes."""

from __future__ import annotations

import io
import re
from typing import Any

from ndcg_spark.errors import UsageError

# told apart by those who see colours differently (after Okabe and Ito), dark enough on white
SERIES = ("#0061a8", "#b34700", "#00735a", "#a23f86", "#6b5a00", "#4b4fbf", "#8c2d2d", "#3f6d7a")
INK, FAINT = "#1b1c1d", "#c9cbcd"
RC: Any = {
    "font.family": ["DejaVu Sans"], "font.size": 10, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": FAINT,
    "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False, "svg.hashsalt": "ndcg_spark", "svg.fonttype": "none",
    "text.parse_math": False,
}  # fmt: skip


def drawing(width: float = 7.2, height: float = 3.4) -> Any:
    """An empty figure in inches, which belongs to no screen.

    Raises:
        UsageError: where matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'ndcg-spark[report]'") from None

    class Drawing(Figure):
        """A figure that a notebook shows, also before anyone imported pyplot."""

        def _repr_png_(self) -> bytes:
            return written(self, "png")

    figure = Drawing(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def styled() -> Any:
    """The context in which all is drawn and written."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'ndcg-spark[report]'") from None
    return rc_context(RC)


def written(figure: Any, kind: str) -> bytes:
    """The figure as a file: svg or png."""
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with styled():
        figure.savefig(stream, format=kind, metadata=metadata, dpi=150)
    return stream.getvalue()


def save(figure: Any, path: str) -> None:
    """Write the figure to a file, .svg or .png."""
    content = written(figure, "svg" if path.endswith(".svg") else "png")
    with open(path, "wb") as file:
        file.write(content)


def inline(figure: Any, name: str, label: str) -> str:
    """The figure as SVG to stand in a page, whose style sheet has its colours (light and dark).

    name: starts the names of its parts, which must differ from those of other figures
    label: what a screen reader says
    """
    text = written(figure, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id="|#|xlink:href="#)(?=[A-Za-z_])(?![0-9a-f]{6}\b)', rf"\1{name}-", text)
    for place, color in enumerate(SERIES, 1):
        text = text.replace(color, f"var(--s{place})")
    text = text.replace(INK, "currentColor").replace(FAINT, "var(--line)")
    text = text.replace("#ffffff", "transparent")
    shown = label.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{shown}" ', text, count=1)
