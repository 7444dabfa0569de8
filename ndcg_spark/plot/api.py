"""Figures for Python users: a table in, a figure of matplotlib out."""

from __future__ import annotations

from typing import Any

from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.plot import figures
from ndcg_spark.plot.rows import by_cutoff, counted, need, rows_of
from ndcg_spark.tables.segments import ALL


def distribution(scores: Table, measure: object = None, *, bins: int = 20) -> Any:
    """Of how many queries each run has which value; the engine counts, whatever the size.

    scores: the per_query table
    measure: a name or object; the only one without

    Raises:
        UsageError: for a measure that the table does not have; without matplotlib.
    """
    session = session_of(scores)
    table = table_of("scores", scores, session)
    name = _measure([r["measure"] for r in table.select("measure").distinct().collect()], measure)
    rows = counted(table, name, bins)
    need(rows, name, "run_id")
    return figures.histogram(rows)


def cutoffs(aggregate: Any) -> Any:
    """Means by cut-off, a panel for each measure that the summary has at two cut-offs or more."""
    rows = _all(rows_of(aggregate))
    need(rows, "cutoffs", "run_id", "measure", "mean", "ci_low", "ci_high")
    found = by_cutoff(rows)
    if not found:
        raise UsageError("no measure has two cut-offs here")
    return figures.cutoffs(found)


def differences(comparison: Any) -> Any:
    """What `compare` found, against its baseline: differences with their intervals."""
    rows = _all(rows_of(comparison))
    need(rows, "differences", "candidate", "measure", "delta", "ci_low", "ci_high")
    return figures.differences(rows)


def segments(table: Any, measure: object = None) -> Any:
    """Means by segment and run (a summary) or arm (a day of clicks), with the sizes of groups."""
    rows = rows_of(table)
    need(rows, "segments", "segment", "measure", "mean")
    name = _measure([row["measure"] for row in rows], measure)
    return figures.heat(cells([row for row in rows if row["measure"] == name]))


def trend(
    daily: Any, measure: object = None, *, segment: str = ALL, unit: str = "impression"
) -> Any:
    """Means by day and arm with their intervals, of the table `daily`."""
    rows = rows_of(daily)
    need(rows, "trend", "arm", "date", "measure", "mean", "segment", "unit")
    name = _measure([row["measure"] for row in rows], measure)
    own = {"measure": name, "segment": segment, "unit": unit}
    chosen = [row for row in rows if all(row[key] == value for key, value in own.items())]
    need(chosen, f"trend of {name} in segment {segment} by {unit}")
    return figures.trend(chosen)


def propensities(table: Any) -> Any:
    """Propensities by rank, of the table of that name."""
    rows = rows_of(table)
    need(rows, "propensities", "segment", "rank", "propensity")
    return figures.propensities(rows)


def curves(table: Any) -> Any:
    """The panels of Wang et al. (2013): mean nDCG by sample size, of the table `curves`."""
    rows = rows_of(table)
    need(rows, "curves", "run_id", "measure", "n", "mean", "se")
    return figures.curves(rows)


def cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a summary, or of days of clicks, as cells of a heat map; the last day of each."""
    found = {}
    for row in sorted(rows, key=lambda row: str(row.get("date", ""))):
        column = row.get("run_id", row.get("arm")) or "all"
        hidden = bool(row.get("suppressed"))
        found[row["segment"], column] = {
            "segment": row["segment"], "column": column,
            "n": row.get("n_queries", row.get("n_units")),
            "value": None if hidden else row["mean"], "suppressed": hidden,
        }  # fmt: skip
    return list(found.values())


def _all(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("segment", ALL) == ALL]


def _measure(known: list[str], given: object) -> str:
    names = sorted(set(known))
    if given is None and len(names) != 1:
        raise UsageError(f"which measure? there are: {', '.join(names) or 'none'}")
    name = names[0] if given is None else str(given)
    if name not in names:
        raise UsageError(
            f"no measure {name!r} here{nearest(name, names)}; there are: {', '.join(names)}"
        )
    return name
