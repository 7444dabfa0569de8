"""Gates: `--fail-if "nDCG@10 worse p<0.05"`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import parse_measures

_RULE = re.compile(
    r"\s*(?P<measure>\S+)\s+(?P<what>worse|better|different)"
    r"(?:\s+by\s*>\s*(?P<by>\d*\.?\d+)(?P<percent>%?))?"
    r"(?:\s+in\s+(?P<segment>\S+))?"
    r"(?:\s+p\s*<\s*(?P<p>\d*\.?\d+(?:[eE]-?\d+)?))?\s*"
)
EXAMPLE = "'nDCG@10 worse p<0.05', 'AP worse by > 2%' or 'RR different in country=DE p<0.01'"


@dataclass(frozen=True)
class Gate:
    """A candidate that must not be worse (better, different), by an amount, significantly."""

    text: str
    measure: str
    what: str
    by: float
    percent: bool
    segment: str
    p: float | None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """
        Raises:
            UsageError: for text that is no rule, or an unknown measure.
        """
        match = _RULE.fullmatch(text)
        if not match:
            raise UsageError(f"cannot read --fail-if {text!r}; write {EXAMPLE}")
        return cls(
            text,
            str(parse_measures(match["measure"])[0]),
            match["what"],
            float(match["by"] or 0.0),
            bool(match["percent"]),
            match["segment"] or "all",
            None if match["p"] is None else float(match["p"]),
        )

    def applies(self, row: Mapping[str, Any]) -> bool:
        return bool(row["measure"] == self.measure and row["segment"] == self.segment)

    def broken(self, row: Mapping[str, Any]) -> str | None:
        """Why a row of the comparison breaks the gate, or None.

        A difference that no test can judge (too few queries, all alike) breaks a gate that asks for
        a p-value: better a question too many than a regression that nobody sees.
        """
        delta = row["delta"]
        what = f"{row['candidate']} against {row['baseline']}, {row['measure']} ({row['segment']})"
        if delta is None:
            return f"{what}: no common query; {self.text}"
        size = {"worse": -delta, "better": delta, "different": abs(delta)}[self.what]
        least = self.by / 100 * abs(row["mean_baseline"]) if self.percent else self.by
        if size <= least:
            return None
        p = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
        if self.p is not None and p is not None and p >= self.p:
            return None
        shown = row["note"] if p is None else f"p = {p:.3g} ({row['test']}, {row['correction']})"
        return f"{what}: {delta:+.6f}, {shown}; {self.text}"
