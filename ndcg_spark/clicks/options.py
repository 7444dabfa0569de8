"""What the jobs on click logs can be told."""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass
from typing import Literal

from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.clicks.splits import designed
from ndcg_spark.clicks.stored import days_from
from ndcg_spark.engine.options import ReadingJob, pairs
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures.fields import option
from ndcg_spark.stats.gates import RATIO

MEASURES = ("nDCG@10", "RR", "AP", "P@1", "binG@10")
PAPER = ((100.0, 1.0), (1001.0, 2.0))  # Wang et al. 2013: more than 1000 clicks, 100 to 1000, fewer


@dataclass(frozen=True, kw_only=True)
class LogJob(ReadingJob):
    """What every job on a click log can be told."""

    impressions: str | None = option(None, "the log: a Parquet path or table:NAME")
    date: str | None = option(None, "the day to evaluate, 2026-11-29")
    days: int = option(1, "how many days, the last being --date", "--lookback")
    start: str | None = option(None, "first day, with --to instead of --date", "--from")
    to: str | None = option(None, "last day")
    events: list[str] = option([], "event columns and their gains, clicks=1 (default), booking=5")
    label: str | None = option(
        None, "column of grades, 0 to 31 (clicks), or for click-labels and click-bias of clicks"
    )
    dwell: list[str] = option([], "seconds and gain of a click, 10=0.5,30=1; shorter ones are 0")
    arm: str | None = option(None, "column of the arm, for --columns impressions.arm=COLUMN")
    user: str | None = option(None, "column of the user, for --columns impressions.user_id=COLUMN")
    columns: list[str] = option([], "column names, impressions.arm=variant; also rank, doc_id, …")
    timezone: str = option("UTC", "whose midnight separates the days of event_ts")
    buckets: int = option(1000, "buckets of users: the same in all tables that are to be added")

    def __post_init__(self) -> None:
        super().__post_init__()
        ranged = bool(self.start and self.to)
        if not self.impressions or ranged == bool(self.date) or bool(self.start) != bool(self.to):
            raise UsageError("give --impressions SRC and --date YYYY-MM-DD (or --from and --to)")
        if self.label and self.events:
            raise UsageError("--label names the one column that counts; it takes no --events")
        if self.label and self.dwell:
            raise UsageError("--label has the grades; --dwell grades clicks")
        if self.days < 1 or self.buckets < 1:
            raise UsageError("--days and --buckets must be at least 1")
        try:
            zoneinfo.ZoneInfo(self.timezone)
            self.dates  # noqa: B018 - refuses a date that is none
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as problem:
            if isinstance(problem, UsageError):
                raise
            raise UsageError(
                f"unknown --timezone {self.timezone!r}; write it as in Europe/Berlin"
            ) from None

    @property
    def grades(self) -> bool:
        """Whether the job can use grades; what it knows else are clicks."""
        return False

    @property
    def dates(self) -> list[str]:
        """The days, ascending, as text."""
        last = _day("date" if self.date else "to", self.date or self.to or "")
        days = self.days
        if self.start:
            days = (last - _day("from", self.start)).days + 1
            if days < 1:
                raise UsageError(f"--from {self.start} is later than --to {self.to}")
        return [str(last - datetime.timedelta(days=n)) for n in reversed(range(days))]

    @property
    def gains(self) -> Gains:
        given = [f"{self.label}=1"] if self.label else self.events
        events = [(name, _float("events", g)) for name, g in pairs("events", given).items()]
        dwell = [
            (_float("dwell", seconds), _float("dwell", gain))
            for seconds, gain in pairs("dwell", self.dwell).items()
        ]
        graded = self.label is not None and self.grades
        return Gains(tuple(events) or (("clicks", 1.0),), tuple(sorted(dwell)), graded)

    @property
    def column_names(self) -> dict[str, str]:
        short = {"arm": self.arm, "user_id": self.user}
        return {name: column for name, column in short.items() if column} | {
            name.removeprefix("impressions."): column
            for name, column in pairs("columns", self.columns).items()
        }


@dataclass(frozen=True, kw_only=True)
class ClicksJob(LogJob):
    """A day of impressions to mergeable state: what `clicks` can be told."""

    measure: list[str] = option(
        [], "measures of the displayed list (default nDCG@10, RR, AP, P@1, binG@10)", "-m"
    )
    segments: list[str] = option(
        [], "columns and combinations, country, country|device; frequency: head, torso, tail"
    )
    baseline: str | None = option(None, "the arm that the others are compared with")
    since: str | None = option(
        None, "the experiment's first day: differences over all its stored days too (or --from)"
    )
    shares: list[str] = option(
        [], "designed shares of the users, A=0.5,B=0.5 (default: all arms alike)"
    )
    anytime: bool = option(
        False, "intervals and p-values of the experiment that hold however often one looks"
    )
    anytime_at: int = option(14, "the night for which these are planned to be narrow")
    cuped: int | None = option(
        None, "adjust differences by what the users did in so many days before the experiment"
    )
    clickless: Literal["undefined", "zero"] = option(
        "undefined", "an impression without a click: undefined and counted, or 0"
    )
    bot_impressions: int | None = option(None, "a user with more impressions in a day is a bot")
    bot_clicks: int | None = option(
        None, "a user with more clicked impressions in a day, and these on 90 percent, is a bot"
    )
    units: list[str] = option([], "means per query or user too: query, user")
    deduplicate: bool = option(False, "the log repeats impressions: count each id once (a shuffle)")
    min_group: int = option(100, "groups with fewer impressions are counted only")
    window: int = option(7, "days before the date that the trend and --fail-if look back")
    fail_if: list[str] = option([], "exit 4 if so, as in 'nDCG@10 drop > 0.01'; repeatable")

    @property
    def grades(self) -> bool:
        return True

    def __post_init__(self) -> None:
        super().__post_init__()
        for unit in self.units:
            if unit not in ("query", "user"):
                raise unknown("unit", unit, ("query", "user"))
        if self.since:
            _day("since", self.since)
        if self.anytime_at < 1 or (self.cuped is not None and self.cuped < 1):
            raise UsageError("--anytime-at and --cuped must be at least 1")
        self._check_experiment()
        self.designed_shares  # noqa: B018 - refuses shares that are none

    def _check_experiment(self) -> None:
        asked = {
            "--since": self.since is not None,
            "--anytime": self.anytime,
            "--cuped": self.cuped is not None,
            "--shares": bool(self.shares),
        }
        flags = [flag for flag, given in asked.items() if given]
        if flags and not self.baseline:
            raise UsageError(f"{flags[0]} is of arms: give --baseline ARM too")
        if flags and flags != ["--shares"] and not self.out:
            raise UsageError(f"{flags[0]} adds up stored days: give --out DIR too")
        if (self.anytime or self.cuped) and not self.first_day:
            raise UsageError(
                f"{flags[0]} needs the experiment's first day: --since 2026-11-15 (or --from)"
            )

    @property
    def first_day(self) -> str | None:
        """The experiment's first day."""
        return self.since or (self.start if self.anytime or self.cuped else None)

    @property
    def splits(self) -> bool:
        """Whether the split of the users is asked for, which takes a shuffle by user."""
        gated = any(text.split()[:1] == [RATIO] for text in self.fail_if)
        return self.baseline is not None and bool(self.shares or self.first_day or gated)

    def experiment_days(self, last: str) -> list[str]:
        """The experiment's days up to one, ascending; none where it begins later, or not at all."""
        return [] if self.first_day is None else days_from(self.first_day, last)

    @property
    def designed_shares(self) -> dict[str, float]:
        """Of the arms; none where all are to have the same."""
        given = pairs("shares", self.shares).items()
        shares = designed({arm: _float("shares", share) for arm, share in given})
        if shares and self.baseline not in shares:
            raise UsageError(f"--shares says nothing of the baseline {self.baseline!r}")
        return shares


@dataclass(frozen=True, kw_only=True)
class ClickLabelsJob(LogJob):
    """Judgements from clicks: what `click-labels` can be told."""

    method: Literal["counts", "ctr", "coec", "dwell"] = option("counts", "how clicks become labels")
    thresholds: list[str] = option(
        [],
        "clicks=grade (default 100=1, 1001=2); or by quantile of the query's documents, q50=1, "
        "q90=2",
    )
    per_days: bool = option(False, "thresholds are clicks a day")
    votes: Literal["impression", "user"] = option(
        "impression", "user: each counts once for a query's document (--user names the column)"
    )
    prior: str = option("5,95", "Beta prior of click rates for ctr: a,b")
    lower: float | None = option(
        None, "ctr: the gain is what the click rate exceeds but for this probability, 0.05"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.beta  # noqa: B018 - refuses a prior that is none
        if self.lower is not None and not (self.method == "ctr" and 0 < self.lower < 1):
            raise UsageError(
                f"--lower is a probability, such as 0.05, for --method ctr; not {self.lower} for "
                f"{self.method}"
            )
        if self.by_quantile and self.per_days:
            raise UsageError("--per-days is of thresholds by clicks; quantiles have no days")
        self.grades_of_clicks  # noqa: B018 - refuses thresholds that are no numbers

    @property
    def beta(self) -> tuple[float, float]:
        """The prior's two parameters."""
        try:
            a, b = map(float, self.prior.split(","))
        except ValueError:
            a = b = 0.0
        if not min(a, b) > 0:
            raise UsageError(f"bad --prior {self.prior!r}; write a,b with both above 0")
        return a, b

    @property
    def grades_of_clicks(self) -> list[tuple[float, float]]:
        """(clicks, grade), ascending."""
        by = self.by_quantile
        try:
            found = pairs("thresholds", self.thresholds).items()
            grades = sorted(
                (float(n.removeprefix("q")) / 100 if by else float(n), float(g)) for n, g in found
            )
        except ValueError as problem:
            if isinstance(problem, UsageError):
                raise
            raise UsageError(
                f"--thresholds takes numbers, as in 100=1, or quantiles, as in q50=1, not both: "
                f"{', '.join(self.thresholds)}"
            ) from None
        if by and not all(0 < share <= 1 for share, _ in grades):
            raise UsageError(
                f"--thresholds: a quantile lies above q0 and not above q100, not "
                f"{', '.join(self.thresholds)}"
            )
        return grades or list(PAPER)

    @property
    def by_quantile(self) -> bool:
        """Whether all thresholds are quantiles."""
        keys = [item.strip() for item in self.thresholds]
        return bool(keys) and all(key.startswith("q") for key in keys)


@dataclass(frozen=True, kw_only=True)
class ClickBiasJob(LogJob):
    """Propensities and estimates that they correct: what `click-bias` can be told."""

    method: Literal["adjacent_chain", "pivot", "randomized", "naive", "power_law", "em"] = option(
        "em", "how propensities are estimated"
    )
    eta: float = option(1.0, "exponent of the power law")
    depth: int = option(10, "ranks that get a propensity")
    iterations: int = option(50, "most Newton steps of em; fewer are taken where it converges")
    candidate: str | None = option(None, "a run that is judged by the log's clicks: path or table")
    utility: Literal["dcg", "rr", "recall"] = option("dcg", "what a click is worth at its rank")
    cutoff: int | None = option(None, "deepest rank that counts")
    clip: float = option(0.0, "propensities below this count as this")
    min_shown: float = option(
        0.9, "least share (by weight) of the candidate's top that the log must have shown"
    )


def _day(flag: str, text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"bad --{flag} {text!r}; write a day as in 2026-11-29") from None


def _float(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--{what}: {text!r} is no number") from None
