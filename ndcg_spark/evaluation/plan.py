"""The whole evaluation as one lazy plan: runs and qrels in, scores out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine.shuffle import SHUFFLE, is_on
from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.packed_lists import by_part
from ndcg_spark.evaluation.query_rows import query_rows
from ndcg_spark.evaluation.score_kernel import score_batches, score_parts
from ndcg_spark.measures import Measure, Policies, refuse_ties


def score_lists(inputs: Inputs, measures: Sequence[Measure]) -> DataFrame:
    """SCORES, one row for each run and query (`score`)."""
    policies = inputs.policies
    refuse_ties(measures, policies)
    deepest = deepest_place(measures, policies)
    if not is_on(inputs.spark, SHUFFLE):  # bucketed by query: packed records would be shuffled
        kernel = functools.partial(score_batches, measures=tuple(measures), policies=policies)
        return score(query_rows(inputs.runs, inputs.qrels, policies), kernel, inputs.qrels)
    kernel = functools.partial(
        score_parts, measures=tuple(measures), policies=policies, deepest=deepest
    )
    return score(by_part(inputs.packed(deepest)), kernel, inputs.qrels)


def deepest_place(measures: Sequence[Measure], policies: Policies) -> int | None:
    """How many of a list's first documents the policy `prune` keeps: one more than any measure
    sees, so that a tie across the last cut-off is seen; None without it."""
    return deepest_cutoff(measures) + 1 if policies.prune else None


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


def score(rows: DataFrame, kernel: Any, like: DataFrame) -> DataFrame:
    """SCORES(run_id, query_id, status, scored, n_ret, …, values): a row for each run and query.

    `values` holds one double per measure, in the measures' order. A list that the `queries`
    policy leaves out comes with ``scored = false``, so that it can be counted.
    """
    return rows.mapInArrow(
        kernel,
        f"run_id string, query_id {like.schema['query_id'].dataType.simpleString()}, "
        "status string, scored boolean, n_ret bigint, n_rel bigint, n_judged bigint, "
        "n_duplicates bigint, tied boolean, values array<double>",
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
