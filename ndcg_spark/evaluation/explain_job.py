"""`explain`: the lists that lost most, and what their documents added and lost."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.arrays.schemas import arrow_schema
from ndcg_spark.engine.running import now
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.evaluation.contributions import CONTRIBUTIONS
from ndcg_spark.evaluation.explain import (
    LOSSES,
    documents,
    losses,
    named,
    of_queries,
    shown,
    summaries,
    worst,
)
from ndcg_spark.evaluation.job import Evaluation, evaluated
from ndcg_spark.evaluation.options import ExplainJob
from ndcg_spark.evaluation.shares import Shares
from ndcg_spark.measures import parse_measures, resolve
from ndcg_spark.tables.small import publish_rows, table_of_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

TABLES = ("queries", "documents", "manifest")
LARGEST = 1000  # lists whose documents are brought to the driver
COUNTS = ("missing", "below", "unjudged")
LOSS_KINDS = {
    "run_id": "string",
    "status": "string",
    **dict.fromkeys(("n_ret", "n_rel", "n_judged", *COUNTS), "bigint"),
    **dict.fromkeys(("value", "best", "loss", "baseline_value", "drop"), "double"),
}
MORE = 5  # documents further down, or missing, that are shown of a list
SHOWN = (*CONTRIBUTIONS, "baseline_rank", "baseline_contribution")


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Lists with the largest loss, or drop, first, each with its documents; the tables written."""

    engine: str
    measure: str
    baseline: str | None
    top: int
    lists: list[dict[str, Any]]  # LOSSES, COUNTS, documents[SHOWN]
    n_lost: int  # lists that lost or dropped at all
    n_lists: int
    named: bool  # whether the queries were asked for
    tables: dict[str, str]


def explained(job: ExplainJob) -> Explanation:
    """Explain the evaluation that the job describes.

    Raises:
        UsageError: for a wrong option (exit 2).
        InputError: for input or output that is refused (exit 3); nothing is written then.
    """
    if not job.qrels or not job.runs:
        raise UsageError("explain needs --qrels SRC and at least one --runs SRC")
    if job.worst > LARGEST or len(job.asked) > LARGEST:
        raise UsageError(f"explain shows at most {LARGEST} lists; ndcg_spark.contributions has all")
    asked = parse_measures(job.measure or ["nDCG@10"], job.dialect)
    measures = resolve(asked, job.policies.rel, job.global_gains)
    if len(measures) > 1:
        raise UsageError(f"explain looks at one measure, not {', '.join(map(str, measures))}")
    shares = Shares.of(measures, job.policies)
    output = Output(job.out, job.partitions, [job.qrels, *job.runs]) if job.out else None
    with evaluated(job.evaluation) as evaluation:
        if job.baseline is not None and job.baseline not in evaluation.counts:
            raise unknown("--baseline", job.baseline, evaluation.counts)
        if job.baseline is not None and len(evaluation.counts) == 1:
            raise UsageError(f"--baseline {job.baseline} is the only run: there is none to explain")
        if output is None:
            return _explanation(job, evaluation, shares, None)
        with output.writing(TABLES):
            return _explanation(job, evaluation, shares, output)


def _explanation(
    job: ExplainJob, evaluation: Evaluation, shares: Shares, output: Output | None
) -> Explanation:
    started, inputs, spark = now(), evaluation.inputs, evaluation.inputs.spark
    assert evaluation.scores is not None
    by, top = "loss" if job.baseline is None else "drop", _top(shares, job)
    found = losses(evaluation.scores, inputs, shares, job.baseline)
    numbers = [F.sum((F.col(by) > 0).cast("bigint")).alias("lost"), F.count(F.lit(1)).alias("all")]
    counted = found.agg(*numbers).collect()[0]
    chosen = named(found, job.asked) if job.asked else worst(found, job.worst, by)
    lists = [row.asDict() for row in chosen.collect()]
    queries = [str(row["query_id"]) for row in lists]
    if strange := [query for query in job.asked if query not in queries]:
        raise UsageError(f"--queries: {', '.join(strange[:5])}: no judged query has such an id")
    lists.sort(key=functools.partial(_place, job.asked, by))
    names = table_of_rows(spark, [{"run_id": run} for run in evaluation.counts], "run_id string")
    rows = documents(of_queries(inputs, queries), shares, names, job.baseline)
    if output and lists:
        rows.write.mode("error").parquet(output.staged("documents"))
        rows = spark.read.schema(rows.schema).parquet(output.staged("documents"))
    elif output:
        fields = [f"{f.name} {f.dataType.simpleString()}" for f in rows.schema.fields]
        output.write_empty("documents", arrow_schema(", ".join(fields)))
    _add_documents(lists, rows, top, job.documents)
    tables = _published(job, output, evaluation, lists, started) if output else {}
    return Explanation(
        evaluation.engine,
        str(shares.measures[0]),
        job.baseline,
        top,
        lists,
        counted["lost"] or 0,
        counted["all"],
        bool(job.asked),
        tables,
    )


def _top(shares: Shares, job: ExplainJob) -> int:
    """Down to where unjudged documents matter: the measure's cut-off, or what is shown."""
    cutoff = shares.measures[0].last_rank()
    return cutoff if isinstance(cutoff, int) else job.documents


def _place(asked: Sequence[str], by: str, row: Mapping[str, Any]) -> tuple[float, bool, str, str]:
    query = str(row["query_id"])
    first = float(asked.index(query)) if asked else -row[by]
    return first, row["n_ret"] == 0, row["run_id"], query


def _add_documents(lists: Sequence[dict[str, Any]], rows: DataFrame, top: int, ranks: int) -> None:
    """To each list its counts and the documents that are shown."""
    keys = [(row["run_id"], row["query_id"]) for row in lists]
    counts = {(r["run_id"], r["query_id"]): r.asDict() for r in summaries(rows, top).collect()}
    wanted: dict[tuple[str, Any], list[dict[str, Any]]] = {key: [] for key in keys}
    for row in shown(rows, ranks, MORE).collect():
        wanted.setdefault((row["run_id"], row["query_id"]), []).append(
            {name: row[name] for name in SHOWN}
        )
    for key, found in zip(keys, lists, strict=True):
        for name in COUNTS:
            found[name] = counts.get(key, {}).get(name) or 0
        found["documents"] = sorted(wanted[key], key=_by_rank)


def _by_rank(row: Mapping[str, Any]) -> tuple[float, float, str]:
    return row["rank"] or float("inf"), -row["lost"], str(row["doc_id"])


def _published(
    job: ExplainJob,
    output: Output,
    evaluation: Evaluation,
    lists: Sequence[Mapping[str, Any]],
    started: str,
) -> dict[str, str]:
    inputs = evaluation.inputs
    kind = inputs.qrels.schema["query_id"].dataType.simpleString()
    schema = ", ".join(f"{name} {LOSS_KINDS.get(name, kind)}" for name in (*LOSSES, *COUNTS))
    rows = [{name: row[name] for name in (*LOSSES, *COUNTS)} for row in lists]
    manifest = {
        "job": "explain",
        "version": __version__,
        "engine": evaluation.engine,
        "measure": str(evaluation.measures[0]),
        "baseline": job.baseline,
        "policies": dataclasses.asdict(job.policies),
        "inputs": {
            "qrels": [job.qrels or ""],
            "runs": list(job.runs),
        },
        "counts": evaluation.counts,
        "rows": {"queries": len(rows)},
        "started": started,
        "finished": now(),
    }
    tables = {"queries": (rows, schema)}
    return publish_rows(inputs.spark, output, tables, manifest, staged=["documents"])
