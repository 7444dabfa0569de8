"""What a page is made of."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """Text of a table's cell; `order` is what it sorts by, `kind` good, bad or best."""

    text: str
    order: str | float | None = None
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under headings; a row may have more to show, rows of a table of its own."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    more: Mapping[int, Table] = field(default_factory=dict)
    note: str = ""

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [
            all(not isinstance(row[i].order, str) for row in self.rows) and bool(self.rows)
            for i in range(len(self.columns))
        ]


@dataclass(frozen=True)
class Picture:
    """A figure with its numbers."""

    name: str
    caption: str
    figure: Any
    numbers: Sequence[Row]

    def csv(self) -> str:
        """The numbers; what a spreadsheet would run as a formula gets an apostrophe."""
        columns = list(dict.fromkeys(key for row in self.numbers for key in row))
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for row in self.numbers:
            writer.writerow([_inert(row.get(column)) for column in columns])
        return stream.getvalue()


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    text: Sequence[str] = ()
    blocks: Sequence[Table | Picture] = ()


def _inert(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def without_empty(table: Table) -> Table:
    """The table without columns in which no row says anything."""
    kept = [
        place
        for place in range(len(table.columns))
        if any(row[place].text not in ("", "-") for row in table.rows)
    ]
    return replace(
        table,
        columns=[table.columns[place] for place in kept],
        rows=[[row[place] for place in kept] for row in table.rows],
    )


def words(value: object) -> Cell:
    text = "-" if value is None else str(value)
    return Cell(text, text)


def number(value: float | None, digits: int = 4, kind: str = "", sign: bool = False) -> Cell:
    """A number, in its own digits where it is whole."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Cell("-" if value is None or math.isnan(value) else str(value), None, kind)
    if isinstance(value, int):
        return Cell(f"{value:,}", float(value), kind)
    return Cell(f"{value:{'+' if sign else ''}.{digits}f}", value, kind)


def probability(value: float | None) -> Cell:
    """A p-value: three digits, or its order of magnitude."""
    if value is None:
        return Cell("-")
    return Cell(f"{value:.3f}" if value >= 0.001 else f"{value:.0e}", value)


def between(low: float | None, high: float | None, sign: bool = False) -> Cell:
    if low is None or high is None:
        return Cell("-")
    shown = "+" if sign else ""
    return Cell(f"{low:{shown}.4f} to {high:{shown}.4f}", low)
