"""Distinguishability as a job: read or draw documents, grow samples, judge, publish."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.distinguish import documents as docs
from ndcg_spark.distinguish import synthetic_kernel, verdicts
from ndcg_spark.distinguish.compute import (
    Judged,
    default_grid,
    diagnosed,
    growing_measures,
    judged,
    rankers,
)
from ndcg_spark.distinguish.growth_kernel import Growth
from ndcg_spark.distinguish.options import MEASURES, DistinguishabilityJob
from ndcg_spark.distinguish.plan import grown_samples, made_up, values_of
from ndcg_spark.engine.inputs import contract_rows
from ndcg_spark.engine.running import materialized, now, opened
from ndcg_spark.engine.sessions import GATHERED, Engine
from ndcg_spark.plot.figures import curves
from ndcg_spark.plot.style import save
from ndcg_spark.tables.contracts import CLICKS, QRELS, Contract
from ndcg_spark.tables.small import publish_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

SYNTHETIC = {"power": (200, 10_000), "clicks": (40, 5_000)}  # queries and documents
# a row is a query with all its documents
QUERIES_A_BATCH = {**GATHERED, "spark.sql.execution.arrow.maxRecordsPerBatch": "200"}


@dataclass(frozen=True)
class Distinguished(Judged):
    """The same of a job: which engine ran it, and where the tables are."""

    engine: str
    tables: dict[str, str]


@dataclass(frozen=True)
class _Documents:
    """DOCUMENTS, the rankers, how many documents nine of ten queries have, and the runs."""

    table: DataFrame
    rankers: tuple[str, ...]
    longest: int
    runs: DataFrame | None


def distinguishability_job(job: DistinguishabilityJob) -> Distinguished:
    """The same as a job.

    Raises:
        UsageError: for a wrong option (exit 2).
        InputError: for input that is refused (exit 3); nothing is written then.
    """
    started = now()
    measures, gain = growing_measures(job.measure or MEASURES, job.gain)
    inputs = [source for source in (*job.runs, job.qrels, job.clicks) if source]
    output = Output(job.out, job.partitions, inputs) if job.out else None
    with opened(job, "runs") as engine, contextlib.ExitStack() as stack:
        if output:
            stack.enter_context(output.writing(("values", "curves", "pairs")))
        for key, value in QUERIES_A_BATCH.items():
            engine.spark.conf.set(key, value)
        documents = _documents(job, engine)
        grid = job.sizes or default_grid(documents.longest)
        growth = Growth(documents.rankers, measures, gain, grid, job.sequences, job.seed, job.ties)
        fewest = job.min_docs or grid[-1]
        place = output.scratch("grown") if output else None
        with diagnosed(documents.runs):
            grown = materialized(stack, engine, place, grown_samples(documents.table, growth))
            found = judged(grown, growth, job.baseline, fewest, documents.longest, job.margin)
        published = {}
        if output:
            values = values_of(grown, growth, fewest)
            values.write.mode("error").parquet(output.staged("values"))
            published = publish_rows(
                engine.spark,
                output,
                {
                    "curves": (found.curves, verdicts.CURVES),
                    "pairs": (found.pairs, verdicts.PAIRS),
                },
                _manifest(job, engine.name, growth, found.counts, inputs, started),
                ["values"],
            )
    if job.plot:
        save(curves(found.curves), job.plot)
    return Distinguished(**vars(found), engine=engine.name, tables=published)


def _documents(job: DistinguishabilityJob, engine: Engine) -> _Documents:
    thresholds = job.click_thresholds
    if job.synthetic:
        queries, size = SYNTHETIC[job.synthetic]
        size = job.sizes[-1] if job.sizes else size
        table = made_up(
            engine.spark, job.synthetic, job.queries or queries, size, job.seed, thresholds
        )
        return _Documents(table, synthetic_kernel.RUNS, size, None)

    def read(contract: Contract, source: str) -> DataFrame:
        return contract_rows(engine.spark, contract, source, access=job.access)

    runs = functools.reduce(
        lambda a, b: a.unionByName(b), [read(docs.NAMED, source) for source in job.runs]
    )
    if job.qrels:
        labels = docs.labels_of_qrels(read(QRELS, job.qrels))
    else:
        labels = docs.labels_of_clicks(read(CLICKS, job.clicks or ""), thresholds)
    names, longest = rankers(runs, ", ".join(job.runs))
    return _Documents(docs.documents(runs, labels, names), names, longest, runs)


def _manifest(
    job: DistinguishabilityJob,
    engine: str,
    growth: Growth,
    counts: dict[str, int],
    inputs: Sequence[str],
    started: str,
) -> dict[str, Any]:
    return {
        "job": "distinguishability",
        "version": __version__,
        "engine": engine,
        "runs": growth.runs,
        "measures": [str(measure) for measure in growth.measures],
        "grid": growth.grid,
        "sequences": growth.sequences,
        "ties": growth.ties,
        "seed": growth.seed,
        "margin": job.margin,
        "synthetic": job.synthetic,
        "inputs": list(inputs),
        "counts": counts,
        "started": started,
        "finished": now(),
    }
