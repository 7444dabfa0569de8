"""What the jobs on click logs can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ndcg_spark.clicks.log_options import LogJob, NightlyJob, float_of
from ndcg_spark.clicks.splits import designed
from ndcg_spark.engine.options import Job, pairs
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures.fields import option
from ndcg_spark.stats.gates import RATIO

MEASURES = ("nDCG@10", "RR", "AP", "P@1", "binG@10")
PAPER = ((100.0, 1.0), (1001.0, 2.0))  # Wang et al. 2013: more than 1000 clicks, 100 to 1000, fewer


@dataclass(frozen=True, kw_only=True)
class ClicksJob(NightlyJob):
    """A day of impressions to mergeable state: what `clicks` can be told."""

    measure: list[str] = option(
        [], "measures of the displayed list (default nDCG@10, RR, AP, P@1, binG@10)", "-m"
    )
    baseline: str | None = option(None, "the arm that the others are compared with")
    shares: list[str] = option(
        [], "designed shares of the users, A=0.5,B=0.5 (default: all arms alike)"
    )
    cuped: int | None = option(
        None, "adjust differences by what the users did in so many days before the experiment"
    )
    bot_impressions: int | None = option(None, "a user with more impressions in a day is a bot")
    bot_clicks: int | None = option(
        None, "a user with more clicked impressions in a day, and these on 90 percent, is a bot"
    )
    units: list[str] = option([], "means per query or user too: query, user")
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
        if self.cuped is not None and self.cuped < 1:
            raise UsageError("--cuped must be at least 1")
        flags = [*self.experiment_flags, *["--shares"] * bool(self.shares)]
        if flags and not self.baseline:
            raise UsageError(f"{flags[0]} is of arms: give --baseline ARM too")
        self.designed_shares  # noqa: B018 - refuses shares that are none

    @property
    def experiment_flags(self) -> list[str]:
        return [*super().experiment_flags, *["--cuped"] * (self.cuped is not None)]

    @property
    def splits(self) -> bool:
        """Whether the split of the users is asked for, which takes a shuffle by user."""
        gated = any(text.split()[:1] == [RATIO] for text in self.fail_if)
        return self.baseline is not None and bool(self.shares or self.first_day or gated)

    @property
    def designed_shares(self) -> dict[str, float]:
        """Of the arms; none where all are to have the same."""
        given = pairs("shares", self.shares).items()
        shares = designed({arm: float_of("shares", share) for arm, share in given})
        if shares and self.baseline not in shares:
            raise UsageError(f"--shares says nothing of the baseline {self.baseline!r}")
        return shares


@dataclass(frozen=True, kw_only=True)
class InterleavingJob(NightlyJob):
    """A day of interleaved lists: what `interleaving` can be told."""

    team: str | None = option(
        None, "the results' column of A or B, for --columns impressions.team=COLUMN"
    )
    baseline: Literal["A", "B"] = option("A", "the team that the other one is compared with")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any("frequency" in segment.split("|") for segment in self.segments):
            raise UsageError("--segments frequency is of clicks; interleaving has columns only")

    @property
    def column_names(self) -> dict[str, str]:
        return ({"team": self.team} if self.team else {}) | super().column_names

    @property
    def candidate(self) -> str:
        return "B" if self.baseline == "A" else "A"


@dataclass(frozen=True, kw_only=True)
class ClickLabelsJob(LogJob):
    """Judgements from clicks: what `click-labels` can be told."""

    method: Literal["counts", "ctr", "coec", "dwell", "ips"] = option(
        "counts", "how clicks become labels"
    )
    propensities: str | None = option(
        None, "ips: what click-bias wrote, or its propensities (rank, propensity)"
    )
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
        if (self.method == "ips") != (self.propensities is not None):
            raise UsageError("--method ips and --propensities SRC go together")
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


@dataclass(frozen=True, kw_only=True)
class ImportUbiJob(Job):
    """User Behavior Insights to impressions: what `import-ubi` can be told."""

    queries: str | None = option(None, "ubi_queries: JSON lines or Parquet, a path or table:NAME")
    events: str | None = option(None, "ubi_events, likewise")
    actions: list[str] = option(
        [], "events and their action_name, clicks=click (default), cart=add_to_cart"
    )
    glob: bool = option(False, "expand glob characters in the input paths")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.queries and self.events and self.out):
            raise UsageError("import-ubi needs --queries SRC, --events SRC and --out DIR")
        self.actions_by_event  # noqa: B018 - refuses names that are none

    @property
    def actions_by_event(self) -> dict[str, str]:
        """Our event -> the log's action."""
        found = pairs("actions", self.actions) or {"clicks": "click"}
        for name in found:
            if not name.isidentifier() or name in ("rank", "doc_id"):
                raise UsageError(f"--actions: {name!r} is no name of a column; write cart=ACTION")
        return found
