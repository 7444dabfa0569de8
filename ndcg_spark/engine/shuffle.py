"""How a plan shuffles by query, and the session settings of ours that shape it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

# session settings of ours, by which a plan may leave out what its input makes superfluous
SORT = "spark.ndcg_spark.sort"  # false: the whole input fits in memory, gather without a sort
SHUFFLE = "spark.ndcg_spark.shuffle"  # false: the tables are bucketed by query_id
PARTS = "spark.ndcg_spark.parts"  # parts of the queries that a plan works on, one at a time
PARTS_A_PARTITION = 8


def parts_of_session(spark: SparkSession) -> int:
    """Into how many parts the queries of a table of unknown size go: a part is held in memory."""
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return int(spark.conf.get(PARTS, str(PARTS_A_PARTITION * partitions)) or partitions)


def by_query(rows: DataFrame) -> DataFrame:
    """The rows shuffled by query, into as many partitions as the session shuffles into."""
    partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return rows.repartition(partitions, "query_id")


def is_on(spark: SparkSession, setting: str) -> bool:
    """Whether one of the settings above is not switched off in the session."""
    return bool(spark.conf.get(setting, "true") != "false")
