"""Click logs: impressions in, mergeable daily state, labels, propensities and estimates out.

From Python: `patterns`, `state`, `daily`, `differences`, `arm_scores`, `qrels`, `bias`,
`team_draft`.
"""

from ndcg_spark.clicks.api import (
    arm_scores,
    bias,
    daily,
    differences,
    patterns,
    qrels,
    state,
    team_draft,
)

__all__ = ["arm_scores", "bias", "daily", "differences", "patterns", "qrels", "state", "team_draft"]
