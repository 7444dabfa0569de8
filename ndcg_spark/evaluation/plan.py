"""The whole evaluation as one lazy plan: runs and qrels in, scores out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation.query_rows import query_rows
from ndcg_spark.evaluation.score_kernel import score_batches
from ndcg_spark.measures import Measure, Policies, refuse_ties
from ndcg_spark.tables.contracts import QRELS, RANKED_RUNS, RUNS, Contract, conform, same_ids


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
    """SCORES, one row for each run and query (`score`), of conforming tables."""
    refuse_ties(measures, policies)
    deepest = deepest_cutoff(measures) if policies.prune else None
    return score(query_rows(runs, qrels, policies, deepest), measures, policies)


def deepest_cutoff(measures: Sequence[Measure]) -> int:
    """How far down any of these measures looks.

    Raises:
        UsageError: for measures without a fixed cut-off.
    """
    cutoffs = [measure.last_rank() for measure in measures]
    whole = [str(m) for m, k in zip(measures, cutoffs, strict=True) if not isinstance(k, int)]
    if whole:
        raise UsageError(f"prune: {', '.join(whole)} look at the whole list; give each a cut-off")
    return max(k for k in cutoffs if isinstance(k, int))


def score(rows: DataFrame, measures: Sequence[Measure], policies: Policies) -> DataFrame:
    """SCORES(run_id, query_id, status, scored, n_ret, …, values) of ROWS or LISTS (query_rows.py).

    A row for each run and query.

    `values` holds one double per measure, in the measures' order. A list that the `queries`
    policy leaves out comes with ``scored = false``, so that it can be counted.
    """
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    kernel = functools.partial(score_batches, measures=tuple(measures), policies=policies)
    return rows.mapInArrow(
        kernel,
        f"run_id string, query_id {kinds['query_id']}, status string, scored boolean, "
        "n_ret bigint, n_rel bigint, n_judged bigint, n_duplicates bigint, tied boolean, "
        "values array<double>",
    )


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
