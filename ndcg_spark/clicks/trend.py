"""A day against the days before it, out of what is stored; and the gates that look at it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

from pyarrow import fs as pafs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.clusters_kernel import interval
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.summary import CONFIDENCE, click_summary
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.stats.gates import Gate
from ndcg_spark.tables.paths import filesystem

Row = dict[str, Any]
Key = tuple[str, str, str]


def summary_rows(table: DataFrame) -> list[Row]:
    """The rows of a summary, in order."""
    keys = [k for k in ("segment", "measure", "arm", "candidate") if k in table.columns]
    return [row.asDict() for row in table.orderBy(*keys).collect()]


def trend(job: ClicksJob, engine: Engine) -> list[Row]:
    """The last day against the days of the window before it, from the stored state alone."""
    last = job.dates[-1]
    places = _stored(job, last)
    if not places:
        return []
    today, before = _summary(job, engine, [_place(job, last)]), _summary(job, engine, places)
    return [
        _row(key, before[key], row, len(places))
        for key, row in today.items()
        if row["mean"] is not None and key in before and before[key]["mean"] is not None
    ]


def broken(rows: Sequence[Row], gates: Sequence[Gate]) -> list[str]:
    """What the gates found in a trend."""
    return [
        f"{row['measure']} ({row['segment']}, arm {row['arm']}): {row['before']:.6f} over "
        f"{row['days']} days, now {row['now']:.6f}; {gate.text}"
        for row in rows
        for gate in gates
        if gate.applies(row) and not gate.passed(row["change"], row["before"], row["p_value"])
    ]


def _row(key: Key, old: Row, new: Row, days: int) -> Row:
    se = math.hypot(new["se"], old["se"]) if new["se"] and old["se"] else None
    change = new["mean"] - old["mean"]
    low, high = interval(change, se, CONFIDENCE)
    segment, measure, arm = key
    return {
        "segment": segment,
        "measure": measure,
        "arm": arm,
        "days": days,
        "before": old["mean"],
        "now": new["mean"],
        "change": change,
        "ci_low": low,
        "ci_high": high,
        "p_value": math.erfc(abs(change) / se / math.sqrt(2)) if se else None,
    }


def _summary(job: ClicksJob, engine: Engine, places: Sequence[str]) -> dict[Key, Row]:
    table = engine.spark.read.parquet(*places).withColumn("event_date", F.lit("window"))
    rows = summary_rows(click_summary(table, job.buckets, job.min_group))
    return {(row["segment"], row["measure"], row["arm"]): row for row in rows}


def _stored(job: ClicksJob, last: str) -> list[str]:
    """The state's partitions of the days of the window that are stored."""
    day = datetime.date.fromisoformat(last)
    window = [str(day - datetime.timedelta(days=n)) for n in range(1, job.window + 1)]
    system, root = filesystem(str(job.out))
    return [
        _place(job, date)
        for date in window
        if system.get_file_info(f"{root}/daily_state/event_date={date}").type
        == pafs.FileType.Directory
    ]


def _place(job: ClicksJob, date: str) -> str:
    out = str(job.out)
    prefix = out.rstrip("/") if "://" in out else filesystem(out)[1]
    return f"{prefix}/daily_state/event_date={date}"
