"""Bringing tables into the form that evaluations read: TREC files, and buckets by query."""

from __future__ import annotations

from typing import Any

from ndcg_spark.engine.running import opened
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.options import ImportTrecJob, PrepareJob
from ndcg_spark.tables import trec_files
from ndcg_spark.tables.small import write_bucketed
from ndcg_spark.tables.write import Output


def prepare(job: PrepareJob) -> dict[str, str]:
    """Write runs and qrels as tables bucketed by query_id; per role the table's name.

    `evaluate --bucketed` on such tables shuffles nothing. An existing table is replaced.

    Raises:
        UsageError: without input or --name, or on the embedded engine, which has no buckets.
        InputError: for input that does not fit its contract; nothing is written then.
    """
    if not (job.qrels and job.runs and job.name):
        raise UsageError("prepare needs --qrels SRC, at least one --runs SRC and --name TABLE")
    with opened(job) as engine:
        if engine.embedded:
            raise UsageError("prepare writes bucketed tables, which --engine sail cannot read")
        inputs = Inputs.of(engine.spark, job.runs, job.qrels, job.policies)
        names = {"runs": f"{job.name}_runs", "qrels": f"{job.name}_qrels"}
        write_bucketed(inputs.runs, names["runs"], job.buckets)
        write_bucketed(inputs.qrels, names["qrels"], job.buckets)
        return names


def import_trec(job: ImportTrecJob) -> dict[str, dict[str, Any]]:
    """Write TREC text files as Parquet qrels and runs; per table its location and rows.

    Raises:
        UsageError: without --out, or without a file to read.
        InputError: E160 for a malformed line; nothing is written then.
    """
    if not job.out or not (job.qrels or job.runs):
        raise UsageError("import-trec needs --out DIR and --qrels FILE, --runs FILE or both")
    output = Output(job.out, job.partitions, [f for f in (job.qrels, *job.runs) if f])
    rows: dict[str, int] = {}
    with output.writing():
        if job.qrels:
            place = f"{output.staged('qrels')}/part-00000.parquet"
            rows["qrels"] = trec_files.write_parquet(trec_files.qrels_batches(job.qrels), place)
        for number, run in enumerate(job.runs):
            place = f"{output.staged('runs')}/part-{number:05d}.parquet"
            n_rows = trec_files.write_parquet(trec_files.run_batches(run), place)
            rows["runs"] = rows.get("runs", 0) + n_rows
        empty = [table for table, n_rows in rows.items() if not n_rows]
        if empty:
            raise InputError("E103", f"the {empty[0]} file(s) hold no line with content")
        output.publish(list(rows))
    return {table: {"path": output.published(table), "rows": n} for table, n in rows.items()}
