"""Position bias as a job."""

from __future__ import annotations

from dataclasses import dataclass

from ndcg_spark.clicks.corrected import PROPENSITIES, Bias, bias_of
from ndcg_spark.clicks.estimates import ESTIMATES
from ndcg_spark.clicks.off_policy import OFF_POLICY
from ndcg_spark.clicks.options import ClickBiasJob
from ndcg_spark.clicks.reading import opened_log
from ndcg_spark.engine.inputs import contract_rows
from ndcg_spark.tables.contracts import RUNS
from ndcg_spark.tables.small import stage_rows
from ndcg_spark.tables.write import Output


@dataclass(frozen=True, kw_only=True)
class BiasFound(Bias):
    """The same of a job: which engine ran it, and where the tables are."""

    engine: str
    tables: dict[str, str]


def click_bias(job: ClickBiasJob) -> BiasFound:
    """Propensities, and the log's (and a candidate's) value corrected by them; a sweep over eta.

    Raises:
        UsageError: for a wrong option.
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    output = Output(job.out, job.partitions, [job.impressions or ""]) if job.out else None
    published: dict[str, str] = {}
    with opened_log(job) as (engine, log):
        candidate = None
        if job.candidate:
            candidate = contract_rows(engine.spark, RUNS, job.candidate)
        found = bias_of(job, log, candidate)
        if output:
            tables = {
                "propensities": (found.propensity_rows(job.method), PROPENSITIES),
                "ips": (found.estimates, ESTIMATES),
            }
            if found.off_policy:
                tables["off_policy"] = ([found.off_policy], OFF_POLICY)
            with output.writing():
                stage_rows(engine.spark, output, tables)
                output.publish(list(tables), ["off_policy"])
            published = {name: output.published(name) for name in tables}
        return BiasFound(**vars(found), engine=engine.name, tables=published)
