"""A night of an experiment: was the traffic split as designed, and which arm is better?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.clicks.alike import TABLE, manifests, options_of
from ndcg_spark.clicks.arm_users import arm_users
from ndcg_spark.clicks.contrasts_kernel import ADJUSTED, Key
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.past_states import past_days, past_state, refuse_without_past
from ndcg_spark.clicks.splits import OK, UNKNOWN, sample_ratio, verdict_of
from ndcg_spark.clicks.stored import places, read_days
from ndcg_spark.clicks.summary import DIFFERENCES, arm_differences
from ndcg_spark.clicks.trend import summary_rows
from ndcg_spark.engine.sessions import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.measures import Measure
from ndcg_spark.stats.gates import Gate
from ndcg_spark.tables.write import Output

DAY, EXPERIMENT = "day", "experiment"
STATE, USERS, PRE, PRE_MANIFEST = "daily_state", "arm_users", "pre_state", "pre_manifest"
COLUMNS = f"{DIFFERENCES}, period string, sample_ratio string"
Row = dict[str, Any]


@dataclass(frozen=True)
class Compared:
    """differences: ARM_DIFFERENCES of the day, and of the experiment; ratio: SAMPLE_RATIO of both
    begun: what the manifest keeps of the experiment's confidence sequences"""

    differences: list[Row] = field(default_factory=list)
    ratio: list[Row] = field(default_factory=list)
    begun: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Night:
    """What is compared: the state of a day of a log, which is not published yet."""

    job: ClicksJob
    engine: Engine
    log: Impressions
    date: str
    measures: Sequence[Measure]
    state: DataFrame
    users: DataFrame | None

    def compared(self) -> Compared:
        """
        Raises:
            InputError: E173 where an experiment began with another --anytime-at, E174 where --cuped
                finds no past.
        """
        found = self._differences(DAY, self.state, None, None, {})
        ratio = self._ratio(DAY, [self.date], self.users)
        begins = None
        days = self.job.experiment_days(self.date)
        if days:
            stored = places(str(self.job.out), STATE, days[:-1])
            earlier = read_days(self.engine.spark, stored)
            state = self.state if earlier is None else earlier.unionByName(self.state)
            mixtures = begun(self.job)
            users = self._users_of([*stored])
            past = None if self.job.cuped is None else self._past(users, found)
            planned = self.job.anytime_at if self.job.anytime else None
            whole = self._differences(EXPERIMENT, state, past, planned, mixtures)
            ratio += self._ratio(EXPERIMENT, [*stored, self.date], users)
            found += whole
            own = (days[0], str(self.job.baseline), self.job.anytime_at)
            begins = None if planned is None else kept(*own, whole)
        unknown = UNKNOWN if self.job.splits else None  # nobody asked
        said = [
            {**row, "sample_ratio": verdict_of(ratio, row["period"]) or unknown} for row in found
        ]
        return Compared(said, ratio, begins)

    def _differences(
        self,
        period: str,
        state: DataFrame,
        past: DataFrame | None,
        planned: int | None,
        mixtures: Mapping[Key, float],
    ) -> list[Row]:
        assert self.job.baseline is not None
        own = (self.job.baseline, self.job.min_group, past, planned, mixtures)
        return [{**row, "period": period} for row in summary_rows(arm_differences(state, *own))]

    def _users_of(self, stored: Sequence[str]) -> DataFrame | None:
        """The users of this day and these; None where a day has none stored."""
        there = places(str(self.job.out), USERS, stored)
        if self.users is None or len(there) < len(stored):
            return None
        earlier = read_days(self.engine.spark, there)
        return self.users if earlier is None else earlier.unionByName(self.users)

    def _ratio(self, period: str, days: Sequence[str], users: DataFrame | None) -> list[Row]:
        if users is None:
            return []
        return sample_ratio(users, self.job.designed_shares, period, days)

    def _past(self, users: DataFrame | None, found: Sequence[Row]) -> DataFrame:
        """PRE_STATE of the experiment: as it is stored, or made now."""
        first, number = str(self.job.first_day), int(self.job.cuped or 0)
        if users is None:
            raise InputError(
                "E174",
                "--cuped takes the log's user_id, and arm_users of every day of the experiment, "
                f"which --since {first} stores: run its days again",
            )
        own = {
            "cuped": number,
            "options": options_of(self.job, self.measures),
        }
        output = Output(str(self.job.out), {"since": first}, [str(self.job.impressions)])
        with output.writing((PRE,)):
            if output.read_json(PRE_MANIFEST, "_manifest.json") != own:
                log = self.log.on(past_days(first, number))
                made = past_state(self.job, log, users, self.measures)
                made.write.mode("error").parquet(output.staged(PRE))
                written = self.engine.spark.read.schema(made.schema).parquet(output.staged(PRE))
                arms = {str(self.job.baseline), *(str(row["candidate"]) for row in found)}
                refuse_without_past(written, sorted(arms), first, number)
                output.write_json(PRE_MANIFEST, "_manifest.json", own)
                output.publish([PRE, PRE_MANIFEST])
        return self.engine.spark.read.parquet(output.location(PRE))


def users_of(job: ClicksJob, log: Impressions) -> DataFrame | None:
    """ARM_USERS of a day; None where nobody asks, or the log does not know users or arms."""
    if not job.splits or not {"user_id", "arm"} <= {*log.log.has}:
        return None
    return arm_users(log, job.bot_impressions, job.bot_clicks)


def begun(job: ClicksJob) -> dict[Key, float]:
    """What the job's experiment began with; nothing where it has no sequences."""
    if not job.anytime or job.baseline is None or job.first_day is None:
        return {}
    return begun_with(str(job.out), job.first_day, job.baseline, job.anytime_at)


def begun_with(
    out: str, first: str, baseline: str, planned: int, table: str = TABLE
) -> dict[Key, float]:
    """The mixtures of an experiment's confidence sequences, as its earliest nights stored them.

    Raises:
        InputError: E173 where it began with another --anytime-at.
    """
    found: dict[Key, float] = {}
    for date, manifest in manifests(out, lambda date: date >= first, table):
        begun = manifest.get("experiment") or {}
        if (begun.get("since"), begun.get("baseline")) != (first, baseline):
            continue
        if begun["anytime_at"] != planned:
            raise InputError(
                "E173",
                f"the experiment since {first} began with --anytime-at {begun['anytime_at']} "
                f"({date}), not {planned}: its sequences are fixed",
            )
        for *key, mixture in begun["mixtures"]:
            found.setdefault(tuple(key), mixture)
    return found


def broken_arms(
    differences: Sequence[Row], ratio: Sequence[Row], gates: Sequence[Gate]
) -> list[str]:
    """What the gates on the split of the traffic, and those that hold at any time, found; one that
    cannot be decided is broken, with the reason."""
    found = []
    adjusted = any(row["estimate"] == ADJUSTED for row in differences)
    for gate in gates:
        if gate.is_of_ratio:
            period = max((row["period"] for row in ratio), default=EXPERIMENT)  # the longer one
            verdict = verdict_of(ratio, period) or UNKNOWN
            if verdict != OK:
                found.append(f"the split of the users over the {period} is {verdict}; {gate.text}")
        elif gate.anytime:
            own = [
                row
                for row in differences
                if row["period"] == EXPERIMENT
                and gate.applies(row)
                and (row["estimate"] == ADJUSTED) == adjusted
            ]
            if not own:
                found.append(
                    f"no difference of {gate.measure} in segment {gate.segment}; {gate.text}"
                )
            for row in own:
                if not gate.passed(row["delta"], row["mean_baseline"], row["p_anytime"]):
                    p = "none" if row["p_anytime"] is None else f"{row['p_anytime']:.3g}"
                    found.append(
                        f"{row['measure']} ({row['segment']}, arm {row['candidate']}): "
                        f"{row['delta']:+.6f} over {row['days']} days, always valid p {p}; "
                        f"{gate.text}"
                    )
    return found


def kept(first: str, baseline: str, planned: int, rows: Sequence[Row]) -> dict[str, Any]:
    """What a night's manifest keeps of an experiment's confidence sequences."""
    keys = ("segment", "measure", "candidate", "estimate", "mixture")
    return {
        "since": first,
        "baseline": baseline,
        "anytime_at": planned,
        "mixtures": [[row[k] for k in keys] for row in rows if row["mixture"] is not None],
    }
