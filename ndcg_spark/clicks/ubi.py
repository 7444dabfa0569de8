"""Queries and events of User Behavior Insights joined to impressions, and what did not join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

COUNTS = (
    "queries", "queries_repeated", "queries_without_id", "queries_without_time",
    "queries_without_hits", "events", "other_actions", "events_without_query",
    "events_without_object", "events_not_shown", "events_before_query", "positions_disagree",
    "events_joined",
)  # fmt: skip


def once(queries: DataFrame) -> DataFrame:
    """Each query once: of several with one id the earliest, so that chance has no say; `repeats`
    says how many there are more."""
    known = queries.where(F.col("query_id").isNotNull() & F.col("at").isNotNull())
    first = F.min(F.struct("at", "client_id", "user_query", "hits")).alias("one")
    kept = known.groupBy("query_id").agg(first, (F.count(F.lit(1)) - 1).alias("repeats"))
    hits = F.coalesce("one.hits", F.array().cast("array<string>")).alias("hits")
    return kept.select("query_id", "one.at", "one.client_id", "one.user_query", hits, "repeats")


def joined(queries: DataFrame, events: DataFrame, actions: Mapping[str, str]) -> DataFrame:
    """EVENTS with what is known of their query, and whether they count.

    queries: each once; actions: our event -> the log's action
    """
    own = queries.select("query_id", F.col("at").alias("asked"), "hits", F.lit(True).alias("known"))
    found = events.join(own, "query_id", "left")
    place = F.array_position("hits", F.col("object_id"))
    wanted = F.col("action_name").isin(*actions.values())
    return found.select(
        "query_id",
        "action_name",
        "object_id",
        F.coalesce(wanted, F.lit(False)).alias("wanted"),
        F.coalesce("known", F.lit(False)).alias("known"),
        F.col("object_id").isNotNull().alias("named"),
        F.coalesce(place > 0, F.lit(False)).alias("shown"),
        F.coalesce(F.col("at") < F.col("asked"), F.lit(False)).alias("early"),
        F.coalesce((place > 0) & (place != F.col("ordinal")), F.lit(False)).alias("elsewhere"),
    )


def impressions(queries: DataFrame, events: DataFrame, actions: Mapping[str, str]) -> DataFrame:
    """IMPRESSIONS(impression_id, event_ts, query_id, user_id, results[rank, doc_id, <events>]): one
    a query, its hits in order, each with how often which action was seen.

    A hit that comes twice has its events at the first place.
    """
    counted = (
        events.where("wanted and known and shown")
        .groupBy("query_id", "object_id")
        .agg(
            *[
                F.sum(F.when(F.col("action_name") == action, 1).otherwise(0)).cast("int").alias(own)
                for own, action in actions.items()
            ]
        )
    )
    hits = queries.select("query_id", "hits", F.posexplode("hits").alias("place", "doc_id"))
    first = F.array_position("hits", F.col("doc_id")) == F.col("place") + 1
    placed = hits.select(
        "query_id", (F.col("place") + 1).cast("int").alias("rank"), "doc_id", first.alias("first")
    )
    both = placed.join(
        counted.withColumnRenamed("object_id", "doc_id"), ["query_id", "doc_id"], "left"
    )
    values = [
        F.when(F.col("first"), F.coalesce(own, _none())).otherwise(_none()).alias(own)
        for own in actions
    ]
    items = both.groupBy("query_id").agg(
        F.sort_array(F.collect_list(F.struct("rank", "doc_id", *values))).alias("results")
    )
    return queries.join(items, "query_id", "left").select(
        F.col("query_id").alias("impression_id"),
        F.col("at").alias("event_ts"),
        F.col("user_query").alias("query_id"),
        F.col("client_id").alias("user_id"),
        "results",
    )


def _none() -> Column:
    return F.lit(0).cast("int")


def counts_of_queries(raw: DataFrame, kept: DataFrame) -> Sequence[DataFrame]:
    """One row each: of all queries, and of those kept."""
    no_id, no_time = F.col("query_id").isNull(), F.col("at").isNull()
    every = raw.agg(
        F.count(F.lit(1)).alias("queries"),
        _number(no_id).alias("queries_without_id"),
        _number(~no_id & no_time).alias("queries_without_time"),
    )
    own = kept.agg(
        F.coalesce(F.sum("repeats"), F.lit(0)).alias("queries_repeated"),
        _number(F.size("hits") == 0).alias("queries_without_hits"),
    )
    return every, own


def counts_of_events(events: DataFrame) -> DataFrame:
    """One row: events by what became of them; an early one, or one whose position disagrees, is
    joined all the same."""
    asked = F.col("wanted")
    known = asked & F.col("known")
    placed = known & F.col("shown")
    return events.agg(
        F.count(F.lit(1)).alias("events"),
        _number(~asked).alias("other_actions"),
        _number(asked & ~F.col("known")).alias("events_without_query"),
        _number(known & ~F.col("named")).alias("events_without_object"),
        _number(known & F.col("named") & ~F.col("shown")).alias("events_not_shown"),
        _number(placed & F.col("early")).alias("events_before_query"),
        _number(placed & F.col("elsewhere")).alias("positions_disagree"),
        _number(placed).alias("events_joined"),
    )


def _number(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, 1).otherwise(0)), F.lit(0)).cast("bigint")
