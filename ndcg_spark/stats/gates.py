"""Gates, one grammar for every command: ``--fail-if "nDCG@10 worse by > 2% in country=DE p<0.05"``.

MEASURE WORD [[by] > AMOUNT[%]] [in SEGMENT] [p < P] [anytime]; the words: worse or drop, better or
rise, different; with ``anytime`` p is the always valid one (below .05, if no P is given). And
``sample_ratio broken``. A gate that cannot be decided is broken, with the reason.
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
    r"(?:\s+p\s*<\s*(?P<p>\d*\.?\d+(?:[eE]-?\d+)?))?(?P<anytime>\s+anytime)?\s*"
)
RATIO = "sample_ratio"
ANYTIME_P = 0.05
_RATIO_GATE = re.compile(rf"\s*{RATIO}\s+broken\s*")
_SIGN = {"worse": -1, "drop": -1, "better": 1, "rise": 1, "different": 0}
EXAMPLE = (
    "'nDCG@10 worse p<0.05', 'nDCG@10 drop > 0.01 anytime', 'AP worse by > 2%', "
    "'RR different in country=DE p<0.01' or 'sample_ratio broken'"
)


@dataclass(frozen=True)
class Gate:
    """Something that must not be worse (better, different), by an amount, significantly.

    measure: of the scores; or `sample_ratio`, the split of the traffic
    sign: -1 where a fall breaks it, 1 where a rise does, 0 where both do
    anytime: p is of a confidence sequence
    """

    text: str
    measure: str
    sign: int
    by: float
    percent: bool
    segment: str
    p: float | None
    anytime: bool = False

    @property
    def is_of_ratio(self) -> bool:
        return self.measure == RATIO

    @property
    def of_arms(self) -> bool:
        """Whether it looks at the experiment's arms, and not at one day against those before."""
        return self.is_of_ratio or self.anytime

    @classmethod
    def parse(cls, text: str) -> Gate:
        """
        Raises:
            UsageError: for text that is no gate, or an unknown measure.
        """
        if _RATIO_GATE.fullmatch(text):
            return cls(text, RATIO, 0, 0.0, False, "all", None)
        match = _GATE.fullmatch(text)
        if not match:
            raise UsageError(f"cannot read --fail-if {text!r}; write {EXAMPLE}")
        anytime = bool(match["anytime"])
        usual = ANYTIME_P if anytime else None
        return cls(
            text,
            str(parse_measures(match["measure"])[0]),
            _SIGN[match["word"]],
            float(match["by"] or 0.0),
            bool(match["percent"]),
            match["segment"] or "all",
            usual if match["p"] is None else float(match["p"]),
            anytime,
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


def parsed(
    texts: Iterable[str],
    measures: Sequence[str] | None = None,
    *,
    anytime: bool = False,
    ratio: bool = False,
) -> list[Gate]:
    """The gates that these texts describe.

    anytime, ratio: whether the command has confidence sequences, and the split of the traffic

    Raises:
        UsageError: for text that is no gate, or asks for what the command does not find out.
    """
    gates = [Gate.parse(text) for text in texts]
    for gate in gates:
        why = None
        if gate.is_of_ratio:
            why = None if ratio else "the sample ratio is found by clicks with --baseline"
        elif measures is not None and gate.measure not in measures:
            why = f"{gate.measure} is not among {', '.join(measures)}"
        elif gate.anytime and not anytime:
            why = "give --anytime too"
        if why:
            raise UsageError(f"--fail-if {gate.text!r}: {why}")
    return gates
