"""Click logs: impressions in, mergeable daily state, labels, propensities and estimates out.

From Python: `patterns`, `state`, `daily`, `differences`, `arm_scores`, `users`, `sample_ratio`,
`past`, `qrels`, `bias`, `team_draft`, `interleaved`, `preferences`.
"""

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
