"""Was the traffic split as designed? Users per arm against the designed shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.arm_users import arm_counts
from ndcg_spark.clicks.log_kernel import ALL_ARMS
from ndcg_spark.errors import UsageError
from ndcg_spark.stats.distributions import chi_square_above

BROKEN, OK, UNKNOWN = "broken", "ok", "unknown"
P_BROKEN = 0.0005  # so small, because it is looked at every night
FEWEST = 5  # expected users of an arm below which chi-square is no good approximation
SAMPLE_RATIO = (
    "period string, first_date string, days bigint, arm string, share double, users bigint, "
    "expected_users double, users_elsewhere bigint, impressions bigint, "
    "impressions_without_user bigint, chi_square double, p_value double, verdict string"
)
Row = dict[str, Any]


def designed(shares: Mapping[str, float]) -> dict[str, float]:
    """The shares, checked.

    Raises:
        UsageError: for shares that do not lie between 0 and 1, or do not add up to 1.
    """
    total = math.fsum(shares.values())
    if shares and not (all(0 < s < 1 for s in shares.values()) and abs(total - 1) < 1e-9):
        listed = ", ".join(f"{arm}={share:g}" for arm, share in shares.items())
        raise UsageError(
            f"shares must lie between 0 and 1 and add up to 1, not to {total:g}: {listed}"
        )
    return dict(shares)


def sample_ratio(
    users: DataFrame, shares: Mapping[str, float], period: str, days: Sequence[str]
) -> list[Row]:
    """SAMPLE_RATIO of ARM_USERS, over all its days (`ratio_rows`)."""
    if ALL_ARMS not in shares:  # impressions without an arm are in no experiment
        users = users.where(F.col("arm") != ALL_ARMS)
    return ratio_rows([row.asDict() for row in arm_counts(users).collect()], shares, period, days)


def ratio_rows(
    counts: Iterable[Mapping[str, Any]],
    shares: Mapping[str, float],
    period: str,
    days: Sequence[str],
) -> list[Row]:
    """SAMPLE_RATIO of ARM_COUNTS: Pearson's chi-square of users against the designed shares.

    shares: of the arms, adding up to 1; none: all arms of the log alike
    A user who was in several arms is in no arm of the test: they are counted (users_elsewhere).
    Impressions of one user are no independent draws: they are counted, not tested. An arm with a
    designed share that nobody was in counts with 0 users, one without a share breaks the split.
    Where an arm is to have fewer than 5 users, or no impression has a user, it is `unknown`.
    """
    there = {row["arm"]: row for row in counts}
    designed = dict(shares) or {arm: 1 / len(there) for arm in there}
    arms = sorted({*designed, *there})
    single = {arm: _single(there.get(arm)) for arm in arms}
    total = sum(single.values())
    expected = {arm: total * designed.get(arm, 0.0) for arm in arms}
    statistic = p = None
    if len(arms) > 1 and min(expected[arm] for arm in designed) >= FEWEST:
        statistic = math.fsum(_term(single[arm], expected[arm]) for arm in arms)
        p = 0.0 if math.isinf(statistic) else chi_square_above(statistic, len(arms) - 1)
    verdict = UNKNOWN if p is None else BROKEN if p < P_BROKEN else OK
    none = dict.fromkeys(("users", "users_elsewhere", "impressions", "impressions_without_user"), 0)
    return [
        {
            "period": period,
            "first_date": days[0],
            "days": len(days),
            "arm": arm,
            "share": designed.get(arm, 0.0),
            "users": (own := there.get(arm, none))["users"],
            "expected_users": expected[arm],
            "users_elsewhere": own["users_elsewhere"],
            "impressions": own["impressions"],
            "impressions_without_user": own["impressions_without_user"],
            "chi_square": None if statistic is None or math.isinf(statistic) else statistic,
            "p_value": p,
            "verdict": verdict,
        }
        for arm in arms
    ]


def verdict_of(rows: Sequence[Row], period: str) -> str | None:
    """What the rows of a period say; None where there are none."""
    return next((row["verdict"] for row in rows if row["period"] == period), None)


def _single(row: Mapping[str, Any] | None) -> int:
    """Users that were in this arm only."""
    return 0 if row is None else row["users"] - row["users_elsewhere"]


def _term(users: int, expected: float) -> float:
    if not expected:
        return math.inf if users else 0.0
    return (users - expected) ** 2 / expected
