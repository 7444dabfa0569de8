"""Which queries lost most, and which of their documents: plans for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.evaluation.contributions import contributions_of
from ndcg_spark.evaluation.ideals import best_values, graded, judged_queries
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.ranked import LIST
from ndcg_spark.evaluation.shares import Shares

LOSSES = (
    *LIST,
    "status",
    "n_ret",
    "n_rel",
    "n_judged",
    "value",
    "best",
    "loss",
    "baseline_value",
    "drop",
)


def losses(scores: DataFrame, inputs: Inputs, shares: Shares, baseline: str | None) -> DataFrame:
    """LOSSES of the first measure: a row for each list with a value, the baseline's left out.

    loss: the value of the ideal order, less the list's own
    drop: the baseline's value, less the list's own; both null without a baseline
    """
    judgements = graded(inputs.qrels, shares)
    best = best_values(judgements, judged_queries(judgements, shares), shares)
    rows = scores.where("scored").withColumn("value", F.element_at("values", 1))
    rows = rows.join(best.withColumnRenamed("best_0", "best"), "query_id", "left")
    other = F.lit(None).cast("double")
    if baseline is None:
        rows = rows.withColumn("baseline_value", other)
    else:
        before = rows.where(F.col("run_id") == baseline)
        before = before.select("query_id", F.col("value").alias("baseline_value"))
        rows = rows.where(F.col("run_id") != baseline).join(before, "query_id", "left")
    best_value = F.coalesce(F.col("best"), F.lit(0.0))
    return (
        rows.where(F.col("value").isNotNull() & ~F.isnan("value"))
        .withColumn("best", best_value)
        .withColumn("loss", F.col("best") - F.col("value"))
        .withColumn("drop", F.col("baseline_value") - F.col("value"))
        .select(*LOSSES)
    )


def worst(found: DataFrame, number: int, by: str) -> DataFrame:
    """The lists with the largest loss, or drop; of equal ones those that the run has first."""
    lost = found.where(F.col(by) > 0)
    there = F.col("n_ret") > 0
    return lost.orderBy(F.col(by).desc(), there.desc(), "run_id", "query_id").limit(number)


def named(found: DataFrame, queries: Sequence[str]) -> DataFrame:
    """The lists of these queries."""
    return found.where(F.col("query_id").cast("string").isin(*queries))


def of_queries(inputs: Inputs, queries: Sequence[str]) -> Inputs:
    """The rows of these queries only."""
    asked = F.col("query_id").cast("string").isin(*queries)
    runs, qrels = inputs.runs.where(asked), inputs.qrels.where(asked)
    return Inputs(inputs.spark, inputs.policies, runs_tables=[runs], qrels_tables=[qrels])


def documents(inputs: Inputs, shares: Shares, names: DataFrame, baseline: str | None) -> DataFrame:
    """Contributions, with the rank and contribution that each document has in the baseline."""
    rows = contributions_of(inputs, shares, names=names)
    if baseline is None:
        return rows.withColumns(
            {
                "baseline_rank": F.lit(None).cast("bigint"),
                "baseline_contribution": F.lit(None).cast("double"),
            }
        )
    before = rows.where((F.col("run_id") == baseline) & F.col("rank").isNotNull()).select(
        "query_id",
        "doc_id",
        F.col("rank").alias("baseline_rank"),
        F.col("contribution").alias("baseline_contribution"),
    )
    return rows.where(F.col("run_id") != baseline).join(before, ["query_id", "doc_id"], "left")


def summaries(found: DataFrame, top: int) -> DataFrame:
    """LIST, missing, below, unjudged: per list how many documents with a gain it lacks, how many it
    has below a rank, and how many in the ranks before are not judged."""

    def number(condition: str) -> Column:
        return F.sum(F.expr(condition).cast("bigint"))

    return found.groupBy(*LIST).agg(
        number("rank is null").alias("missing"),
        number(f"coalesce(rank > {top} and ideal_rank > 0, false)").alias("below"),
        number(f"coalesce(rank <= {top} and relevance is null, false)").alias("unjudged"),
    )


def shown(found: DataFrame, top: int, more: int) -> DataFrame:
    """Each list's first documents, and those further down or missing that lost most."""
    first = F.coalesce(F.col("rank") <= top, F.lit(False))
    order = Window.partitionBy(*LIST, "first").orderBy(
        F.col("lost").desc(), F.col("rank").asc_nulls_last(), F.col("doc_id").cast("string")
    )
    rows = found.withColumn("first", first).withColumn("by_loss", F.row_number().over(order))
    kept = F.col("first") | ((F.col("by_loss") <= more) & (F.col("lost") > 0))
    return rows.where(kept).drop("first", "by_loss")
