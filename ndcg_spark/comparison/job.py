"""The comparison as a job: read or evaluate, compare, publish, and check the gates."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.clicks.api import arm_scores
from ndcg_spark.comparison.arms import SEQUENCE, anytime_rows, sequence_of, stored_state
from ndcg_spark.comparison.compute import compared
from ndcg_spark.comparison.options import CompareJob, tests_of
from ndcg_spark.comparison.power import AGREEMENT, ASL, POWER, PowerRows, power_rows
from ndcg_spark.comparison.table import COMPARISON
from ndcg_spark.engine.running import now, opened, unsorted_if_it_fits
from ndcg_spark.evaluation.api import evaluated, long
from ndcg_spark.stats.gates import Gate
from ndcg_spark.tables.paths import table_in
from ndcg_spark.tables.read import read_table
from ndcg_spark.tables.segments import ALL
from ndcg_spark.tables.small import publish_rows
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

SCORE_BYTES = 30  # measured: what a row of scores takes while its query is gathered
OPTIONAL = ["discriminative_power", "asl_curve", "agreement"]  # with --which-measure only
BUCKETS = 200  # buckets of users below which an error is rough (1 / sqrt(2 K))


@dataclasses.dataclass(frozen=True)
class ComparisonFound:
    """What `compare_job` found: the table, which measure to trust, tables written, broken gates."""

    engine: str
    comparison: list[dict[str, Any]]
    power: PowerRows | None
    tables: dict[str, str]
    broken: list[str]


def compare_job(job: CompareJob) -> ComparisonFound:
    """Run the comparison that the job describes.

    Raises:
        UsageError: for a wrong option (exit 2).
        InputError: for input that is refused (exit 3); nothing is written then.
    """
    started = now()
    inputs = [s for s in (*job.scores, job.state, job.qrels, *job.runs, job.attributes) if s]
    output = Output(job.out, job.partitions, inputs) if job.out else None
    with contextlib.ExitStack() as stack:
        if output:  # what is there already is looked at before the work
            stack.enter_context(output.writing(["comparison"] + OPTIONAL * job.which_measure))
        engine, spark, scores, local = stack.enter_context(_scores(job))
        sequences = anytime_rows(job, spark, local) if job.anytime else {}
        attributes = None
        if job.attributes:
            attributes = read_table(spark, "attributes", job.attributes, glob=job.glob, local=local)
        measures = job.measure or None
        rows = compared(
            scores, job.baseline, measures, tests_of(job.test), job.by, attributes, job.options
        )
        if job.state:
            rows = [{**row, "note": _rough(row)} for row in rows]
        if job.anytime:
            rows = [{**row, **sequence_of(sequences, row)} for row in rows]
        found = power_rows(scores, measures, job.options) if job.which_measure else None
        schema = f"{COMPARISON}, {SEQUENCE}" if job.anytime else COMPARISON
        tables = {"comparison": (rows, schema)}
        if found:
            tables["discriminative_power"] = (found.power, POWER)
            tables["asl_curve"] = (found.asl, ASL)
            tables["agreement"] = (found.agreement, AGREEMENT)
        published = {}
        if output:
            manifest = _manifest(job, engine, rows, inputs, started)
            published = publish_rows(spark, output, tables, manifest, optional=OPTIONAL)
    return ComparisonFound(engine, rows, found, published, _broken(job, rows))


@contextlib.contextmanager
def _scores(job: CompareJob) -> Iterator[tuple[str, SparkSession, DataFrame, bool]]:
    """Engine, session and per-query scores: as stored, evaluated now, or of a log's arms."""
    if job.runs or job.qrels:
        with evaluated(job.evaluation) as found:
            assert found.scores is not None
            spark = found.scores.sparkSession
            yield found.engine, spark, long(found.scores, found.measures), True
        return
    with opened(job, "scores") as engine:
        spark, local = engine.spark, engine.local_files

        def read(role: str, source: str) -> DataFrame:
            return read_table(spark, role, source, glob=job.glob, local=local)

        if job.state:
            state = stored_state(job, spark, local)
            yield engine.name, spark, arm_scores(state, job.min_group), local
            return
        sources = [table_in(source, "per_query") for source in job.scores]
        unsorted_if_it_fits(engine, sources, SCORE_BYTES)
        scores = read("scores", sources[0])
        for source in sources[1:]:
            scores = scores.unionByName(read("scores", source), allowMissingColumns=True)
        yield engine.name, spark, scores, local


def _rough(row: dict[str, Any]) -> str:
    """The note of a comparison of arms: what its n counts, and whether that is enough."""
    few = f", few: the error is rough below {BUCKETS}" if row["n_pairs"] < BUCKETS else ""
    own = f"{row['note']}; " if row["note"] else ""
    return f"{own}n counts buckets of users{few}"


def _broken(job: CompareJob, rows: list[dict[str, Any]]) -> list[str]:
    """What the gates found; a gate that no row answers is broken too."""
    found = []
    for gate in job.gates:
        answers = [row for row in rows if gate.applies(row)]
        if not answers:
            found.append(f"no row of {gate.measure} in segment {gate.segment}: {gate.text}")
        found += [text for row in answers if (text := _why_broken(gate, row))]
    return found


def _why_broken(gate: Gate, row: dict[str, Any]) -> str | None:
    """Why a row of the comparison breaks the gate, or None."""
    delta = row["delta"]
    what = f"{row['candidate']} against {row['baseline']}, {row['measure']} ({row['segment']})"
    if delta is None:
        return f"{what}: no common query; {gate.text}"
    if gate.anytime:
        if gate.passed(delta, row["mean_baseline"], row["p_anytime"]):
            return None
        own = row["p_anytime"]
        shown = "no always valid p" if own is None else f"always valid p = {own:.3g}"
        return f"{what}: {delta:+.6f}, {shown}; {gate.text}"
    p = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
    undecidable = gate.p is not None and row["p_least"] is not None and row["p_least"] >= gate.p
    # a difference of the wrong sign or size decides it whatever p is
    if gate.passed(delta, row["mean_baseline"], None if undecidable else p):
        return None
    shown = row["note"] if p is None else f"p = {p:.3g} ({row['test']}, {row['correction']})"
    return f"{what}: {delta:+.6f}, {shown}; {gate.text}"


def _manifest(
    job: CompareJob, engine: str, rows: list[dict[str, Any]], inputs: list[str], started: str
) -> dict[str, Any]:
    return {
        "job": "compare",
        "version": __version__,
        "engine": engine,
        "tests": tests_of(job.test),
        "options": dataclasses.asdict(job.options),
        "baseline": job.baseline,
        "inputs": list(inputs),
        "rows": {"comparison": len(rows)},
        "queries": max((row["n_pairs"] for row in rows if row["segment"] == ALL), default=0),
        "started": started,
        "finished": now(),
    }
