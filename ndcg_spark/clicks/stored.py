"""Where an output keeps the tables of its days."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from pyarrow import fs as pafs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.errors import UsageError
from ndcg_spark.tables.paths import filesystem, located

FIRST = datetime.date(1970, 1, 1)


def days_before(last: str, number: int) -> list[str]:
    """The days before a day, the latest first.

    Raises:
        UsageError: for days before 1970.
    """
    day = datetime.date.fromisoformat(last)
    if day.toordinal() - number < FIRST.toordinal():
        raise UsageError(f"{number} days before {last} is before {FIRST}, the first day there is")
    return [str(day - datetime.timedelta(days=n)) for n in range(1, number + 1)]


def days_from(first: str, last: str) -> list[str]:
    """The days from a day to another, both with, ascending; none where the first is later."""
    number = (datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first)).days
    return [*reversed(days_before(last, number)), last] if number >= 0 else []


def places(out: str, table: str, days: Iterable[str], key: str = "event_date") -> dict[str, str]:
    """The partitions of a table that are stored, by day, in the order asked for."""
    system, root = filesystem(out)
    prefix = located(out).rstrip("/")
    found = {}
    for day in days:
        own = f"{table}/{key}={day}"
        if system.get_file_info(f"{root}/{own}").type == pafs.FileType.Directory:
            found[day] = f"{prefix}/{own}"
    return found


def read_days(spark: SparkSession, stored: dict[str, str]) -> DataFrame | None:
    """Stored partitions as one table, the days in event_date; None where there are none."""
    read: DataFrame | None = None
    for day, place in stored.items():
        one = spark.read.parquet(place).withColumn("event_date", F.lit(day))
        read = one if read is None else read.unionByName(one)
    return read
