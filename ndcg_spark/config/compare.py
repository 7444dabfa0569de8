"""What `compare` can be told."""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass
from typing import Literal

from ndcg_spark.compare.options import Options, tests_of
from ndcg_spark.compare.rules import Gate
from ndcg_spark.config.evaluate import EvaluateJob, ScoringJob
from ndcg_spark.errors import UsageError
from ndcg_spark.measures.fields import option


@dataclass(frozen=True, kw_only=True)
class CompareJob(Options, ScoringJob):
    """Compare systems: from per-query scores, from runs and qrels, or arms of a click log."""

    scores: list[str] = option(
        [], "what evaluate wrote, or its per_query: paths or table:NAME; repeatable"
    )
    state: str | None = option(None, "what clicks wrote, or its daily_state: its arms are compared")
    dates: str | None = option(None, "days of the state, 2026-11-23..2026-11-29 (default all)")
    min_group: int = option(100, "arms with fewer impressions are left out")
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
        if self.fail_if and not self.baseline:
            raise UsageError("--fail-if needs --baseline: worse than what?")
        self.gates  # noqa: B018 - refuses a rule that cannot be read
        self.first_and_last  # noqa: B018 - refuses days that are none

    @property
    def options(self) -> Options:
        return Options(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Options)})

    @property
    def gates(self) -> list[Gate]:
        return [Gate.parse(text) for text in self.fail_if]

    @property
    def first_and_last(self) -> tuple[str, str] | None:
        """The days of the state, as text."""
        if self.dates is None:
            return None
        first, _, last = self.dates.partition("..")
        try:
            days = [str(datetime.date.fromisoformat(day)) for day in (first, last or first)]
        except ValueError as problem:
            raise UsageError(f"bad --dates {self.dates!r}: {problem}") from None
        return days[0], days[1]

    @property
    def evaluation(self) -> EvaluateJob:
        """The evaluation of the runs that comes first."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(ScoringJob)}
        return EvaluateJob(**{**own, "format": "table", "out": None, "partition": []})
