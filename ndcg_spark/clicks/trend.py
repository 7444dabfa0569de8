"""A day against the days before it, out of what is stored; and the gates that look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.stored import days_before, places
from ndcg_spark.clicks.summary import arm_differences, click_summary
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.stats.gates import Gate

Row = dict[str, Any]
Key = tuple[str, str, str]
KEYS = ("segment", "measure", "arm")
STATE = "daily_state"
BEFORE, NOW = "before", "now"
MARK = "\x1f"  # between segment and arm where both are one key


def summary_rows(table: DataFrame) -> list[Row]:
    """The rows of a summary, in order."""
    keys = [k for k in ("segment", "measure", "arm", "candidate") if k in table.columns]
    return [row.asDict() for row in table.orderBy(*keys).collect()]


def trend(job: ClicksJob, engine: Engine) -> list[Row]:
    """The last day against the days of the window before it, from the stored state alone.

    A row for each segment, measure and arm of either; what the other lacks is null. The interval is
    that of the buckets' differences: the same users may be in both, and then the two are no
    independent samples.
    """
    last = job.dates[-1]
    stored = places(str(job.out), STATE, days_before(last, job.window))
    if not stored:
        return []
    now = _state(engine, places(str(job.out), STATE, [last]))
    before = _state(engine, stored)
    means = _means(job, before), _means(job, now)
    changes = _changes(job, before, now)
    keys = sorted({*means[0], *means[1]})
    return [_row(key, means[0].get(key), means[1].get(key), changes, len(stored)) for key in keys]


def broken(rows: Sequence[Row], gates: Sequence[Gate]) -> list[str]:
    """What the gates found in a trend; a gate that cannot be decided is broken, with the reason."""
    found: list[str] = []
    for gate in gates:
        own = [row for row in rows if gate.applies(row)]
        if not rows:
            found.append(f"no earlier day of the window is stored; {gate.text}")
        elif not own:
            found.append(f"no value of {gate.measure} in segment {gate.segment}; {gate.text}")
        found += [text for row in own if (text := _why_broken(gate, row))]
    return found


def _why_broken(gate: Gate, row: Row) -> str | None:
    what = f"{row['measure']} ({row['segment']}, arm {row['arm']})"
    for when, words in ((BEFORE, f"the {row['days']} days before"), (NOW, "the last day")):
        if row[when] is None:
            return f"{what}: no value of {words} ({row[f'n_{when}']} impressions); {gate.text}"
    if gate.passed(row["change"], row["before"], row["p_value"]):
        return None
    return f"{what}: {row['before']:.6f} over {row['days']} days, now {row['now']:.6f}; {gate.text}"


def _row(key: Key, old: Row | None, new: Row | None, changes: dict[Key, Row], days: int) -> Row:
    before, now = (None if row is None else row["mean"] for row in (old, new))
    found = changes.get(key, {})
    return {
        **dict(zip(KEYS, key, strict=True)),
        "days": days,
        "before": before,
        "now": now,
        "change": None if before is None or now is None else now - before,
        "ci_low": found.get("ci_low"),
        "ci_high": found.get("ci_high"),
        "p_value": found.get("p_value"),
        "n_buckets": found.get("n_buckets"),
        "n_before": 0 if old is None else old["n_units"],
        "n_now": 0 if new is None else new["n_units"],
    }


def _means(job: ClicksJob, state: DataFrame) -> dict[Key, Row]:
    rows = summary_rows(click_summary(state, job.buckets, job.min_group))
    return {(row["segment"], row["measure"], row["arm"]): row for row in rows}


def _changes(job: ClicksJob, before: DataFrame, now: DataFrame) -> dict[Key, Row]:
    """The differences as those of two arms, before and now, of every segment and arm."""

    def named(state: DataFrame, name: str) -> DataFrame:
        both = F.concat("segment", F.lit(MARK), "arm")
        return state.withColumn("segment", both).withColumn("arm", F.lit(name))

    sides = named(before, BEFORE).unionByName(named(now, NOW))
    found: dict[Key, Row] = {}
    for row in summary_rows(arm_differences(sides, BEFORE, job.min_group)):
        segment, _, arm = row["segment"].partition(MARK)
        found[segment, row["measure"], arm] = row
    return found


def _state(engine: Engine, stored: Mapping[str, str]) -> DataFrame:
    return engine.spark.read.parquet(*stored.values()).withColumn("event_date", F.lit("window"))
