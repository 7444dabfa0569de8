"""Gates, one grammar for every command: ``--fail-if "nDCG@10 worse by > 2% in country=DE p<0.05"``.

MEASURE WORD [[by] > AMOUNT[%]] [in SEGMENT] [p < P]; the words: worse or drop, better or rise,
different. A gate that cannot be decided is broken, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import parse_measures

_GATE = re.compile(
    r"\s*(?P<measure>\S+)\s+(?P<word>worse|drop|better|rise|different)"
    r"(?:\s*(?:\sby\s*)?>\s*(?P<by>\d*\.?\d+)(?P<percent>%?))?"
    r"(?:\s+in\s+(?P<segment>\S+))?"
    r"(?:\s+p\s*<\s*(?P<p>\d*\.?\d+(?:[eE]-?\d+)?))?\s*"
)
_SIGN = {"worse": -1, "drop": -1, "better": 1, "rise": 1, "different": 0}
EXAMPLE = (
    "'nDCG@10 worse p<0.05', 'nDCG@10 drop > 0.01', 'AP worse by > 2%' or "
    "'RR different in country=DE p<0.01'"
)


@dataclass(frozen=True)
class Gate:
    """Something that must not be worse (better, different), by an amount, significantly.

    sign: -1 where a fall breaks it, 1 where a rise does, 0 where both do
    """

    text: str
    measure: str
    sign: int
    by: float
    percent: bool
    segment: str
    p: float | None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """
        Raises:
            UsageError: for text that is no gate, or an unknown measure.
        """
        match = _GATE.fullmatch(text)
        if not match:
            raise UsageError(f"cannot read --fail-if {text!r}; write {EXAMPLE}")
        return cls(
            text,
            str(parse_measures(match["measure"])[0]),
            _SIGN[match["word"]],
            float(match["by"] or 0.0),
            bool(match["percent"]),
            match["segment"] or "all",
            None if match["p"] is None else float(match["p"]),
        )

    def applies(self, row: Mapping[str, Any]) -> bool:
        """Whether a row with `measure` and `segment` answers the gate."""
        return bool(row["measure"] == self.measure and row["segment"] == self.segment)

    def passed(self, change: float, before: float | None, p_value: float | None) -> bool:
        """Whether a change from `before` leaves the gate closed.

        A change without a p-value (too few queries, all alike) breaks a gate that asks for one:
        better a question too many than a regression that nobody sees.
        """
        size = change * self.sign if self.sign else abs(change)
        if size <= (self.by / 100 * abs(before or 0.0) if self.percent else self.by):
            return True
        return self.p is not None and p_value is not None and p_value >= self.p


def parsed(texts: Iterable[str], measures: Sequence[str] | None = None) -> list[Gate]:
    """The gates that these texts describe.

    Raises:
        UsageError: for text that is no gate, or a measure that is not among `measures`.
    """
    gates = [Gate.parse(text) for text in texts]
    for gate in gates:
        if measures is not None and gate.measure not in measures:
            raise UsageError(
                f"--fail-if {gate.text!r}: {gate.measure} is not among {', '.join(measures)}"
            )
    return gates
