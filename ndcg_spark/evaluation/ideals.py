"""Judgements with their worth, and each query's ideals: tables that can be kept."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation import shares_kernel
from ndcg_spark.evaluation.ranked import RUNNING, no_id, refusing
from ndcg_spark.evaluation.shares import (
    Shares,
    with_counted_ideals,
    with_discounts,
    with_gains,
    with_last_places,
)
from ndcg_spark.measures.gains import LARGEST_EXP2
from ndcg_spark.measures.ndcg import uses_exp2

IDEALS = ("measure", "idcg", "n_rel", "n_gain")


def judged_and_ideals(
    qrels: DataFrame, shares: Shares, given: DataFrame | None = None
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """`graded`, the judged queries with their ideals, and `ideal_sums`.

    given: IDEALS of the same judgements, if they are kept
    """
    judgements = graded(qrels, shares)
    queries = judged_queries(judgements, shares)
    sums = ideal_sums(judgements, queries, shares.ideal_orders)
    if given is not None:
        return judgements, with_given_ideals(queries, given, shares), sums
    return judgements, with_ideals(queries, sums, shares), sums


def graded(qrels: DataFrame, shares: Shares) -> DataFrame:
    """query_id, doc_id, relevance, worth_…, defined_…, counted: each document once.

    counted: whether it is judged, as the policy `negative` has it

    A row that the policies refuse makes the action fail.
    """
    policies = shares.policies
    own = ["gain"] if "gain" in qrels.columns else []
    # the highest grade, then the highest gain; no gain at all is the lowest
    best = F.struct("relevance", *[F.coalesce(name, F.lit(-1.0)).alias(name) for name in own])
    bad_label = _not_finite(F.col("relevance"))
    for name in own:
        bad_label = bad_label | (
            F.col(name).isNotNull() & (_not_finite(F.col(name)) | (F.col(name) < 0))
        )
    once = (
        qrels.select("query_id", "doc_id", best.alias("best"), bad_label.alias("bad_label"))
        .groupBy("query_id", "doc_id")
        .agg(
            F.max("best").alias("best"),
            F.max("bad_label").alias("bad_label"),
            F.count(F.lit(1)).alias("copies"),
        )
        .select(
            "*", F.col("best.relevance").alias("label"), *[F.col(f"best.{name}") for name in own]
        )
    )
    relevance = refusing(F.col("label"), _refused(shares))
    gains = [F.when(F.col(name) >= 0, F.col(name)).alias(name) for name in own]
    rows = once.select("query_id", "doc_id", relevance.alias("relevance"), *gains)
    counted = F.lit(True) if policies.negative != "unjudged" else F.col("relevance") >= 0
    return with_gains(rows, shares).drop("gain").withColumn("counted", counted)


def judged_queries(judgements: DataFrame, shares: Shares) -> DataFrame:
    """query_id, n_rel, n_rel_…, n_gain_…, defined_…: a row for each query that is judged.

    n_rel is R at the policies' threshold, n_rel_… at each that measures have.
    """

    def number(flag: Column) -> Column:
        return F.sum((F.col("counted") & flag).cast("bigint"))

    label = F.col("relevance")
    found = [number(label >= shares.policies.rel).alias("n_rel")]
    found += [number(label >= rel).alias(f"n_rel_{k}") for k, rel in enumerate(shares.rels)]
    for k in range(len(shares.by_worth)):
        found.append(number(F.col(f"worth_{k}") > 0).alias(f"n_gain_{k}"))
    for i, measure in enumerate(shares.measures):
        defined = F.max(F.col("counted") & F.col(f"defined_{i}"))
        if shares_kernel.always_defined(measure):
            defined = F.lit(True)
        found.append(defined.alias(f"defined_{i}"))
    return judgements.groupBy("query_id").agg(*found)


def ideal_sums(judgements: DataFrame, queries: DataFrame, orders: Shares) -> DataFrame:
    """query_id, n_rel_…, place_… and, per order, sum_…: what the best documents add up to.

    A row is a document; place_… is its rank among the documents sorted by worth_…, and sum_… runs
    over them, term by term.
    """
    of_query = queries.select("query_id", *orders.n_rel_columns)
    rows = judgements.where("counted").join(of_query, "query_id")
    if not orders.measures:
        return rows
    places, sums = {}, {}
    for k in sorted(set(orders.worth)):
        best_first = [F.col(f"worth_{k}").desc(), F.col("doc_id").cast("string").desc()]
        order = Window.partitionBy("query_id").orderBy(*best_first)
        places[f"place_{k}"] = F.row_number().over(order).cast("bigint")
    rows = with_discounts(
        rows.withColumns(places), orders, [F.col(f"place_{k}") for k in orders.worth]
    )
    for j, k in enumerate(orders.worth):
        running = Window.partitionBy("query_id").orderBy(f"place_{k}").rowsBetween(*RUNNING)
        sums[f"sum_{j}"] = F.sum(F.col(f"worth_{k}") * F.col(f"discount_{j}")).over(running)
    return rows.withColumns(sums)


def with_ideals(queries: DataFrame, sums: DataFrame, shares: Shares) -> DataFrame:
    """The queries with idcg_… for the measures whose ideal is a sum that hangs on the query alone.

    sums: `ideal_sums` of them
    """
    found = []
    for i in of_the_query(shares):
        cut = shares.measures[i].last_rank()
        place, n_rel = F.col(f"place_{shares.worth[i]}"), F.col(f"n_rel_{shares.rel[i]}")
        inside = F.lit(True) if cut is None else place <= (n_rel if cut == "R" else F.lit(cut))
        # terms are not negative: a running sum is the largest at its end
        found.append(
            F.max(F.when(inside, F.col(f"sum_{shares.ideal_order(i)}"))).alias(f"idcg_{i}")
        )
    return (
        queries.join(sums.groupBy("query_id").agg(*found), "query_id", "left") if found else queries
    )


def of_the_query(shares: Shares) -> list[int]:
    """The numbers of the measures whose ideal is such a sum."""
    return shares.which(lambda measure: measure.by_ideal_order and not measure.by_length())


def with_given_ideals(queries: DataFrame, given: DataFrame, shares: Shares) -> DataFrame:
    """The same out of IDEALS; the action fails where they are of other judgements."""
    kept = []
    for i, measure in enumerate(shares.measures):
        own = F.col("measure") == str(measure)
        kept.append(F.sum(own.cast("bigint")).alias(f"copies_{i}"))
        for name in ("idcg", "n_rel", "n_gain"):
            kept.append(F.max(F.when(own, F.col(name))).alias(f"given_{name}_{i}"))
    rows = queries.join(given.groupBy("query_id").agg(*kept), "query_id", "left")
    idcg = []
    for i in of_the_query(shares):
        same = F.col(f"copies_{i}") == 1
        same = same & (F.col(f"given_n_rel_{i}") == F.col(f"n_rel_{shares.rel[i]}"))
        same = same & (F.col(f"given_n_gain_{i}") == F.col(f"n_gain_{shares.worth[i]}"))
        same = same & F.col(f"given_idcg_{i}").isNotNull()
        other = {
            f"E139 ideals that are not of these judgements ({shares.measures[i]})": ~F.coalesce(
                same, F.lit(False)
            )
        }
        idcg.append(refusing(F.col(f"given_idcg_{i}"), other).alias(f"idcg_{i}"))
    return rows.select(*queries.columns, *idcg)


def best_values(judgements: DataFrame, queries: DataFrame, shares: Shares) -> DataFrame:
    """query_id, best_…: per measure the value of the ideal order; 0 where nothing has a gain.

    Raises:
        UsageError: for measures whose ideal hangs on the length of the list.
    """
    counted = shares.which(lambda measure: not measure.by_ideal_order)
    if others := [str(shares.measures[i]) for i in counted if shares.measures[i].by_length()]:
        raise UsageError(
            f"{', '.join(others)}: what would be the best value hangs on the length of each list"
        )
    ends = []
    for i in counted:
        place, total = F.col(f"place_{shares.worth[i]}"), F.col(f"sum_{i}")
        first = shares.measures[i].first_only
        ends.append(F.max(F.when(place == 1, total) if first else total).alias(f"end_{i}"))
    rows = with_counted_ideals(queries.withColumn("n_ret", F.lit(0)), shares, counted)
    if ends:
        sums = ideal_sums(judgements, queries, shares).groupBy("query_id").agg(*ends)
        rows = rows.join(sums, "query_id", "left")
    best = []
    for i in range(len(shares.measures)):
        value = F.lit(1.0)
        if i in counted:
            value = F.when(F.col(f"ideal_{i}") > 0, F.col(f"end_{i}") / F.col(f"ideal_{i}"))
        some = F.col(f"n_gain_{shares.worth[i]}") > 0
        best.append(F.coalesce(F.when(some, value), F.lit(0.0)).alias(f"best_{i}"))
    return rows.select("query_id", *best)


def with_divisors(lists: DataFrame, sums: DataFrame, shares: Shares) -> DataFrame:
    """Rows (query_id, n_ret, n_rel_…, n_gain_…, idcg_…) with ideal_…: what sums are divided by.

    sums: `ideal_sums`, for ideals that are cut by the length of the list
    """
    counted = shares.which(lambda measure: not measure.by_ideal_order)
    cut = shares.which(lambda measure: measure.by_ideal_order and measure.by_length())
    rows = with_last_places(with_counted_ideals(lists, shares, counted), shares, cut)
    for i in cut:
        k, j = shares.worth[i], shares.ideal_order(i)
        last = F.least(F.col(f"last_place_{i}"), F.col(f"n_gain_{k}")).alias(f"last_place_{i}")
        ends = sums.select(
            "query_id",
            F.col(f"place_{k}").alias(f"last_place_{i}"),
            F.col(f"sum_{j}").alias(f"ideal_{i}"),
        )
        kept = [F.col(name) for name in rows.columns if name != f"last_place_{i}"]
        rows = rows.select(*kept, last).join(ends, ["query_id", f"last_place_{i}"], "left")
    whole = [
        F.coalesce(F.col(f"idcg_{i}"), F.lit(0.0)).alias(f"ideal_{i}") for i in of_the_query(shares)
    ]
    return rows.select(*lists.columns, *(f"ideal_{i}" for i in counted), *_filled(cut), *whole)


def ideals_table(queries: DataFrame, shares: Shares) -> DataFrame:
    """IDEALS: query_id, measure, idcg, n_rel, n_gain; of queries with their idcg_….

    idcg is null where it hangs on the length of a list.
    """
    counted = shares.which(lambda m: not m.by_ideal_order and not m.by_length())
    rows = with_counted_ideals(queries.withColumn("n_ret", F.lit(0)), shares, counted)
    whole, entries = of_the_query(shares), []
    for i, measure in enumerate(shares.measures):
        idcg = (
            F.coalesce(F.col(f"idcg_{i}"), F.lit(0.0)) if i in whole else F.lit(None).cast("double")
        )
        entries.append(
            F.struct(
                F.lit(str(measure)).alias("measure"),
                (F.col(f"ideal_{i}") if i in counted else idcg).alias("idcg"),
                F.col(f"n_rel_{shares.rel[i]}").alias("n_rel"),
                F.col(f"n_gain_{shares.worth[i]}").alias("n_gain"),
            )
        )
    exploded = rows.select("query_id", F.explode(F.array(*entries)).alias("ideal"))
    return exploded.select("query_id", *[F.col(f"ideal.{name}").alias(name) for name in IDEALS])


def _refused(shares: Shares) -> dict[str, Column]:
    policies, label = shares.policies, F.col("label")
    refused = {
        "E120 null or empty ids": no_id("query_id", "doc_id"),
        "E113 judgements without a finite grade or a valid gain": F.col("bad_label"),
    }
    if policies.duplicate_qrels == "error":
        refused["E130 documents judged more than once"] = F.col("copies") > 1
    if policies.negative == "error":
        refused["E134 negative grades"] = label < 0
    if uses_exp2(shares.measures):
        refused["E114 grades too large for exp2 gain"] = label > LARGEST_EXP2
    return refused


def _not_finite(value: Column) -> Column:
    return F.coalesce(F.isnan(value) | (F.abs(value) == float("inf")), F.lit(True))


def _filled(which: Sequence[int]) -> list[Column]:
    return [F.coalesce(F.col(f"ideal_{i}"), F.lit(0.0)).alias(f"ideal_{i}") for i in which]
