"""What a comparison can be told; one documented default each, the same in Python and on the CLI."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.evaluation.api import EvaluateJob, ScoringJob
from ndcg_spark.measures.fields import check_fields, option
from ndcg_spark.stats.gates import Gate, parsed

TESTS = ("t", "wilcoxon", "fisher", "bootstrap", "tukey", "randomized-tukey")
TOGETHER = ("tukey", "randomized-tukey")  # tests of all systems at once
BOOTSTRAPS = 1_000
SIGNS = 10_000
PERMUTATIONS = 2_000


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """How systems are compared.

    Raises:
        UsageError: for a value that an option does not allow.
    """

    correction: Literal["holm", "bonferroni", "bh", "none"] = option(
        "holm", "for the number of comparisons: measures x pairs x segments of a test"
    )
    alpha: float = option(0.05, "level of intervals, stars and the detectable difference")
    power: float = option(0.8, "power of the detectable difference and of sample sizes")
    detect: float | None = option(
        None, "a difference worth finding: the queries that it needs (column n_wanted)"
    )
    missing: Literal["drop", "zero"] = option(
        "drop", "a query that one system of a pair lacks: dropped and counted, or 0 (trec_eval -c)"
    )
    zeros: Literal["wilcox", "pratt"] = option(
        "wilcox", "wilcoxon: queries without a difference are dropped, or ranked first"
    )
    interval: Literal["poisson", "percentile", "bca"] = option(
        "poisson",
        "bootstrap: poisson scales to any size; percentile and bca collect 100,000 queries at most",
    )
    replicates: int | None = option(
        None, "of resampling tests (default: bootstrap 1000, fisher 10000, randomized-tukey 2000)"
    )
    seed: int = option(0, "of all that is random; the same seed gives the same p on any engine")

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")
        if self.replicates is not None and not 20 <= self.replicates <= 1_000_000:
            raise UsageError(f"replicates must be 20 to 1000000, not {self.replicates}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must be 0 to 2^31 - 1, not {self.seed}")
        if self.interval != "poisson" and self.missing == "zero":
            raise UsageError(f"interval={self.interval!r} cannot go with missing='zero'")
        if self.detect == 0:
            raise UsageError("detect must be a difference other than 0")


class CompareKeywords(TypedDict, total=False):
    """`CompareOptions` as keywords, for editors and type checkers (a test compares)."""

    correction: Literal["holm", "bonferroni", "bh", "none"]
    alpha: float
    power: float
    detect: float | None
    missing: Literal["drop", "zero"]
    zeros: Literal["wilcox", "pratt"]
    interval: Literal["poisson", "percentile", "bca"]
    replicates: int | None
    seed: int


def tests_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """The tests by name, commas allowed.

    Raises:
        UsageError: for a test that does not exist, with the nearest.
    """
    listed = [names] if isinstance(names, str) else list(names)
    found = [name.strip() for item in listed for name in item.split(",")]
    for name in found:
        if name not in TESTS:
            raise unknown("test", name, TESTS)
    return tuple(dict.fromkeys(found)) or ("t",)


@dataclass(frozen=True, kw_only=True)
class CompareJob(CompareOptions, ScoringJob):
    """Compare systems: from per-query scores, from runs and qrels, or arms of a click log."""

    scores: list[str] = option(
        [], "what evaluate wrote, or its per_query: paths or table:NAME; repeatable"
    )
    state: str | None = option(None, "what clicks wrote, or its daily_state: its arms are compared")
    dates: str | None = option(None, "days of the state, 2026-11-23..2026-11-29 (default all)")
    min_group: int = option(100, "arms with fewer impressions are left out")
    anytime: bool = option(
        False, "--state: intervals and p-values too that hold however often one looks"
    )
    anytime_at: int = option(14, "the night for which these are planned to be narrow")
    baseline: str | None = option(None, "the run that the others are compared with; else all pairs")
    test: list[str] = option(
        [], "t (default), wilcoxon, fisher, bootstrap, tukey, randomized-tukey; repeatable"
    )
    by: list[str] = option([], "columns whose values are segments beside all; repeatable")
    attributes: str | None = option(None, "query_id and the columns of --by, if not in the scores")
    which_measure: bool = option(
        False, "which measure to trust: discriminative power, agreement between measures"
    )
    fail_if: list[str] = option([], "exit 4 if so, as in 'nDCG@10 worse p<0.05'; repeatable")
    format: Literal["table", "json", "markdown", "latex"] = option(  # type: ignore[assignment]
        "table", "what is printed"
    )

    def __post_init__(self) -> None:
        ScoringJob.__post_init__(self)
        self.options  # noqa: B018 - refuses a value that is not allowed
        scored = bool(self.runs or self.qrels)
        if [bool(self.scores), bool(self.state), scored].count(True) != 1:
            raise UsageError("give --scores SRC, or --state SRC, or --qrels SRC with --runs SRC")
        if self.state and (self.by or self.attributes or self.which_measure):
            raise UsageError("--state has its own segments; it takes no --by or --which-measure")
        tests = tests_of(self.test)
        if self.state and any("tukey" in test for test in tests):
            raise UsageError("the tukey tests need the same queries in every system, not --state")
        if self.anytime and not (self.state and self.baseline):
            raise UsageError("--anytime is of the arms of --state against a --baseline")
        if self.anytime_at < 1:
            raise UsageError("--anytime-at must be at least 1")
        if self.fail_if and not self.baseline:
            raise UsageError("--fail-if needs --baseline: worse than what?")
        self.gates  # noqa: B018 - refuses a rule that cannot be read
        self.first_and_last  # noqa: B018 - refuses days that are none

    @property
    def options(self) -> CompareOptions:
        return CompareOptions(
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(CompareOptions)}
        )

    @property
    def gates(self) -> list[Gate]:
        return parsed(self.fail_if, anytime=self.anytime)

    @property
    def first_and_last(self) -> tuple[str, str] | None:
        """The days of the state, as text."""
        if self.dates is None:
            return None
        first, _, last = self.dates.partition("..")
        try:
            days = [str(datetime.date.fromisoformat(day)) for day in (first, last or first)]
        except ValueError:
            raise UsageError(
                f"bad --dates {self.dates!r}; write 2026-11-29 or 2026-11-23..2026-11-29"
            ) from None
        return days[0], days[1]

    @property
    def evaluation(self) -> EvaluateJob:
        """The evaluation of the runs that comes first."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(ScoringJob)}
        return EvaluateJob(**{**own, "format": "table", "out": None, "partition": []})
