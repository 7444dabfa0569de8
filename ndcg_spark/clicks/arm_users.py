"""Which users were in which arm: what the sample ratio and the users' past are read from."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks import derived
from ndcg_spark.clicks.impressions import Impressions

KEYS = ("event_date", "arm", "user_id")


def arm_users(
    log: Impressions, most_impressions: int | None = None, most_clicks: int | None = None
) -> DataFrame:
    """ARM_USERS(event_date, arm, user_id, n): people's impressions, whatever is wrong with them, by
    user (a hash; null where the log has none). Such tables add up over days by union.

    most_impressions, most_clicks: users with more in a day are bots (`derived.with_bots`)
    """
    if most_impressions is None and most_clicks is None:
        found = log.people(KEYS)
    else:
        observed = log.counted((*KEYS, "is_bot"), clicked=True)
        known = derived.with_bots(observed, most_impressions, most_clicks)
        found = known.where(~F.col("is_bot")).groupBy(*KEYS).agg(F.sum("n").alias("n"))
    return found


def arm_counts(users: DataFrame) -> DataFrame:
    """ARM_COUNTS(arm, users, users_elsewhere, impressions, impressions_without_user) over all days
    of ARM_USERS: the users of each arm, exactly, and how many of them were in another arm too."""
    pairs = users.groupBy("user_id", "arm").agg(F.sum("n").alias("n"))
    known = F.col("user_id").isNotNull()
    by_user = (
        pairs.where(known)
        .groupBy("user_id")
        .agg(F.collect_list(F.struct("arm", "n")).alias("arms"))
    )
    several = (F.size("arms") > 1).cast("bigint")
    each = by_user.select(several.alias("several"), F.explode("arms").alias("own")).select(
        "several", "own.arm", "own.n", F.lit(1).cast("bigint").alias("one")
    )
    nobody = pairs.where(~known).select(_zero().alias("several"), "arm", "n", _zero().alias("one"))
    return (
        each.unionByName(nobody)
        .groupBy("arm")
        .agg(
            F.sum("one").alias("users"),
            F.sum("several").alias("users_elsewhere"),
            F.sum("n").alias("impressions"),
            F.sum(F.when(F.col("one") == 0, F.col("n")).otherwise(0)).alias(
                "impressions_without_user"
            ),
        )
    )


def _zero() -> Column:
    return F.lit(0).cast("bigint")
