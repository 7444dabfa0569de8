"""The main job: runs against qrels."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine.inputs import contract_rows
from ndcg_spark.engine.running import materialized, now, opened
from ndcg_spark.engine.sessions import GATHERED, Engine
from ndcg_spark.engine.shuffle import SHUFFLE
from ndcg_spark.errors import InputError, JoinWarning, UsageError
from ndcg_spark.evaluation.checks import problems
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.options import EvaluateJob
from ndcg_spark.evaluation.plan import long
from ndcg_spark.evaluation.refuse_kernel import REFUSED
from ndcg_spark.evaluation.shares import Shares
from ndcg_spark.evaluation.summarize import summarize_lists
from ndcg_spark.evaluation.summary_kernel import AGGREGATE
from ndcg_spark.evaluation.window_plan import lists_scored
from ndcg_spark.measures import Measure, Policies, parse_measures, refuse_ties, resolve
from ndcg_spark.tables.checks import EXAMPLES, refusal
from ndcg_spark.tables.contracts import IDEALS, WEIGHTS, same_ids
from ndcg_spark.tables.small import stage_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

FEW_JUDGED = 0.01  # share of judged documents below which a join is doubted
TABLES = ("per_query", "aggregate", "manifest")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found: the aggregate rows, counts per run, and where the tables are."""

    engine: str
    inputs: Inputs
    measures: list[Measure]
    labels: list[str]  # trec_eval's names for the measures, as they were asked for
    counts: dict[str, dict[str, int]]
    aggregate: list[dict[str, Any]]
    scores: DataFrame | None  # per-query values, in a session that is still open
    tables: dict[str, str]

    def per_query(self) -> Iterator[dict[str, Any]]:
        """Scored lists in order of run and query, streamed: run_id, query_id, values, …"""
        assert self.scores is not None
        ordered = self.scores.where("scored").orderBy("run_id", "query_id")
        for row in ordered.toLocalIterator():
            yield row.asDict()


def _read(job: EvaluateJob, engine: Engine) -> tuple[Inputs, DataFrame | None, DataFrame | None]:
    """What a job reads: runs, judgements, and if it was given any, queries' weights and ideals."""
    assert job.qrels is not None  # evaluated
    columns, spark = job.column_names, engine.spark
    inputs = Inputs.of(spark, job.runs, job.qrels, job.policies, columns, job.access)
    access = dataclasses.replace(job.access, where=None)
    weights, ideals = (
        contract_rows(spark, contract, source, columns.get(contract.role), access)
        if source
        else None
        for contract, source in ((WEIGHTS, job.weights), (IDEALS, job.ideals))
    )
    for role, table in (("weights", weights), ("ideals", ideals)):
        if table is not None:
            same_ids(table, inputs.qrels, (role, "qrels"), ["query_id"])
    return inputs, weights, ideals


@contextlib.contextmanager
def evaluated(job: EvaluateJob) -> Iterator[Evaluation]:
    """Run the evaluation that the job describes; its session is open inside the block.

    Raises:
        UsageError: for a wrong option (exit 2).
        InputError: for input or output that is refused (exit 3); nothing is written then.
    """
    policies = job.policies
    asked = parse_measures(job.measure or ["nDCG@10", "AP", "RR"], job.dialect)
    measures = resolve(asked, policies.rel, job.global_gains)
    refuse_ties(measures, policies)
    if job.plan == "window":
        Shares.of(measures, policies)  # refuses measures before any work
    if not job.qrels or not job.runs:
        raise UsageError("evaluate needs --qrels SRC and at least one --runs SRC")
    sources = [source for source in (job.qrels, *job.runs, job.weights, job.ideals) if source]
    output = Output(job.out, job.partitions, sources) if job.out else None
    with opened(job) as engine, contextlib.ExitStack() as stack:
        _configure(engine, job)
        inputs, weights, ideals = _read(job, engine)
        if output:
            stack.enter_context(output.writing(TABLES))
        started = now()
        lists = lists_scored(inputs, measures, job.plan, ideals)
        scores = _scored(stack, engine, output, inputs, measures, lists)
        with _diagnosed(inputs, measures):
            counts = _counts(scores)
        _refuse_empty(counts, job, policies, scores)
        _warn_of_few_judged(counts)
        aggregate = _aggregate(scores, measures, weights)
        if output:
            about = {"reader": inputs.reader, "started": started}
            _write(output, engine, scores, counts, measures, job, aggregate, about)
        published = {t: output.published(t) for t in TABLES} if output else {}
        labels = [measure.trec_name() for measure in asked]
        yield Evaluation(
            engine.name, inputs, measures, labels, counts, aggregate, scores, published
        )


def _configure(engine: Engine, job: EvaluateJob) -> None:
    settings = {SHUFFLE: "false", **GATHERED} if job.bucketed else GATHERED
    for key, value in settings.items():
        engine.spark.conf.set(key, value)


def _scored(
    stack: contextlib.ExitStack,
    engine: Engine,
    output: Output | None,
    inputs: Inputs,
    measures: Sequence[Measure],
    scores: DataFrame,
) -> DataFrame:
    """SCORES, computed once: staged beside the output, or kept for the length of the job."""
    with _diagnosed(inputs, measures):
        place = output.scratch("scores") if output else None
        return materialized(stack, engine, place, scores)


@contextlib.contextmanager
def _diagnosed(inputs: Inputs, measures: Sequence[Measure]) -> Iterator[None]:
    """Where the kernel refused the input, read it again and say what is wrong."""
    try:
        yield
    except Exception as problem:
        if REFUSED not in str(problem):
            raise
        found = problems(inputs.runs, inputs.qrels, measures, inputs.policies)
        if not found:
            raise
        said = refusal(found)
        raise InputError(said.code, ". ".join([said.message, *inputs.hints])) from None


def _counts(scores: DataFrame) -> dict[str, dict[str, int]]:
    """Per run: how many queries and documents were what."""
    judged, retrieved = F.col("status") != "unjudged", F.col("status") != "missing"

    def number(condition: Any) -> Any:
        return F.sum(condition.cast("bigint"))

    rows = (
        scores.groupBy("run_id")
        .agg(
            F.count(F.lit(1)).alias("lists"),
            F.countDistinct("query_id").alias("distinct_lists"),
            number(F.col("scored")).alias("queries_scored"),
            number(judged).alias("queries_judged"),
            number(retrieved).alias("queries_in_run"),
            number(~retrieved).alias("queries_missing"),
            number(~judged).alias("queries_unjudged"),
            number(judged & (F.col("n_rel") == 0)).alias("queries_no_relevant"),
            number(F.col("tied") & judged & retrieved).alias("queries_tied_at_cutoff"),
            F.sum("n_ret").alias("documents_retrieved"),
            F.sum("n_judged").alias("documents_judged"),
            F.sum("n_duplicates").alias("documents_duplicated"),
        )
        .orderBy("run_id")
        .collect()
    )
    counts = {
        row["run_id"]: {k: int(v) for k, v in row.asDict().items() if k != "run_id"} for row in rows
    }
    for run, found in counts.items():
        if found.pop("lists") != found.pop("distinct_lists"):
            raise RuntimeError(f"run {run!r}: a query came out twice; nothing was published")
    return counts


def _refuse_empty(
    counts: Mapping[str, Mapping[str, int]],
    job: EvaluateJob,
    policies: Policies,
    scores: DataFrame,
) -> None:
    """Refuse an input without rows, and runs and qrels that have no query in common."""
    if not counts or not any(c["queries_in_run"] for c in counts.values()):
        raise InputError("E103", f"the runs have no rows: {', '.join(job.runs)}")
    if not any(c["queries_judged"] for c in counts.values()):
        raise InputError("E103", f"the qrels have no rows: {job.qrels}")
    shared = [c["queries_judged"] - c["queries_missing"] for c in counts.values()]
    if policies.on_no_overlap == "error" and not all(shared):
        bad = [run for run, n in zip(counts, shared, strict=True) if not n]
        raise InputError(
            "E141",
            f"run(s) {', '.join(bad[:5])} and the qrels share no query; in the runs: "
            f"{_examples(scores, 'unjudged')}; in the qrels: {_examples(scores, 'missing')}. "
            "Pass --on-no-overlap zero to score every query 0",
        )


def _warn_of_few_judged(counts: Mapping[str, Mapping[str, int]]) -> None:
    for run, found in counts.items():
        listed, judged = found["documents_retrieved"], found["documents_judged"]
        if listed and judged < FEW_JUDGED * listed:
            warnings.warn(
                f"E140: {judged} of the {listed} documents of run {run} are judged "
                f"({judged / listed:.2%}): do the document ids of runs and qrels match?",
                JoinWarning,
                stacklevel=2,
            )


def _examples(scores: DataFrame, status: str) -> str:
    queries = scores.where(F.col("status") == status).select("query_id").distinct()
    rows = queries.orderBy("query_id").limit(EXAMPLES).collect()
    return ", ".join(str(row["query_id"])[:80] for row in rows) or "none"


def _write(
    output: Output,
    engine: Engine,
    scores: DataFrame,
    counts: Mapping[str, Mapping[str, int]],
    measures: Sequence[Measure],
    job: EvaluateJob,
    aggregate: list[dict[str, Any]],
    about: Mapping[str, str],
) -> None:
    """Stage, read back and publish the tables."""
    spark = engine.spark
    long(scores, measures).write.mode("error").parquet(output.staged("per_query"))
    read_back = spark.read.parquet(output.staged("per_query")).groupBy("run_id").count()
    written = {**dict.fromkeys(counts, 0), **dict(map(tuple, read_back.collect()))}
    expected = {run: c["queries_scored"] * len(measures) for run, c in counts.items()}
    if written != expected:
        raise RuntimeError(f"per_query read back {written} rows instead of {expected}")
    stage_rows(spark, output, {"aggregate": (aggregate, AGGREGATE)})
    manifest = _manifest(engine, job, counts, measures, sum(written.values()), len(aggregate))
    output.write_json("manifest", "_manifest.json", {**manifest, **about, "finished": now()})
    output.publish(TABLES)


def _aggregate(
    scores: DataFrame, measures: Sequence[Measure], weights: DataFrame | None
) -> list[dict[str, Any]]:
    """The aggregate's rows, by run, segment and the order in which the measures were asked for."""
    place = {str(measure): index for index, measure in enumerate(measures)}
    rows = [row.asDict() for row in summarize_lists(scores, measures, weights).collect()]
    return sorted(rows, key=lambda row: (row["run_id"], row["segment"], place[row["measure"]]))


def _manifest(
    engine: Engine,
    job: EvaluateJob,
    counts: Mapping[str, Mapping[str, int]],
    measures: Sequence[Measure],
    n_per_query: int,
    n_aggregate: int,
) -> dict[str, Any]:
    return {
        "job": "evaluate",
        "version": __version__,
        "engine": engine.name,
        "python": platform.python_version(),
        "plan": job.plan,
        "measures": [str(measure) for measure in measures],
        "policies": dataclasses.asdict(job.policies),
        "global_gains": job.global_gains,
        "inputs": {
            role: [source for source in sources if source]
            for role, sources in (
                ("qrels", [job.qrels]),
                ("runs", job.runs),
                ("weights", [job.weights]),
                ("ideals", [job.ideals]),
            )
        },
        "counts": counts,
        "rows": {"per_query": n_per_query, "aggregate": n_aggregate},
    }
