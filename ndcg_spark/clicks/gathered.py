"""One row an impression, out of rows that are spread: a result each, or repeats."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def one_each(rows: DataFrame) -> DataFrame:
    """Of several rows of an impression the smallest, so that chance has no say."""
    rest = [name for name in rows.columns if name != "impression_id"]
    smallest = F.min(F.struct(*map(quoted, rest))).alias("_row")
    kept = rows.groupBy("impression_id").agg(smallest)
    return kept.select("impression_id", *[F.col(f"_row.`{name}`").alias(name) for name in rest])


def one_a_list(
    rows: DataFrame,
    wanted: Sequence[str],
    lists: Sequence[str],
    events: Sequence[str],
    once: bool,
) -> DataFrame:
    """One row an impression of a log with one row a result.

    A result that comes more than once (an event a row) is one: events are added up (or the largest
    counts, where repeats are one), the longest dwell counts.
    """
    add = F.max if once else F.sum
    keys = [name for name in wanted if name not in lists]
    # the same document at the same place is one result; at two places it stays two, to be refused
    same = ["impression_id", *(name for name in ("ranks", "doc_ids") if name in lists)]
    merged = rows.groupBy(*same).agg(
        *[F.min(quoted(name)).alias(name) for name in keys if name != "impression_id"],
        *[
            (add if name in events else F.max)(quoted(name)).alias(name)
            for name in lists
            if name not in same
        ],
    )
    fields = sorted(lists, key=lambda name: (name != "ranks", name != "doc_ids", name))
    if not fields:
        return merged.groupBy("impression_id").agg(*[F.min(quoted(n)).alias(n) for n in keys])
    gathered = merged.groupBy("impression_id").agg(
        *[F.min(quoted(name)).alias(name) for name in keys if name != "impression_id"],
        F.sort_array(F.collect_list(F.struct(*map(quoted, fields)))).alias("_items"),
    )
    kept = [quoted(name) for name in keys]
    return gathered.select(*kept, *[F.col(f"_items.`{name}`").alias(name) for name in fields])


def quoted(name: str) -> Column:
    return F.col(f"`{name}`")
