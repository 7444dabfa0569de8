"""What a report can be told."""

from __future__ import annotations

from dataclasses import dataclass

from ndcg_spark.engine.options import Job
from ndcg_spark.errors import UsageError
from ndcg_spark.measures.fields import option


@dataclass(frozen=True, kw_only=True)
class ReportJob(Job):
    """One HTML page of the tables that evaluate, compare, explain, clicks, click-bias and
    distinguishability wrote.

    Raises:
        UsageError: for options that do not go together.
    """

    tables: list[str] = option(
        [],
        "what a job was given as --out; repeatable, all that is found there is shown",
        "-t",
    )
    baseline: str | None = option(
        None, "run that the others are compared with (default: the comparison's)"
    )
    measure: str | None = option(
        None,
        "measure of distributions, wins, losses, segments and trend (default: the first)",
        "-m",
    )
    worst: int = option(20, "wins and losses shown of each run")
    title: str = option("Ranking evaluation", "heading of the page")
    plots: str | None = option(
        None, "directory for every figure as SVG and PNG, its numbers as CSV"
    )
    summary: str | None = option(None, "file for a short summary in Markdown")
    out: str | None = option("report.html", "the page; an existing file is replaced")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tables:
            raise UsageError("give --tables DIR, what evaluate, compare, clicks, … had as --out")
        if not 0 <= self.worst <= 1000:
            raise UsageError(f"--worst must be 0 to 1000, not {self.worst}")
        if self.format == "trec":
            raise UsageError("--format of a report is table or json")
