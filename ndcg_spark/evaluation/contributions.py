"""What each document adds to a measure, and what it would add in the ideal order."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.evaluation.ideals import judged_and_ideals, with_divisors
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.placed import discounted, placed_documents, ranks
from ndcg_spark.evaluation.ranked import LIST
from ndcg_spark.evaluation.shares import Shares, with_discounts

CONTRIBUTIONS = (
    "rank",
    "doc_id",
    "score",
    "relevance",
    "gain",
    "discount",
    "contribution",
    "ideal_rank",
    "lost",
)


def contributions_of(
    inputs: Inputs,
    shares: Shares,
    ideals: DataFrame | None = None,
    names: DataFrame | None = None,
) -> DataFrame:
    """query_id, run_id, measure, CONTRIBUTIONS, lazily (api.contributions says what they are).

    names: all runs (run_id), where the inputs may lack some
    """
    judgements, queries, sums = judged_and_ideals(inputs.qrels, shares, ideals)
    if names is None:
        names = inputs.runs.select("run_id").distinct()
    rows = placed_documents(inputs.runs, judgements, shares, names)
    rows = _chosen(rows, queries, inputs, shares)
    if "n_ret" not in rows.columns:
        rows = rows.withColumn("n_ret", F.lit(0))
    placed = [name for name in rows.columns if name == "rank" or name.startswith("place_")]
    rows = rows.withColumns({name: F.when(F.col("inside"), F.col(name)) for name in placed})
    rows = with_divisors(_in_ideal_order(rows, shares), sums, shares)
    rows = discounted(rows, shares)
    best = [F.col(f"ideal_rank_{k}") for k in shares.worth]
    rows = with_discounts(rows, shares, best, name="ideal_discount")
    return _long(rows, shares)


def _chosen(rows: DataFrame, queries: DataFrame, inputs: Inputs, shares: Shares) -> DataFrame:
    """The lists that the policy `queries` scores, with what is known of their queries."""
    how = shares.policies.queries
    if how != "judged":  # without the lists that runs lack
        retrieved = inputs.runs.select(*LIST).distinct()
        rows = rows.join(retrieved, list(LIST), "left_semi")
    return queries.join(rows, "query_id", "right" if how == "run" else "inner")


def _in_ideal_order(rows: DataFrame, shares: Shares) -> DataFrame:
    """With ideal_rank_…: documents of equal worth stand in the order in which the run has them.

    So a run in an ideal order loses nothing anywhere. Null where a document is worth nothing.
    """
    places: dict[int, Column] = dict(zip(shares.worth, ranks(shares), strict=True))
    ideal_ranks = {}
    for k, rank in sorted(places.items()):
        worth = F.col(f"worth_{k}")
        by_id = F.col("doc_id").cast("string").desc()
        order = Window.partitionBy(*LIST).orderBy(worth.desc(), rank.asc_nulls_last(), by_id)
        ideal_ranks[f"ideal_rank_{k}"] = F.when(
            worth > 0, F.row_number().over(order).cast("bigint")
        )
    return rows.withColumns(ideal_ranks)


def _long(rows: DataFrame, shares: Shares) -> DataFrame:
    """A row for each document and measure; the columns of all measures side by side before."""
    of_each = [_of_measure(i, rank, shares) for i, rank in enumerate(ranks(shares))]
    # arrays side by side, since the embedded engine wants structs to be alike in what may be null
    zipped = F.arrays_zip(
        *[F.array(*[one[name] for one in of_each]).alias(name) for name in of_each[0]]
    )
    score = F.col("key").cast("double").alias("score")
    documents = rows.select(*LIST, "doc_id", score, "relevance", F.explode(zipped).alias("of"))
    own = ("doc_id", "score", "relevance")
    columns = [F.col(name if name in own else f"of.{name}").alias(name) for name in CONTRIBUTIONS]
    found = documents.select("query_id", "run_id", F.col("of.measure").alias("measure"), *columns)
    return found.where(F.col("rank").isNotNull() | F.col("ideal_rank").isNotNull())


def _of_measure(i: int, rank: Column, shares: Shares) -> dict[str, Column]:
    measure, k = shares.measures[i], shares.worth[i]
    gain, ideal_rank, divisor = (
        F.col(name) for name in (f"worth_{k}", f"ideal_rank_{k}", f"ideal_{i}")
    )
    if measure.first_only:
        gain = F.when(ideal_rank == 1, gain).otherwise(F.lit(0.0))

    def share(discount: str) -> Column:
        return F.coalesce(F.when(divisor > 0, gain * F.col(discount) / divisor), F.lit(0.0))

    contribution = share(f"discount_{i}")
    return {
        "measure": F.lit(str(measure)),
        "rank": rank,
        "gain": gain,
        "discount": F.col(f"discount_{i}"),
        "contribution": contribution,
        "ideal_rank": ideal_rank,
        "lost": share(f"ideal_discount_{i}") - contribution,
    }
