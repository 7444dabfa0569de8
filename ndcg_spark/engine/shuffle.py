"""How a plan shuffles by query, and the session settings of ours that shape it."""

from __future__ import annotations

from pyspark.sql import DataFrame

# session settings of ours, by which a plan may leave out what its input makes superfluous
SORT = "spark.ndcg_spark.sort"  # false: the whole input fits in memory, gather without a sort
SHUFFLE = "spark.ndcg_spark.shuffle"  # false: the tables are bucketed by query_id
# true: rows sorted within partitions reach the Python function sorted. So it is on JVM Spark (the
# default in a classic session); the embedded engine drops a sort that no operator asks for
STREAM = "spark.ndcg_spark.stream"


def by_query(rows: DataFrame) -> DataFrame:
    """The rows shuffled by query, into as many partitions as the session shuffles into."""
    partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return rows.repartition(partitions, "query_id")


def wanted(table: DataFrame, setting: str) -> bool:
    """Whether one of the settings above is not switched off in the table's session."""
    return table.sparkSession.conf.get(setting, "true") != "false"
