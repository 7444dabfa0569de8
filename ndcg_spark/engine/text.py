"""Tables of text, Markdown and LaTeX, and how numbers are shown."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from ndcg_spark.version import __version__

LETTERS = "abcdefghijklmnoprstuvwxyz"
SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"  # there is no q


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], out: TextIO) -> None:
    if not rows:
        return
    cells = [
        [v if isinstance(v := row[c], str) else number(v, isinstance(v, int)) for c in columns]
        for row in rows
    ]
    print(f"\n{text_table([[c.replace('_', ' ') for c in columns], *cells])}", file=out)


def interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4f}–{high:.4f}"


WIDTH = 80  # of a terminal that nobody made wider


def text_table(rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Rows, the first being the heading, as an aligned table; all but the first column right.

    A table that is wider goes on below, with the columns again that say what a row is of.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = _names(rows, widths, width // 2)
    left = sum(widths[i] + 2 for i in names)
    blocks: list[list[int]] = [[]]
    used = left
    for place in range(len(names), len(widths)):
        if blocks[-1] and used + widths[place] > width:
            blocks.append([])
            used = left
        blocks[-1].append(place)
        used += widths[place] + 2
    return "\n\n".join(_aligned(rows, widths, [*names, *block]) for block in blocks)


def _names(rows: Sequence[Sequence[str]], widths: Sequence[int], room: int) -> list[int]:
    """The first column, and those of words that follow it."""
    names = [0]
    for place in range(1, len(widths)):
        words = all(row[place][:1].isalpha() for row in rows)
        if not words or len(rows) < 2 or sum(widths[: place + 1]) > room:
            break
        names.append(place)
    return names


def _aligned(rows: Sequence[Sequence[str]], widths: Sequence[int], places: Sequence[int]) -> str:
    lines = []
    for row in rows:
        cells = [row[i].rjust(widths[i]) if i else row[i].ljust(widths[i]) for i in places]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * widths[i] for i in places))
    return "\n".join(lines)


def best_marked(values: Sequence[float | None], cells: Sequence[str]) -> list[str]:
    """The cells of a row with a star after the highest value, where there is something to choose.

    >>> best_marked([0.5, None, 0.75], ["0.5", "-", "0.75"])
    ['0.5 ', '- ', '0.75*']
    """
    known = [value for value in values if value is not None and not math.isnan(value)]
    if len(known) < 2 or min(known) == max(known):
        return [f"{cell} " for cell in cells]
    top = max(known)
    return [f"{cell}{'*' if v == top else ' '}" for v, cell in zip(values, cells, strict=True)]


def number(value: float | None, whole: bool) -> str:
    if value is None:
        return "-"
    return str(round(value)) if whole and math.isfinite(value) else f"{value:.4f}"


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: it becomes null."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}


def printable(text: str, kept: str = "") -> str:
    r"""The text with what would steer a terminal, or break a line, written out.

    >>> print(printable("doc\x1b[2J\n1"), printable("ein Maß"))
    doc\x1b[2J\n1 ein Maß
    """
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode()
        for sign in text
    )


class Printed(io.TextIOBase):
    """A stream to which only lines of printable text go, whatever ids hold."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(text if text.isprintable() else printable(text, "\n\t"))

    def flush(self) -> None:
        self._out.flush()


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line of one cell.

    >>> print(markdown_text("a|b <i>*x*</i> P_10 _y_"))
    a\|b \<i\>\*x\*\</i\> P_10 \_y\_
    """
    return re.sub(r"([\\`*<>|\[\]&~$]|\b_|_\b)", r"\\\1", printable(text))


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first being the heading, as a Markdown table."""
    lines = [f"| {' | '.join(map(markdown_text, row))} |" for row in rows]
    return "\n".join([lines[0], "|---" + "|---:" * (len(rows[0]) - 1) + "|", *lines[1:]])


def latex_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first being the heading, as a LaTeX tabular of the package booktabs."""
    lines = [" & ".join(map(latex_text, row)) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    head = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"])


def latex_text(text: str) -> str:
    """Text with what is special in LaTeX written out; superscripts as math."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {sign: "\\" + sign for sign in "&%$#_{}"}
    special |= {"▲": r"$^{\blacktriangle}$", "▼": r"$^{\blacktriangledown}$", "–": "--", "−": "$-$"}
    shown = "".join(special.get(sign, sign) for sign in text)
    return re.sub(
        f"[{SUPERSCRIPTS}]+",
        lambda found: f"$^{{{''.join(LETTERS[SUPERSCRIPTS.index(s)] for s in found[0])}}}$",
        shown,
    )


JSON_SCHEMA = (
    1  # grows when a key goes or changes its meaning; output.schema.json says what is there
)


def json_text(command: str, content: Mapping[str, Any]) -> str:
    """What ``--format json`` prints: of output.schema.json. NaN and infinity, which JSON lacks, are
    null."""
    head = {"command": command, "schema": JSON_SCHEMA, "version": __version__}
    return json.dumps(_finite({**head, **content}), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(own) for own in value]
    return value
