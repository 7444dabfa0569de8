"""How a plan shuffles by query, and the session settings of ours that shape it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.engine.sessions import shuffle_partitions

# session settings of ours, by which a plan may leave out what its input makes superfluous
SORT = "spark.ndcg_spark.sort"  # false: the whole input fits in memory, gather without a sort
SHUFFLE = "spark.ndcg_spark.shuffle"  # false: the tables are bucketed by query_id
PARTS = "spark.ndcg_spark.parts"  # parts of the queries that a plan works on, one at a time
PARTS_A_PARTITION = 8


def parts_of_session(spark: SparkSession) -> int:
    """Into how many parts the queries of a table of unknown size go: a part is held in memory."""
    return int(spark.conf.get(PARTS, "") or PARTS_A_PARTITION * shuffle_partitions(spark))


def by_query(rows: DataFrame) -> DataFrame:
    """The rows shuffled by query, into as many partitions as the session shuffles into."""
    return rows.repartition(shuffle_partitions(rows.sparkSession), "query_id")


def is_on(spark: SparkSession, setting: str) -> bool:
    """Whether one of the settings above is not switched off in the session."""
    return bool(spark.conf.get(setting, "true") != "false")
