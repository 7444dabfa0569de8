"""Interleaved impressions to credits of their teams, and to sums: numpy and pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.grouping import coded, counted, grouped
from ndcg_spark.clicks.drafts_kernel import TEAMS
from ndcg_spark.clicks.patterns_kernel import PROBLEMS, Gains, Read
from ndcg_spark.clicks.sums_kernel import SUMS, high_and_low
from ndcg_spark.measures.batch import Array

BAD_TEAMS, NO_TEAM = "bad_teams", "no_team"
PREFERENCE, CREDIT = "preference", "credit"
OUTCOMES = ("wins", "ties", "losses")


@dataclass(frozen=True)
class CreditCounts:
    """Counts (n) of impressions with equal keys, problem, credit and `clicked`, of a task.

    credit: the gain of the results that the other team picked, less that of the baseline's; places
        without a team (shared ones) count for neither
    clicked: whether any result has a gain
    problem: as of patterns; or ``bad_teams`` (a team that is neither A nor B), ``no_team`` (no
        result has one: the impression was not interleaved); the credit is 0 then
    """

    gains: Gains
    keys: tuple[str, ...]
    baseline: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from counted(map(self._counts, batches), lambda rows: grouped(rows, ("n",)))

    def _counts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        teams = batch.column("teams")
        read = Read.of(batch, self.gains, (teams,))
        flat = (teams if read.fit.all() else teams.filter(pa.array(read.fit))).flatten()
        code, names = coded(flat)
        side = np.array([self._side(name) for name in names.to_pylist()], np.float64)
        sides = side[code] if len(side) else np.zeros(0)
        n = batch.num_rows
        names_of = [str(name) if name else None for name in PROBLEMS]
        kinds = [*names_of, BAD_TEAMS, NO_TEAM]
        problem = read.problem.astype(np.int64)
        good = problem == 0
        wrong = np.bincount(read.row[np.isnan(sides)], minlength=n) > 0
        some = np.bincount(read.row[sides != 0], minlength=n) > 0
        problem[good & ~some] = kinds.index(NO_TEAM)
        problem[good & wrong] = kinds.index(BAD_TEAMS)
        value = np.array(self.gains.values)[read.code]
        good = problem == 0
        credit = np.bincount(read.row, weights=value * np.nan_to_num(sides), minlength=n)
        clicked = np.bincount(read.row[value > 0], minlength=n) > 0
        made = {
            "problem": pa.array(kinds, pa.string()).take(pa.array(problem)),
            "credit": pa.array(np.where(good, credit, 0.0)),
            "clicked": pa.array(good & clicked),
            "n": pa.array(np.ones(n, np.int64)),
        }
        own = pa.record_batch({**{key: batch.column(key) for key in self.keys}, **made})
        return grouped(own, ("n",))

    def _side(self, team: str | None) -> float:
        """1 of the other team, -1 of the baseline; 0 of none; NaN of what is no team."""
        if not team:
            return 0.0
        return float("nan") if team not in TEAMS else -1.0 if team == self.baseline else 1.0


def credit_sums(
    batches: Iterator[pa.RecordBatch], keys: Sequence[str], clickless: str
) -> Iterator[pa.RecordBatch]:
    """Rows (*keys, measure, *SUMS) of rows (*keys, credit, clicked, n), each of its own.

    preference: 1/2 for a win of the other team, -1/2 for a loss, 0 for a tie: its mean is (wins +
        ties / 2) / n - 1/2 (Radlinski, Kurup and Joachims 2008); credit; and wins, ties, losses as
        0 and 1. An impression without a click is a tie, or undefined.
    """
    for batch in batches:
        credit = batch.column("credit").to_numpy(zero_copy_only=False)
        clicked = batch.column("clicked").to_numpy(zero_copy_only=False)
        n = batch.column("n").to_numpy(zero_copy_only=False)
        gone = ~clicked & (clickless == "undefined")
        sign = np.sign(credit)
        values: dict[str, Array] = {PREFERENCE: sign / 2, CREDIT: credit}
        values |= dict(zip(OUTCOMES, (sign > 0, sign == 0, sign < 0), strict=True))
        for measure, value in values.items():
            own = np.where(gone, 0.0, value)
            parts = {"n": n, "n_undefined": np.where(gone, n, 0)}
            for name, number in (("sum", own), ("sumsq", own * own)):
                for part, whole in zip(("high", "low"), high_and_low(number), strict=True):
                    parts[f"{name}_{part}"] = whole * n
            yield pa.record_batch(
                {
                    **{key: batch.column(key) for key in keys},
                    "measure": pa.array([measure] * batch.num_rows, pa.string()),
                    **{part: pa.array(parts[part]) for part in SUMS},
                }
            )
