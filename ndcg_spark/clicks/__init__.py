"""Click logs: impressions in, mergeable daily state, labels, propensities and estimates out.

From Python: `patterns`, `state`, `daily`, `differences`, `arm_scores`, `users`, `sample_ratio`,
`past`, `qrels`, `bias`, `team_draft`, `interleaved`, `preferences`.
"""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.clicks.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
