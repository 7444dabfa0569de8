"""The scores of lists by window functions: for lists that no task can hold, and to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast, get_args

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.errors import unknown
from ndcg_spark.evaluation.fit import refuse_what_does_not_fit
from ndcg_spark.evaluation.ideals import judged_and_ideals, with_divisors
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.placed import deepest_inside, discounted, placed_documents, ranks
from ndcg_spark.evaluation.plan import score_lists
from ndcg_spark.evaluation.ranked import LIST, RUNNING, refusing
from ndcg_spark.evaluation.shares import Shares
from ndcg_spark.evaluation.shares_kernel import always_defined
from ndcg_spark.measures import Measure, refuse_ties

PlanName = Literal["kernel", "window"]


def plan_name(name: str) -> PlanName:
    """The plan of this name.

    Raises:
        UsageError: for a plan that does not exist, with the nearest one.
    """
    plans = get_args(PlanName)
    if name not in plans:
        raise unknown("plan", str(name), plans)
    return cast(PlanName, name)


def lists_scored(
    inputs: Inputs,
    measures: Sequence[Measure],
    plan: PlanName = "kernel",
    ideals: DataFrame | None = None,
) -> DataFrame:
    """SCORES (plan.py) by the plan of this name.

    ideals: IDEALS (ideals.py) of the same judgements, for the plan `window`

    Raises:
        UsageError: for measures that the plan or the policies have no value for, naming all.
        InputError: E142 for a query that is too large for the plan `kernel`.
    """
    if plan == "window":
        return score_lists_by_windows(inputs, measures, ideals)
    refuse_what_does_not_fit(inputs)
    return score_lists(inputs, measures)


def score_lists_by_windows(
    inputs: Inputs, measures: Sequence[Measure], ideals: DataFrame | None = None
) -> DataFrame:
    """SCORES (plan.py) of measures that are sums over documents.

    ideals: IDEALS (ideals.py) of the same judgements, if they are kept

    Raises:
        UsageError: for other measures, naming all of them.
    """
    refuse_ties(measures, inputs.policies)
    shares = Shares.of(measures, inputs.policies)
    judgements, queries, sums = judged_and_ideals(inputs.qrels, shares, ideals)
    lists = _lists(placed_documents(inputs.runs, judgements, shares), queries, shares)
    names = inputs.runs.select("run_id").distinct()
    asked = F.broadcast(names).crossJoin(queries.withColumn("judged", F.lit(True)))
    rows = _filled(lists.join(asked, [*LIST], "full"))
    return _scores(with_divisors(rows, sums, shares), shares)


def _lists(rows: DataFrame, queries: DataFrame, shares: Shares) -> DataFrame:
    """LIST, n_ret, n_judged, n_duplicates, tied, total_…: a row for each list that runs have.

    total_… is the sum of worth times discount, term by term in the order of ranks: what engines
    make of a sum in no order differs in its last digits.
    """
    judged = F.col("inside") & F.col("relevance").isNotNull()
    rows = rows.where(judged | F.col("last") | F.col("tied"))
    of_query = queries.select("query_id", *shares.n_rel_columns)
    rows = discounted(of_query.join(rows, "query_id", "right"), shares)
    totals = []
    for i, rank in enumerate(ranks(shares)):
        term = F.when(judged, F.col(f"worth_{shares.worth[i]}") * F.col(f"discount_{i}"))
        if not shares.measures[i].first_only:
            term = F.sum(term).over(Window.partitionBy(*LIST).orderBy(rank).rowsBetween(*RUNNING))
        totals.append(term.alias(f"running_{i}"))
    depth = deepest_inside(shares)
    n_ret = F.sum(judged.cast("bigint")) if shares.policies.judged_only else F.max("rank")
    # terms are not negative: a running sum is the largest at its end, a first term of all
    return (
        rows.select("*", *totals)
        .groupBy(*LIST)
        .agg(
            (n_ret if depth is None else F.least(n_ret, F.lit(depth))).alias("n_ret"),
            F.sum(judged.cast("bigint")).alias("n_judged"),
            F.max("repeats").alias("n_duplicates"),
            F.max("tied").alias("tied"),
            *[F.max(f"running_{i}").alias(f"total_{i}") for i in range(len(totals))],
        )
    )


def _filled(rows: DataFrame) -> DataFrame:
    """Lists that runs lack, and queries without judgements, with zeros; retrieved, judged."""
    whole = {
        name: F.coalesce(F.col(name), F.lit(0)) for name in rows.columns if name.startswith("n_")
    }
    return rows.withColumns(
        {
            "retrieved": F.col("n_ret").isNotNull(),
            "judged": F.coalesce(F.col("judged"), F.lit(False)),
            "tied": F.coalesce(F.col("tied"), F.lit(False)),
        }
    ).withColumns(whole)


def _scores(rows: DataFrame, shares: Shares) -> DataFrame:
    judged, retrieved = F.col("judged"), F.col("retrieved")
    status = (
        F.when(~judged, "unjudged")
        .when(~retrieved, "missing")
        .when(F.col("n_rel") == 0, "no_relevant")
        .otherwise("ok")
    )
    scored = {"judged": judged, "run": retrieved, "intersection": judged & retrieved}
    return rows.select(
        *LIST,
        status.alias("status"),
        scored[shares.policies.queries].alias("scored"),
        *[F.col(name).cast("bigint") for name in ("n_ret", "n_rel", "n_judged", "n_duplicates")],
        "tied",
        F.array(*[_value(i, shares) for i in range(len(shares.measures))]).alias("values"),
    )


def _value(i: int, shares: Shares) -> Column:
    """The sum over its ideal, 0 where there is none, and what `no_relevant` makes of it."""
    measure, how = shares.measures[i], shares.policies.no_relevant
    ideal, total = F.col(f"ideal_{i}"), F.coalesce(F.col(f"total_{i}"), F.lit(0.0))
    value = F.when(ideal > 0, total / ideal).otherwise(F.lit(0.0))
    too_large = F.isnan(value) | (F.abs(value) == float("inf")) | F.isnan(ideal)
    refused = f"E114 lists of which {measure} is no finite number"
    value = refusing(value, {refused: too_large})
    if measure.bounded:
        value = F.least(value, F.lit(1.0))
    if how == "zero" or (how == "one" and not measure.bounded):
        return value
    defined = F.coalesce(F.col(f"defined_{i}"), F.lit(always_defined(measure)))
    other = {"skip": F.lit(None).cast("double"), "nan": F.lit(float("nan")), "one": F.lit(1.0)}
    return F.when(defined, value).otherwise(other[how])
