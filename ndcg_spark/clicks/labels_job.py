"""Judgements from clicks, as a job."""

from __future__ import annotations

from typing import Any

from ndcg_spark.clicks.labels import click_counts, click_qrels, shown_for_labels
from ndcg_spark.clicks.options import ClickLabelsJob
from ndcg_spark.clicks.reading import opened_log
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.tables.paths import table_in
from ndcg_spark.tables.read import read_table
from ndcg_spark.tables.write import Output


def click_labels(job: ClickLabelsJob) -> dict[str, Any]:
    """Write qrels from the log's clicks; where they are, and how many judgements of which grade.

    Raises:
        UsageError: without --out, or for thresholds or a prior that are no numbers.
        InputError: E103 where nothing was shown; nothing is written then.
    """
    if not job.out:
        raise UsageError("click-labels needs --out DIR")
    output = Output(job.out, job.partitions, [job.impressions or ""])
    with opened_log(job) as (engine, log), output.writing(["qrels"]):
        counts = click_counts(shown_for_labels(log, job.votes))
        days = job.days if job.per_days else 1
        known = None
        if job.propensities:
            known = read_table(
                engine.spark, "propensities", table_in(job.propensities, "propensities")
            )
        own = (job.method, job.grades_of_clicks, days, job.beta, job.lower, job.by_quantile)
        qrels = click_qrels(counts, *own, known)
        place = output.staged("qrels")
        qrels.where("query_id is not null").write.mode("error").parquet(place)
        written = engine.spark.read.schema(qrels.schema).parquet(place)
        grades = {
            row["relevance"]: int(row["count"])
            for row in written.groupBy("relevance").count().orderBy("relevance").collect()
        }
        if not grades:
            raise InputError("E103", f"nothing with a query was shown in {job.impressions}")
        output.publish(["qrels"])
    return {"path": output.published("qrels"), "judgements": grades}
