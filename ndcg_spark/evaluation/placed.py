"""The documents of runs beside their judgements, at the places that the policies give them."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.evaluation.plan import deepest_place
from ndcg_spark.evaluation.ranked import LIST, by_key, documents_once, total_order, with_ranks
from ndcg_spark.evaluation.shares import Shares, with_discounts
from ndcg_spark.measures.policies import Policies

SPREAD = ("tie_first", "tie_size")


def placed_documents(
    runs: DataFrame, judgements: DataFrame, shares: Shares, names: DataFrame | None = None
) -> DataFrame:
    """LIST, doc_id, key, repeats, last, tied, relevance, worth_…, inside, rank, place_….

    inside:  whether the document counts, as depth and judged_only have it; rank is among these
    tied:    whether it is the last above a measure's cut-off, and the next has the same score
    place_…: under ties="best" and "worst" the rank for each worth_…
    SPREAD:  under ties="mean" the first rank and the number of those that share the score
    n_ret:   the length of the list, where a measure looks at it

    names: the runs (run_id), to have the judged documents that each lacks too; rank is null there
    """
    policies = shares.policies
    rows = documents_once(runs, policies)
    own = shares.worth_columns
    counted = judgements.where("counted").select("query_id", "doc_id", "relevance", *own)
    # the embedded engine holds the left side in memory: the judgements, not the runs
    if names is None:
        rows = counted.join(rows, ["query_id", "doc_id"], "right")
    else:
        every = F.broadcast(names).crossJoin(counted)
        rows = every.join(rows, [*LIST, "doc_id"], "full")
    rows = with_ranks(rows, policies)
    tied = F.lit(False)
    if cutoffs := _cutoffs(shares):
        tied = F.col("tied_next") & F.col("rank").isin(*cutoffs)
    rows = rows.withColumn("tied", tied).drop("tied_next")
    worths = {name: F.coalesce(F.col(name), F.lit(0.0)) for name in own}
    depth = deepest_inside(shares)
    inside = F.col("rank").isNotNull()
    if depth is not None:
        inside = F.coalesce(F.col("rank") <= depth, F.lit(False))
    rows = rows.withColumns({**worths, "inside": inside})
    if policies.judged_only:
        rows = rows.withColumn("inside", F.col("inside") & F.col("relevance").isNotNull())
        condensed = Window.partitionBy(*LIST, "inside").orderBy("rank")
        rows = rows.withColumn("rank", F.row_number().over(condensed).cast("bigint"))
    rows = _over_orders(rows, shares)
    if any(measure.by_length() for measure in shares.measures):
        length = F.sum(F.col("inside").cast("bigint")).over(Window.partitionBy(*LIST))
        rows = rows.withColumn("n_ret", length)
    return rows


def deepest_inside(shares: Shares) -> int | None:
    """The last rank of a list that counts, before unjudged documents are dropped."""
    depths = (shares.policies.depth, deepest_place(shares.measures, shares.policies))
    return min((depth for depth in depths if depth is not None), default=None)


def ranks(shares: Shares) -> list[Column]:
    """Per measure the column of its ranks."""
    bounds = shares.policies.ties in ("best", "worst")
    return [F.col(f"place_{k}" if bounds else "rank") for k in shares.worth]


def discounted(rows: DataFrame, shares: Shares) -> DataFrame:
    """Rows of `placed_documents` (with n_rel_…) with discount_… per measure."""
    spread = [F.col(name) for name in SPREAD] if shares.policies.ties == "mean" else []
    return with_discounts(rows, shares, ranks(shares), spread=spread)


def _over_orders(rows: DataFrame, shares: Shares) -> DataFrame:
    policies, each = shares.policies, [*LIST, "inside"]
    if policies.ties == "mean":
        first = F.rank().over(Window.partitionBy(*each).orderBy(by_key(policies)))
        size = F.count(F.lit(1)).over(Window.partitionBy(*each, "key"))
        return rows.withColumns({SPREAD[0]: first.cast("bigint"), SPREAD[1]: size})
    if policies.ties in ("best", "worst"):
        places = {}
        for k in range(len(shares.by_worth)):
            worth = F.col(f"worth_{k}")
            of_tie = worth.desc() if policies.ties == "best" else worth.asc()
            score, document = total_order(policies)
            order = Window.partitionBy(*each).orderBy(score, of_tie, document)
            places[f"place_{k}"] = F.row_number().over(order).cast("bigint")
        return rows.withColumns(places)
    return rows


def _cutoffs(shares: Shares) -> Collection[int]:
    policies: Policies = shares.policies
    if policies.order_by == "rank" or policies.judged_only:
        return ()
    return {k for measure in shares.measures if isinstance(k := measure.last_rank(), int)}
