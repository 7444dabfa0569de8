"""What could be had: the grade histogram of every judged query."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def ideal(labels: DataFrame) -> DataFrame:
    """IDEAL(query_id, grades[(label, count)], n_bad_labels, n_duplicate_labels).

    Every ideal at every cut-off is read off the histogram; nobody sorts the labels row by row.
    """
    relevance = F.col("label.relevance")
    bad = relevance.isNull() | F.isnan(relevance) | (F.abs(relevance) == float("inf"))
    bad |= F.col("doc_id").isNull() | (F.col("doc_id").cast("string") == "")
    if "gain" in labels.schema["label"].dataType.fieldNames():  # type: ignore[attr-defined]
        gain = F.col("label.gain")
        bad |= gain.isNotNull() & (F.isnan(gain) | (gain < 0) | (gain == float("inf")))
    histogram = labels.groupBy("query_id", "label").agg(
        F.count(F.lit(1)).alias("count"),
        F.sum(F.when(bad, 1).otherwise(0)).alias("bad"),
        F.sum(F.col("copies") - 1).alias("duplicates"),
    )
    return histogram.groupBy("query_id").agg(
        F.collect_list(F.struct("label", "count")).alias("grades"),
        F.sum("bad").alias("n_bad_labels"),
        F.sum("duplicates").alias("n_duplicate_labels"),
    )
