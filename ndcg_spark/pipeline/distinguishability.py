"""Which discount and cut-off can tell my rankers apart? Growing samples of every query."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.config import DistinguishabilityJob
from ndcg_spark.config.distinguishability import MEASURES
from ndcg_spark.errors import DiscountWarning, InputError, UsageError, unknown
from ndcg_spark.kernel import growth as kernel
from ndcg_spark.kernel import synthetic
from ndcg_spark.kernel.curves import CurveSums, pairs_of, sum_curves
from ndcg_spark.kernel.growth import GROWN, Growth
from ndcg_spark.measures import nDCG, parse_measures, resolve
from ndcg_spark.measures.gains import Gain
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.pipeline.opened import materialized, now, opened, refused
from ndcg_spark.pipeline.small import publish_rows
from ndcg_spark.session import GATHERED, Engine
from ndcg_spark.tables import checks
from ndcg_spark.tables.contracts import lacks
from ndcg_spark.tables.paths import redacted
from ndcg_spark.tables.read import read_table
from ndcg_spark.tables.write import Output
from ndcg_spark.theory import documents as docs
from ndcg_spark.theory import verdicts
from ndcg_spark.theory.advice import advice
from ndcg_spark.theory.plots import plot_curves
from ndcg_spark.version import __version__

STEPS = (1, 2, 5)  # times powers of ten: the default sizes, from 20 on
SYNTHETIC = {"power": (200, 10_000), "clicks": (40, 5_000)}  # queries and documents
# a row is a query with all its documents
QUERIES_A_BATCH = {**GATHERED, "spark.sql.execution.arrow.maxRecordsPerBatch": "200"}
VALUES = (
    "query_id string, sequence bigint, run_id string, measure string, n bigint, value double, "
    "e_random double, n_rel bigint"
)


@dataclasses.dataclass(frozen=True)
class Distinguished:
    """Which measure tells the rankers apart.

    curves, pairs: rows of CURVES and PAIRS (theory/verdicts.py)
    counts: queries used and left out, odd rankers
    advice: sentences
    values: the values of every query, lazily; None once a job has written them
    """

    curves: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    counts: dict[str, int]
    advice: list[str]
    values: DataFrame | None = None
    engine: str = ""
    tables: dict[str, str] = dataclasses.field(default_factory=dict)


def distinguishability(
    scores: DataFrame,
    qrels: DataFrame | None = None,
    clicks: DataFrame | None = None,
    *,
    measures: MeasureLike | Iterable[MeasureLike] = MEASURES,
    gain: str = "label",
    thresholds: Sequence[int] = (100, 1000),
    grid: Sequence[int] | None = None,
    min_docs: int | None = None,
    sequences: int = 1,
    ties: str = "hash",
    baseline: str | None = None,
    seed: int = 0,
) -> Distinguished:
    """Which discount and cut-off tells these rankers apart consistently?

    scores: run_id, query_id, doc_id, score; a document counts where every ranker scores it
    qrels: query_id, doc_id, relevance; or clicks: query_id, doc_id, n_clicks with `thresholds`;
        what is not there has label 0
    grid: sizes of the samples; the samples of a query are nested, in an order by hash

    Runs at once. The other options are those of the job (docs/distinguishability.md).

    Raises:
        UsageError: for a measure other than nDCG, or an option that does not exist.
        InputError: for columns that are missing, or queries that are too short (E172).
    """
    if (qrels is None) == (clicks is None):
        raise UsageError("give qrels or clicks")
    if ties not in ("hash", "average"):
        raise unknown("ties", ties, ("hash", "average"))
    wanted, worth = growing_measures(measures, gain)
    rows = docs.conformed_scores(scores)
    if qrels is not None:
        labels = docs.labels_of_qrels(qrels)
    else:
        assert clicks is not None
        labels = docs.labels_of_clicks(clicks, docs.checked_thresholds(thresholds))
    runs, longest = _rankers(rows)
    sizes = tuple(sorted(set(grid))) if grid else _default_grid(longest)
    growth = Growth(runs, wanted, worth, sizes, sequences, seed, ties)
    fewest = min_docs or sizes[-1]
    grown = grown_samples(docs.documents(rows, labels, runs), growth)
    with _diagnosed(rows):
        found = _judged(grown, growth, baseline, fewest, longest)
    return dataclasses.replace(found, values=values_of(grown, growth, fewest))


def distinguishability_job(job: DistinguishabilityJob) -> Distinguished:
    """The same as a job.

    Raises:
        UsageError: for a wrong option (exit 2).
        InputError: for input that is refused (exit 3); nothing is written then.
    """
    started = now()
    measures, gain = growing_measures(job.measure or MEASURES, job.gain)
    inputs = [source for source in (*job.scores, job.qrels, job.clicks) if source]
    output = Output(job.out, job.partitions, inputs) if job.out else None
    with opened(job, "scores") as engine, contextlib.ExitStack() as stack:
        if output:
            stack.enter_context(output.writing())
        for key, value in QUERIES_A_BATCH.items():
            engine.spark.conf.set(key, value)
        table, runs, longest, scores = _documents(job, engine)
        grid = job.sizes or _default_grid(longest)
        growth = Growth(runs, measures, gain, grid, job.sequences, job.seed, job.ties)
        fewest = job.min_docs or grid[-1]
        place = output.staged("grown") if output else None
        with _diagnosed(scores):
            grown = materialized(stack, engine, place, grown_samples(table, growth))
            found = _judged(grown, growth, job.baseline, fewest, longest)
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
        plot_curves(found.curves, job.plot)
    return dataclasses.replace(found, engine=engine.name, tables=published)


def _judged(
    grown: DataFrame, growth: Growth, baseline: str | None, fewest: int, longest: int
) -> Distinguished:
    if baseline is not None and baseline not in growth.runs:
        raise unknown("baseline", baseline, growth.runs)
    sums = _sums(grown, growth, baseline, fewest)
    counts = verdicts.counts(sums)
    docs.refuse_few(counts["queries"], longest, fewest)
    shares = _shares(grown)
    curves, pairs = verdicts.curves(sums, shares), verdicts.pairs(sums)
    words = advice(growth.measures, curves, pairs, verdicts.pooled(sums), shares, counts)
    return Distinguished(curves, pairs, counts, words)


def grown_samples(documents: DataFrame, growth: Growth) -> DataFrame:
    """GROWN (kernel/growth.py), lazily: every query's values at all sizes."""
    return documents.mapInArrow(functools.partial(kernel.grow, growth=growth), GROWN)


def values_of(grown: DataFrame, growth: Growth, fewest: int) -> DataFrame:
    """VALUES, lazily: a row for each query, sequence, ranker, measure and size."""
    kept = grown.where(F.col("n_docs") >= fewest)
    return kept.mapInArrow(functools.partial(kernel.long_values, growth=growth), VALUES)


def growing_measures(
    measures: MeasureLike | Iterable[MeasureLike], gain: str = "label"
) -> tuple[tuple[nDCG, ...], Gain]:
    """The measures, all with the gain that was asked for.

    Raises:
        UsageError: for another measure than nDCG, the cut-off R, or several gains.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)  # the advice says it
        found = resolve(parse_measures(measures), 1.0, None)
        wanted: list[nDCG] = []
        for measure in found:
            if type(measure) is not nDCG or measure.cutoff == "R":
                raise UsageError(
                    f"{measure} is not nDCG with a cut-off of this kind: n, n/5, sqrt(n), 10"
                )
            own = measure if gain == "label" else dataclasses.replace(measure, gain=gain)
            wanted.append(own)
    gains = {measure.gain_of for measure in wanted}
    if len(gains) > 1:
        raise UsageError("the measures have several gains; run the job once for each")
    return tuple(wanted), gains.pop()


def _documents(
    job: DistinguishabilityJob, engine: Engine
) -> tuple[DataFrame, tuple[str, ...], int, DataFrame | None]:
    """DOCUMENTS, the rankers, how many documents nine of ten queries have, and the scores."""
    thresholds = job.click_thresholds
    if job.synthetic:
        queries, size = SYNTHETIC[job.synthetic]
        size = job.sizes[-1] if job.sizes else size
        table = made_up(
            engine.spark, job.synthetic, job.queries or queries, size, job.seed, thresholds
        )
        return table, synthetic.RUNS, size, None
    local = engine.local_files

    def read(role: str, source: str) -> DataFrame:
        return read_table(engine.spark, role, source, glob=job.glob, local=local)

    scores = functools.reduce(
        lambda a, b: a.unionByName(b),
        [docs.conformed_scores(read("scores", source)) for source in job.scores],
    )
    if job.qrels:
        labels = docs.labels_of_qrels(read("qrels", job.qrels))
    else:
        labels = docs.labels_of_clicks(read("clicks", job.clicks or ""), thresholds)
    runs, longest = _rankers(scores, ", ".join(job.scores))
    return docs.documents(scores, labels, runs), runs, longest, scores


@contextlib.contextmanager
def _diagnosed(scores: DataFrame | None) -> Iterator[None]:
    """Where the kernel refused the scores, say which."""
    try:
        yield
    except Exception as problem:
        found = refused(problem)
        if isinstance(found, InputError) and found.code == "E132" and scores is not None:
            where = checks.repeats(scores, ("run_id", "query_id", "doc_id"))
            found = InputError("E132", f"{found.message}: {where}")
        raise found from problem.__cause__


def _rankers(scores: DataFrame, where: str = "no rows") -> tuple[tuple[str, ...], int]:
    """The rankers by name, and how many documents nine of ten queries have in each."""
    nameless = lacks("run_id", "query_id", "doc_id")
    sizes = scores.groupBy("run_id", "query_id").agg(
        F.count(F.lit(1)).alias("n"), F.sum(F.when(nameless, 1).otherwise(0)).alias("n_null")
    )
    rows = (
        sizes.groupBy("run_id")
        .agg(F.percentile_approx("n", 0.1).alias("usual"), F.sum("n_null").alias("n_null"))
        .collect()
    )
    nulls = sum(row["n_null"] for row in rows)
    if nulls:
        raise InputError("E120", f"{nulls} rows of the scores have a null run, query or document")
    if not rows:
        raise InputError("E103", f"the scores have no rows: {where}")
    usual = {str(row["run_id"]): int(row["usual"]) for row in rows}
    return tuple(sorted(usual)), min(usual.values())


def made_up(
    spark: SparkSession, kind: str, queries: int, size: int, seed: int, thresholds: Sequence[int]
) -> DataFrame:
    """DOCUMENTS of the rankers A, B and random: the power family, or the paper's click log."""
    kernel_of = functools.partial(
        synthetic.documents, kind=kind, size=size, seed=seed, thresholds=tuple(thresholds)
    )
    lists = ["label", *(f"score_{place}" for place in range(len(synthetic.RUNS)))]
    schema = ", ".join(f"{name} array<double>" for name in lists)
    return spark.range(queries).mapInArrow(
        kernel_of, f"query_id string, hash array<bigint>, {schema}, repeats bigint"
    )


def _default_grid(longest: int) -> tuple[int, ...]:
    """20, 50, 100, 200, … as far as nine of ten queries reach."""
    steps = [step * 10**power for power in range(1, 8) for step in STEPS]
    found = tuple(size for size in steps if 20 <= size <= longest)
    if not found:
        raise InputError(
            "E172", f"the queries have too few documents ({longest}); give sizes with --grid"
        )
    return found


def _sums(grown: DataFrame, growth: Growth, baseline: str | None, fewest: int) -> CurveSums:
    pairs = pairs_of(growth, baseline)
    found = CurveSums(growth, pairs, fewest)
    partial = functools.partial(sum_curves, growth=growth, pairs=pairs, fewest=fewest)
    for row in grown.mapInArrow(partial, "one int, sums binary").collect():
        found.totals.merge(np.frombuffer(bytes(row["sums"]), np.int64))
    return found


def _shares(grown: DataFrame) -> list[tuple[float, float]]:
    """The gains of the largest samples, and which share of the documents has each."""
    levels = grown.select(F.explode(F.arrays_zip("level", "level_count")).alias("own"))
    rows = levels.groupBy("own.level").agg(F.sum("own.level_count").alias("n")).collect()
    total = sum(row["n"] for row in rows)
    return sorted((float(row["level"]), row["n"] / total) for row in rows)


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
        "synthetic": job.synthetic,
        "inputs": [redacted(source) for source in inputs],
        "counts": counts,
        "started": started,
        "finished": now(),
    }
