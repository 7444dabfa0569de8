"""What the terminal and a pull request's comment show of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from ndcg_spark.engine.text import markdown_table, markdown_text
from ndcg_spark.report.blocks import Section, Table

SHOWN = ("means", "comparison")  # tables that a comment has room for
WANTED = {"comparison": ("measure", "run", "difference", "interval", "p corrected", "verdict")}
LINES = 40


def markdown_summary(title: str, sections: Sequence[Section], verdicts: Sequence[str]) -> str:
    """The means and the comparison, short enough for a comment."""
    parts = [f"## {markdown_text(title)}"]
    if verdicts:
        parts.append("\n".join(f"- {markdown_text(text)}" for text in verdicts[:10]))
    for table in (b for s in sections for b in s.blocks if isinstance(b, Table)):
        if table.name in SHOWN:
            wanted = WANTED.get(table.name, tuple(table.columns))
            places = [i for i, column in enumerate(table.columns) if column in wanted]
            rows = [[row[i].text for i in places] for row in table.rows[:LINES]]
            head = [[str(table.columns[i]) for i in places]]
            parts.append(f"**{markdown_text(table.caption)}**\n\n{markdown_table(head + rows)}")
            if len(table.rows) > LINES:
                parts.append(f"{len(table.rows) - LINES} more rows are in the report.")
    return "\n\n".join(parts) + "\n"


def print_report(
    page: str, size: int, files: Sequence[str], verdicts: Sequence[str], out: TextIO
) -> None:
    for text in verdicts:
        print(text, file=out)
    print(f"report: {page} ({size / 1000:,.0f} kB)", file=out)
    for file in files:
        print(f"also: {file}", file=out)
