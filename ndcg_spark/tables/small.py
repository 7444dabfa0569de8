"""Tables that are small enough to be made from the driver's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.arrays.schemas import arrow_schema
from ndcg_spark.tables.write import Output

Rows = Sequence[Mapping[str, Any]]


def table_of_rows(spark: SparkSession, rows: Rows, schema: str) -> DataFrame:
    """Rows as a DataFrame: their values in the order of the schema, ``run_id string, n bigint``."""
    return spark.createDataFrame([tuple(row.values()) for row in rows], schema)


def stage_rows(spark: SparkSession, output: Output, tables: Mapping[str, tuple[Rows, str]]) -> None:
    """Stage tables, each given as rows and schema, one file each."""
    for name, (rows, schema) in tables.items():
        if not rows:
            output.write_empty(name, arrow_schema(schema))
            continue
        table = table_of_rows(spark, rows, schema)
        table.coalesce(1).write.mode("error").parquet(output.staged(name))


def publish_rows(
    spark: SparkSession,
    output: Output,
    tables: Mapping[str, tuple[Rows, str]],
    manifest: Mapping[str, Any],
    staged: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> dict[str, str]:
    """Stage and publish tables, each given as rows and schema, the manifest last; their places.

    staged: other tables of the same run, which are staged already
    optional: tables of such a run that this one does not write; older ones are removed
    """
    stage_rows(spark, output, tables)
    output.write_json("manifest", "_manifest.json", manifest)
    names = [*staged, *tables, "manifest"]
    output.publish(names, optional)
    return {name: output.published(name) for name in names}


def write_bucketed(table: DataFrame, name: str, buckets: int) -> None:
    """Write a catalog table in buckets by query_id, replacing one of that name.

    Tables with equally many buckets meet without a shuffle.
    """
    by_query = table.write.mode("overwrite").bucketBy(buckets, "query_id").sortBy("query_id")
    by_query.format("parquet").saveAsTable(name)
