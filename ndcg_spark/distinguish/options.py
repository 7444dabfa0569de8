"""What `distinguishability` can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ndcg_spark.distinguish.documents import checked_thresholds
from ndcg_spark.distinguish.verdicts import MARGIN
from ndcg_spark.engine.options import ReadingJob
from ndcg_spark.errors import UsageError
from ndcg_spark.measures.fields import option

MEASURES = "nDCG,nDCG(dis='power:0.5'),nDCG(dis='zipf'),nDCG(dis='exp2'),nDCG@n/5,nDCG@10"


@dataclass(frozen=True, kw_only=True)
class DistinguishabilityJob(ReadingJob):
    """Which discount and cut-off tells rankers apart: on growing samples of every query."""

    runs: list[str] = option([], "run_id, query_id, doc_id, score; repeatable")
    qrels: str | None = option(None, "judgements of the documents; unjudged ones count as 0")
    clicks: str | None = option(None, "query_id, doc_id, n_clicks, instead of judgements")
    thresholds: list[str] = option([], "clicks from which a label is 1, above which 2 (100,1000)")
    synthetic: Literal["power", "clicks"] | None = option(
        None, "made-up documents: with limits in closed form, or shaped as the paper's click log"
    )
    queries: int | None = option(None, "synthetic: queries (default power 200, clicks 40)")
    measure: list[str] = option(
        [], f"nDCG with any discount and cut-off; repeatable (default {MEASURES})", "-m"
    )
    gain: str = option("linear", "of all measures: linear, exp2, binary or a map 1=1,2=3")
    grid: list[str] = option([], "sizes, 100,1000,5000 (default 20, 50, 100, 200, … as data allow)")
    min_docs: int | None = option(
        None, "queries with fewer documents are left out (default: the largest size)"
    )
    sequences: int = option(1, "random orders of every query's documents")
    ties: Literal["hash", "mean"] = option(
        "hash", "equal scores: in the random order, or the mean over their orders"
    )
    baseline: str | None = option(None, "the run that the others are paired with; else all pairs")
    margin: float = option(
        MARGIN,
        "a difference, corrected for chance, that counts as none (what does_not_separate needs)",
    )
    plot: str | None = option(None, "write the panels to a file, .svg or .png (ndcg-spark[report])")
    seed: int = option(0, "of the random orders and of synthetic data")
    format: Literal["table", "json"] = option("table", "what is printed")

    def __post_init__(self) -> None:
        super().__post_init__()
        given = bool(self.runs) + bool(self.synthetic)
        labelled = bool(self.qrels) + bool(self.clicks)
        if given != 1 or labelled != bool(self.runs):
            raise UsageError("give --runs SRC with --qrels SRC or --clicks SRC, or --synthetic")
        for name in ("sequences", "queries", "min_docs"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1")
        if not 0 < self.margin < 1:
            raise UsageError(f"--margin must be between 0 and 1, not {self.margin}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"--seed must be 0 to 2^31 - 1, not {self.seed}")
        if self.plot and not self.plot.endswith((".svg", ".png")):
            raise UsageError(f"--plot must end in .svg or .png, not {self.plot!r}")
        self.sizes  # noqa: B018 - refuses sizes that are none
        self.click_thresholds  # noqa: B018 - refuses thresholds that are none

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The sizes of --grid, ascending."""
        return tuple(sorted(set(_numbers("grid", self.grid)))) if self.grid else None

    @property
    def click_thresholds(self) -> tuple[int, ...]:
        return checked_thresholds(_numbers("thresholds", self.thresholds or ["100,1000"]))


def _numbers(flag: str, texts: list[str]) -> list[int]:
    items = [item.strip() for text in texts for item in text.split(",")]
    if not all(item.isdigit() and int(item) for item in items):
        raise UsageError(f"bad --{flag} {','.join(items)!r}; write positive numbers, 100,1000")
    return [int(item) for item in items]
