"""The whole evaluation as one lazy plan: runs and qrels in, scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError
from ndcg_spark.measures import Measure, Policies, parse_measures, refuse_ties, resolve
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.plan.lists import query_rows
from ndcg_spark.plan.score import score
from ndcg_spark.tables.contracts import QRELS, RANKED_RUNS, RUNS, Contract, conform, same_ids


def evaluate(
    run: DataFrame,
    qrels: DataFrame,
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    global_gains: object = None,
    dialect: str = "seeds",
    **policies: Any,
) -> DataFrame:
    """Per-query scores, lazily: run_id, query_id, measure, value, n_ret, n_rel, n_judged, status.

    run: query_id, doc_id, score (or rank with ``order_by="rank"``), optionally run_id
    qrels: query_id, doc_id, relevance, optionally gain
    measures: names or objects, ``["nDCG@10", "ndcg_cut.5,20", AP(rel=2)]``
    global_gains: a gain for every gain measure that has none of its own
    dialect: "trec_eval" gives five names that program's meaning
    policies: the options of `Policies`, such as ``queries="intersection"``

    A value is null where the measure is undefined and ``no_relevant="skip"``. Bad rows (null ids,
    NaN scores, duplicates) make the action fail with their codes and counts; `check` lists them.

    Raises:
        UsageError: for a measure or an option that does not exist.
        InputError: for missing columns, wrong types, or ids of different types.
    """
    options = Policies(**policies)
    wanted = resolve(parse_measures(measures, dialect), options.rel, global_gains)
    return long(score_lists(*conformed(run, qrels, options), wanted, options), wanted)


class Evaluator:
    """`evaluate` as an object: the judgements and measures once, then any number of runs."""

    def __init__(
        self,
        qrels: DataFrame,
        measures: MeasureLike | Iterable[MeasureLike],
        *,
        global_gains: object = None,
        dialect: str = "seeds",
        **policies: Any,
    ) -> None:
        self._qrels = qrels
        self._options = Policies(**policies)
        wanted = parse_measures(measures, dialect)
        self._measures = resolve(wanted, self._options.rel, global_gains)

    def evaluate(self, run: DataFrame) -> DataFrame:
        """The run's per-query scores, as `evaluate` gives them."""
        tables = conformed(run, self._qrels, self._options)
        return long(score_lists(*tables, self._measures, self._options), self._measures)


def runs_contract(policies: Policies) -> Contract:
    """The columns that runs must have: a score, or under ``order_by="rank"`` a rank."""
    return RANKED_RUNS if policies.order_by == "rank" else RUNS


def conformed(
    runs: DataFrame,
    qrels: DataFrame,
    policies: Policies,
    qrels_columns: Mapping[str, str] | None = None,
) -> tuple[DataFrame, DataFrame]:
    """Runs and qrels with exactly the columns of their contracts; a run without a name is `run`."""
    runs = conform(runs, runs_contract(policies))
    qrels = conform(qrels, QRELS, qrels_columns)
    same_ids(runs, qrels)
    if "run_id" not in runs.columns:
        runs = runs.withColumn("run_id", F.lit("run"))
    return runs, qrels


def score_lists(
    runs: DataFrame, qrels: DataFrame, measures: Sequence[Measure], policies: Policies
) -> DataFrame:
    """SCORES, one row for each run and query (plan.score), of conforming tables."""
    refuse_ties(measures, policies)
    deepest = deepest_cutoff(measures) if policies.prune else None
    return score(query_rows(runs, qrels, policies, deepest), measures, policies)


def deepest_cutoff(measures: Sequence[Measure]) -> int:
    """How far down any of these measures looks.

    Raises:
        UsageError: for measures without a fixed cut-off.
    """
    cutoffs = [getattr(measure, "cutoff", None) for measure in measures]
    whole = [str(m) for m, k in zip(measures, cutoffs, strict=True) if not isinstance(k, int)]
    if whole:
        raise UsageError(f"prune: {', '.join(whole)} look at the whole list; give each a cut-off")
    return max(k for k in cutoffs if isinstance(k, int))


def long(scores: DataFrame, measures: Sequence[Measure]) -> DataFrame:
    """The per_query table: one row for each scored list and measure."""
    names = F.array(*[F.lit(str(measure)) for measure in measures]).alias("measure")
    pairs = F.explode(F.arrays_zip(names, F.col("values").alias("value"))).alias("pair")
    return (
        scores.where("scored")
        .select("run_id", "query_id", pairs, "n_ret", "n_rel", "n_judged", "status")
        .select(
            "run_id",
            "query_id",
            F.col("pair.measure").alias("measure"),
            F.col("pair.value").alias("value"),
            "n_ret",
            "n_rel",
            "n_judged",
            "status",
        )
    )
