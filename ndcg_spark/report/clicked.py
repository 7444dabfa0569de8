"""Sections of click logs, propensities, and of distinguishability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.plot import figures
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
from ndcg_spark.report.evaluated import heat_of
from ndcg_spark.tables.segments import ALL

Row = Mapping[str, Any]
TREND = ("arm", "date", "mean", "ci_low", "ci_high", "n_units", "coverage")


def nights(daily: Sequence[Row], differences: Sequence[Row], measure: str) -> list[Section]:
    """The trend of a measure by arm, arms compared, and groups of the last day."""
    own = [row for row in daily if row["measure"] == measure and row["unit"] == "impression"]
    all_of = [row for row in own if row["segment"] == ALL]
    numbers = [{key: row[key] for key in TREND} for row in all_of]
    last = max((row["date"] for row in all_of), default="")
    blocks: list[Table | Picture] = []
    if all_of:
        caption = f"Mean {measure} of a night, with intervals clustered by user"
        blocks.append(Picture("trend", caption, figures.trend(all_of), numbers))
    shown = [
        [words(row["date"]), words(row["arm"]), words(row["measure"]), number(row["mean"]),
         between(row["ci_low"], row["ci_high"]), number(row["n_units"]), number(row["coverage"])]
        for row in daily
        if row["segment"] == ALL and row["unit"] == "impression" and not row["suppressed"]
    ]  # fmt: skip
    columns = ["night", "arm", "measure", "mean", "interval", "impressions", "coverage"]
    note = "Coverage: impressions with a click, which have a value."
    blocks.append(Table("nights", "Nights", columns, shown, note=note))
    if differences:
        blocks.append(_arms(differences))
    found = [Section("nights", "Nights of clicks", blocks=blocks)]
    today = [dict(row) for row in own if row["date"] == last]
    if any(row["segment"] not in (ALL, "all+bots") for row in today):
        found.append(heat_of(today, measure, "groups", f"Groups of {last}"))
    return found


def _arms(rows: Sequence[Row]) -> Table:
    shown = []
    for row in rows:
        broken = row.get("sample_ratio") == "broken"
        note = "sample ratio broken: do not trust" if broken else row.get("estimate") or ""
        shown.append([
            words(row.get("event_date")), words(row["segment"]), words(row["measure"]),
            words(row["candidate"]), words(row["baseline"]), number(row["delta"], sign=True),
            between(row["ci_low"], row["ci_high"], sign=True), probability(row["p_value"]),
            probability(row.get("p_anytime")), words(row.get("period")),
            Cell(note, note, "bad" if broken else ""),
        ])  # fmt: skip
    columns = ["night", "segment", "measure", "arm", "against", "difference", "interval", "p",
               "p however often one looks", "period", "estimate"]  # fmt: skip
    note = "p is for one look at one difference: it is not corrected for many."
    return without_empty(Table("arms", "Arms compared", columns, shown, note=note))


def positions(propensities: Sequence[Row], ips: Sequence[Row]) -> Section:
    """How much of a click is due to the place, and what lists are worth without that."""
    kept = ("segment", "rank", "propensity", "method")
    numbers = [{key: row.get(key) for key in kept} for row in propensities]
    blocks: list[Table | Picture] = []
    if propensities:
        methods = ", ".join(sorted({str(row.get("method")) for row in propensities}))
        caption = f"Propensity by rank, method {methods}"
        blocks.append(Picture("propensities", caption, figures.propensities(propensities), numbers))
    if ips:
        shown = [
            [words(row["name"]), words(row["run"]), words(row["utility"]), number(row["ips"]),
             between(row["ci_low"], row["ci_high"]), number(row["snips_click"]),
             number(row["ess_share"]), number(row["n_unsupported"])]
            for row in ips
        ]  # fmt: skip
        columns = ["propensities", "list", "utility", "IPS", "interval", "SNIPS",
                   "share of clicks that count", "unsupported"]  # fmt: skip
        note = "The interval is that of the clicks; the error of the propensities is not in it."
        blocks.append(
            Table("ips", "Worth of lists without position bias", columns, shown, note=note)
        )
    return Section("positions", "Position bias", blocks=blocks)


def distinguished(curves: Sequence[Row], pairs: Sequence[Row]) -> Section:
    """The paper's panels, and the verdict of each pair at the largest sample."""
    blocks: list[Table | Picture] = []
    if curves:
        kept = ("run_id", "measure", "n", "n_queries", "mean", "se", "sd")
        numbers = [{key: row.get(key) for key in kept} for row in curves]
        caption = "Mean by the number of documents, with bands of two standard errors"
        blocks.append(Picture("curves", caption, figures.curves(curves), numbers))
    largest: dict[tuple[str, str, str], Row] = {}
    for row in pairs:
        key = (row["measure"], row["run_a"], row["run_b"])
        if key not in largest or row["n"] > largest[key]["n"]:
            largest[key] = row
    kinds = {"separates": "good", "does_not_separate": "bad"}
    shown = [
        [words(row["measure"]), words(row["run_a"]), words(row["run_b"]),
         Cell(row["verdict"].replace("_", " "), row["verdict"], kinds.get(row["verdict"], "")),
         number(row["mean_gap"], sign=True), number(row["win_share"]),
         between(row["win_lo"], row["win_hi"]), number(row["n"]), number(row["n_queries"])]
        for row in largest.values()
    ]  # fmt: skip
    columns = ["measure", "ranker", "other", "verdict", "mean gap", "share won", "interval",
               "documents", "queries"]  # fmt: skip
    if shown:
        blocks.append(Table("verdicts", "Which measure tells which rankers apart", columns, shown))
    return Section("distinguishability", "What the measures can tell apart", blocks=blocks)
