"""What every job on a click log can be told."""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass
from typing import Literal

from ndcg_spark.clicks.patterns_kernel import Gains
from ndcg_spark.clicks.stored import FIRST, days_before, days_from
from ndcg_spark.engine.options import ReadingJob, pairs
from ndcg_spark.errors import UsageError
from ndcg_spark.measures.fields import option

OF_EVENTS = "events."  # of --columns: those of --events-table


@dataclass(frozen=True, kw_only=True)
class LogJob(ReadingJob):
    """What every job on a click log can be told."""

    impressions: str | None = option(None, "the log: a Parquet path or table:NAME")
    date: str | None = option(None, "the day to evaluate, 2026-11-29")
    days: int = option(1, "how many days, the last being --date", "--lookback")
    start: str | None = option(None, "first day, with --to instead of --date", "--from")
    to: str | None = option(None, "last day")
    events: list[str] = option([], "event columns and their gains, clicks=1 (default), booking=5")
    events_table: str | None = option(
        None, "events that are a table of their own, a row each: impression_id, doc_id, event"
    )
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
        last = day_of("date" if self.date else "to", self.date or self.to or "")
        days = self.days
        if self.start:
            days = (last - day_of("from", self.start)).days + 1
            if days < 1:
                raise UsageError(f"--from {self.start} is later than --to {self.to}")
        return [*reversed(days_before(str(last), days - 1)), str(last)]

    @property
    def gains(self) -> Gains:
        given = [f"{self.label}=1"] if self.label else self.events
        events = [(name, float_of("events", g)) for name, g in pairs("events", given).items()]
        dwell = [
            (float_of("dwell", seconds), float_of("dwell", gain))
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
            if not name.startswith(OF_EVENTS)
        }

    @property
    def event_columns(self) -> dict[str, str]:
        """Our names of the columns of --events-table, and theirs."""
        return {
            name.removeprefix(OF_EVENTS): column
            for name, column in pairs("columns", self.columns).items()
            if name.startswith(OF_EVENTS)
        }


@dataclass(frozen=True, kw_only=True)
class NightlyJob(LogJob):
    """What the jobs that keep a state by day can be told, of the day and of the experiment."""

    segments: list[str] = option(
        [], "columns and combinations, country, country|device; frequency: head, torso, tail"
    )
    clickless: Literal["undefined", "zero"] = option(
        "undefined", "an impression without a click: undefined and counted, or 0"
    )
    deduplicate: bool = option(False, "the log repeats impressions: count each id once (a shuffle)")
    min_group: int = option(100, "groups with fewer impressions are counted only")
    since: str | None = option(
        None, "the experiment's first day: differences over all its stored days too (or --from)"
    )
    anytime: bool = option(
        False, "intervals and p-values of the experiment that hold however often one looks"
    )
    anytime_at: int = option(14, "the night for which these are planned to be narrow")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.since:
            day_of("since", self.since)
        if self.anytime_at < 1:
            raise UsageError("--anytime-at must be at least 1")
        flags = self.experiment_flags
        if flags and not self.out:
            raise UsageError(f"{flags[0]} adds up stored days: give --out DIR too")
        if flags and not self.first_day:
            raise UsageError(
                f"{flags[0]} needs the experiment's first day: --since 2026-11-15 (or --from)"
            )

    @property
    def experiment_flags(self) -> list[str]:
        """What was given that looks at the whole experiment."""
        return ["--since"] * (self.since is not None) + ["--anytime"] * self.anytime

    @property
    def first_day(self) -> str | None:
        """The experiment's first day."""
        return self.since or (self.start if self.experiment_flags else None)

    def experiment_days(self, last: str) -> list[str]:
        """The experiment's days up to one, ascending; none where it begins later, or not at all."""
        return [] if self.first_day is None else days_from(self.first_day, last)


LAST = datetime.date(3000, 1, 1)


def day_of(flag: str, text: str) -> datetime.date:
    try:
        day = datetime.datetime.strptime(text, "%Y-%m-%d").date()
        if len(text) == 10 and FIRST <= day < LAST:
            return day
    except ValueError:
        pass
    raise UsageError(
        f"bad --{flag} {text!r}; write a day as in 2026-11-29, from {FIRST} and before {LAST}"
    )


def float_of(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--{what}: {text!r} is no number") from None
