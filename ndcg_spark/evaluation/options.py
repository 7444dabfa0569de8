"""What the jobs on runs and qrels can be told."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from ndcg_spark.engine.options import Job, ReadingJob, pairs
from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation.columns import by_role
from ndcg_spark.measures.fields import option
from ndcg_spark.measures.policies import Policies


@dataclass(frozen=True, kw_only=True)
class ScoringJob(Policies, ReadingJob):
    """What every job that scores runs against qrels can be told, every policy included."""

    qrels: str | None = option(None, "judgements: a Parquet path or table:NAME")
    runs: list[str] = option([], "a run: a Parquet path or table:NAME; repeatable")
    measure: list[str] = option(
        [], "measures, as in P.5,10,map; repeatable (default nDCG@10, AP, RR)", "-m"
    )
    global_gains: str | None = option(None, "gains for all gain measures, 1=1.0,2=3.0")
    dialect: Literal["ndcg_spark", "trec_eval", "trec_eval9"] = option(
        "ndcg_spark",
        "trec_eval: ndcg_rel, Rndcg, G, binG, ndcg_p, iprec_at_recall, 11pt_avg and Rprec_mult as "
        "release 10 of that program computes them; trec_eval9: as release 9 and pytrec_eval do",
    )
    columns: list[str] = option([], "column names, qrels.query_id=qid,runs.score=s")

    def __post_init__(self) -> None:
        ReadingJob.__post_init__(self)
        self.policies  # noqa: B018 - refuses contradictory policies now, before any session

    @property
    def column_names(self) -> dict[str, dict[str, str]]:
        """``{"qrels": {"query_id": "qid"}, "runs": {…}}``."""
        return by_role(pairs("columns", self.columns))

    @property
    def policies(self) -> Policies:
        return Policies(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Policies)})


@dataclass(frozen=True, kw_only=True)
class EvaluateJob(ScoringJob):
    """Evaluate runs against qrels: what `evaluate` can be told."""

    per_query: bool = option(False, "print every query's values too", "-q")
    weights: str | None = option(None, "query_id, weight: weighted means beside the plain ones")
    bucketed: bool = option(False, "the tables come from `prepare`: shuffle nothing")
    plan: Literal["kernel", "window"] = option(
        "kernel",
        "kernel scores whole queries in batches; window by window functions, for lists that no "
        "task can hold, and measures that are sums over documents",
    )
    ideals: str | None = option(
        None, "the table of ndcg_spark.ideals for these judgements, for --plan window"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bucketed and self.plan == "window":
            raise UsageError("--bucketed is a way of the plan kernel; --plan window has none")
        if self.ideals and self.plan != "window":
            raise UsageError("--ideals is read by --plan window; the plan kernel makes its own")

    @property
    def by_rows(self) -> bool:
        return self.plan == "window"


@dataclass(frozen=True, kw_only=True)
class ExplainJob(ScoringJob):
    """Which queries lost most, and which of their documents: what `explain` can be told."""

    measure: list[str] = option([], "the measure, a sum over documents (default nDCG@10)", "-m")
    baseline: str | None = option(None, "a run: explain what the others lost against it")
    worst: int = option(20, "how many lists are explained: the largest loss or drop first")
    queries: list[str] = option(  # type: ignore[assignment]
        [], "explain these queries instead, q1,q2; repeatable (every judged query is scored)"
    )
    documents: int = option(10, "how many ranks of a list are shown; --out has all documents")
    show: int = option(
        1, "of how many lists that the run has the terminal shows the documents (--queries: all)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("worst", "documents"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} must be at least 1, not {getattr(self, name)}")
        if self.show < 0:
            raise UsageError(f"--show must be at least 0, not {self.show}")
        if len(self.measure) > 1 or self.format == "trec":
            given = ", ".join(self.measure) if len(self.measure) > 1 else "--format trec"
            raise UsageError(f"explain looks at one measure, as table or json, not {given}")

    @property
    def policies(self) -> Policies:
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(Policies)}
        return Policies(**{**own, "queries": "judged"})

    @property
    def asked(self) -> list[str]:
        """The queries that were named, each once."""
        return list(dict.fromkeys(q.strip() for item in self.queries for q in item.split(",")))

    @property
    def evaluation(self) -> EvaluateJob:
        """The evaluation that says what each list's value is."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(ScoringJob)}
        changed: dict[str, Any] = {
            "format": "table",
            "out": None,
            "partition": [],
            "queries": "judged",
        }
        return EvaluateJob(**{**own, **changed, "measure": self.measure or ["nDCG@10"]})


@dataclass(frozen=True, kw_only=True)
class ImportTrecJob(Job):
    """TREC text files to Parquet: what `import-trec` can be told."""

    qrels: str | None = option(
        None, "judgements as text: TREC, BEIR's TSV, CSV, JSON lines; plain or compressed"
    )
    runs: list[str] = option([], "a run as text, likewise; repeatable")


@dataclass(frozen=True, kw_only=True)
class PrepareJob(Job):
    """Runs and qrels as bucketed tables: what `prepare` can be told."""

    qrels: str | None = option(None, "judgements: a Parquet path or table:NAME")
    runs: list[str] = option([], "a run: a Parquet path or table:NAME; repeatable")
    name: str | None = option(None, "the tables NAME_runs and NAME_qrels are written")
    buckets: int = option(64, "buckets a table: one task each, a few times the cluster's cores")
    order_by: Literal["score", "rank"] = option("score", "which column the runs are ranked by")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets < 1:
            raise UsageError(f"--buckets must be at least 1, not {self.buckets}")

    @property
    def policies(self) -> Policies:
        return Policies(order_by=self.order_by)
