"""The public names of `ndcg_spark.clicks`, found here when its `__init__` is asked for them."""

from ndcg_spark.clicks.api import (
    arm_scores,
    bias,
    daily,
    differences,
    past,
    patterns,
    qrels,
    sample_ratio,
    state,
    users,
)
from ndcg_spark.clicks.teams_api import interleaved, preferences, team_draft

__all__ = [
    "arm_scores",
    "bias",
    "daily",
    "differences",
    "interleaved",
    "past",
    "patterns",
    "preferences",
    "qrels",
    "sample_ratio",
    "state",
    "team_draft",
    "users",
]
