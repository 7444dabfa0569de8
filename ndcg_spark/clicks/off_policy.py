"""A candidate's value from the impressions that happened to show its lists, by their propensity."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks.clusters_kernel import Arm, interval, standard_error
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.off_policy_kernel import MARK
from ndcg_spark.clicks.propensities import LAMBDAS
from ndcg_spark.engine.whole_sums import exact_sum

OFF_POLICY = (
    "utility string, depth bigint, n_impressions bigint, n_matched bigint, ess double, "
    "ips_impression double, ips_se double, ips_low double, ips_high double, "
    "snips_impression double, snips_se double, snips_low double, snips_high double"
)
CONFIDENCE = 0.95


def off_policy(
    log: Impressions, ranks: DataFrame, utility: str, depth: int
) -> dict[str, Any] | None:
    """A row of OFF_POLICY; None where the log has no propensity of its impressions.

    ranks: NEW_RANKS of the candidate
    An impression that shows the candidate's first `depth` documents in its order weighs 1 /
    propensity, the probability with which the log's policy showed just that list; others weigh
    nothing. ips_impression is the weighted sum over all impressions, snips_impression over the
    weights (Swaminathan and Joachims 2015), which hangs less on the propensities' scale; both with
    errors by bucket of users.

    Raises:
        InputError: E114 (as the action) for a propensity outside (0, 1].
    """
    if "propensity" not in log.log.has:
        return None
    worths = tuple(LAMBDAS[utility](rank) for rank in range(1, depth + 1))
    rows = _by_bucket(log.lists_shown(worths), _lists(ranks, depth)).collect()
    last = max((row["bucket"] for row in rows), default=-1) + 1
    n, weight, value = np.zeros((3, last))
    for row in rows:
        n[row["bucket"]], weight[row["bucket"]] = row["n"], row["weight"]
        value[row["bucket"]] = row["value"]
    squared = sum(row["squared"] for row in rows)
    found: dict[str, Any] = {
        "utility": utility,
        "depth": depth,
        "n_impressions": int(n.sum()),
        "n_matched": sum(int(row["n_matched"]) for row in rows),
        "ess": float(weight.sum()) ** 2 / squared if squared else None,
    }
    for name, counts in (("ips", n), ("snips", weight)):
        arm = Arm(value, counts)
        se = None if arm.mean is None else standard_error(arm.residuals, arm.used)
        low, high = interval(arm.mean or 0.0, se, arm.used, CONFIDENCE)
        own = {"impression": arm.mean, "se": se, "low": low, "high": high}
        found |= {f"{name}_{part}": number for part, number in own.items()}
    return found


def _lists(ranks: DataFrame, depth: int) -> DataFrame:
    """(query_id, list) of the candidate's first documents."""
    top = ranks.where(F.col("new_rank") <= depth).groupBy("query_id")
    own = F.sort_array(F.collect_list(F.struct("new_rank", "doc_id")))
    gathered = top.agg(own.alias("own"))
    return gathered.select("query_id", F.array_join("own.doc_id", MARK).alias("list"))


def _by_bucket(shown: DataFrame, lists: DataFrame) -> DataFrame:
    mine = lists.withColumnRenamed("list", "mine")
    both = shown.join(mine, "query_id", "left")
    p = F.col("propensity")
    bad = F.concat(
        F.lit("InputError: E114: impressions: a propensity is "),
        F.coalesce(p.cast("string"), F.lit("missing")),
        F.lit(", not above 0 and at most 1"),
    )
    safe = F.when((p > 0) & (p <= 1), 1 / p).otherwise(F.raise_error(bad))
    weight = F.when(F.coalesce(F.col("list") == F.col("mine"), F.lit(False)), safe).otherwise(0.0)
    weighed = both.withColumn("weight", weight)
    some = F.when(F.col("weight") > 0, F.col("n")).otherwise(0)
    w = F.col("weight")
    return weighed.groupBy("bucket").agg(
        F.sum("n").alias("n"),
        F.sum(some).alias("n_matched"),
        exact_sum(w, 30, wide=True, times=F.col("n")).alias("weight"),
        exact_sum(w * F.col("value"), 30, wide=True, times=F.col("n")).alias("value"),
        exact_sum(w * w, 30, wide=True, times=F.col("n")).alias("squared"),
    )
