"""A day against the days before it, out of what is stored; and the alerts that follow."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from pyarrow import fs as pafs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.estimates import Rule
from ndcg_spark.clicks.summary import CONFIDENCE, click_summary
from ndcg_spark.config import ClicksJob
from ndcg_spark.kernel.clusters import interval
from ndcg_spark.session import Engine
from ndcg_spark.tables.paths import filesystem


def summary_rows(table: DataFrame) -> list[dict[str, Any]]:
    """The rows of a summary, in order."""
    keys = [k for k in ("segment", "measure", "arm", "candidate") if k in table.columns]
    return [row.asDict() for row in table.orderBy(*keys).collect()]


def trend(job: ClicksJob, engine: Engine, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """The last day against the days of the window before it, from the stored state alone."""
    assert job.out is not None
    last = datetime.date.fromisoformat(job.dates[-1])
    window = [str(last - datetime.timedelta(days=n)) for n in range(1, job.window + 1)]
    system, root = filesystem(job.out)
    prefix = job.out.rstrip("/") if "://" in job.out else root
    state = f"{prefix}/daily_state"
    stored = [
        date
        for date in window
        if system.get_file_info(f"{root}/daily_state/event_date={date}").type
        == pafs.FileType.Directory
    ]

    def summary(dates: Sequence[str]) -> dict[tuple[str, str, str], dict[str, Any]]:
        places = [f"{state}/event_date={date}" for date in dates]
        table = engine.spark.read.parquet(*places).withColumn("event_date", F.lit("window"))
        rows = summary_rows(click_summary(table, job.buckets, job.min_group))
        return {(row["segment"], row["measure"], row["arm"]): row for row in rows}

    if not stored:
        return []
    now, before = summary([job.dates[-1]]), summary(stored)
    rows = []
    for key, row in now.items():
        old = before.get(key)
        if old is None or old["mean"] is None or row["mean"] is None:
            continue
        se = (row["se"] ** 2 + old["se"] ** 2) ** 0.5 if row["se"] and old["se"] else None
        change = row["mean"] - old["mean"]
        low, high = interval(change, se, CONFIDENCE)
        broken = [
            f"{key[1]} ({key[0]}, arm {key[2]}): {old['mean']:.6f} over {len(stored)} days, now "
            f"{row['mean']:.6f}; {rule.text}"
            for rule in rules
            if rule.measure == key[1] and key[0] == "all" and rule.broken(old["mean"], row["mean"])
        ]
        rows.append(
            {
                "segment": key[0],
                "measure": key[1],
                "arm": key[2],
                "days": len(stored),
                "before": old["mean"],
                "now": row["mean"],
                "change": change,
                "ci_low": low,
                "ci_high": high,
                "broken": broken,
            }
        )
    return rows
