"""What an experiment's users did before it, as one more state: made once, then read."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.contrasts_kernel import PAST
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.reading import patterns_of
from ndcg_spark.clicks.states import daily_state
from ndcg_spark.clicks.stored import days_before
from ndcg_spark.errors import InputError
from ndcg_spark.measures import Measure


def past_days(first: str, number: int) -> list[str]:
    """The days before the experiment's first, ascending."""
    return sorted(days_before(first, number))


def past_state(
    job: ClicksJob, log: Impressions, users: DataFrame, measures: Sequence[Measure]
) -> DataFrame:
    """PRE_STATE(segment, arm, bucket, measure, n, …): the log of the days before an experiment, its
    users in the arm that they have in it. Who is not in it is left out; who was in two arms counts
    in both, as in the experiment.

    users: ARM_USERS of the experiment
    """
    found, _ = patterns_of(job, log, ("user",))
    arms = users.where(F.col("user_id").isNotNull()).select("arm", "user_id").distinct()
    own = found.drop("arm", "event_date")
    joined = own.join(arms, "user_id").withColumn("event_date", F.lit(PAST))
    state = daily_state(joined, measures, job.gains, job.segments, job.clickless)
    return state.drop("event_date")


def refuse_without_past(state: DataFrame, arms: Sequence[str], first: str, number: int) -> None:
    """
    Raises:
        InputError: E174 for arms whose users were not there before the experiment.
    """
    there = {row["arm"] for row in state.select("arm").distinct().collect()}
    bare = sorted(set(arms) - there)
    if bare:
        raise InputError(
            "E174",
            f"no impression of the users of arm {', '.join(bare)} in the {number} days before "
            f"{first}: there is no baseline period for --cuped; give more days, or leave it out",
        )
