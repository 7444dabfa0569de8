"""The public names of `ndcg_spark.plot`, found here when its `__init__` is asked for them."""

from ndcg_spark.plot.api import (
    curves,
    cutoffs,
    differences,
    distribution,
    propensities,
    segments,
    trend,
)

__all__ = [
    "curves",
    "cutoffs",
    "differences",
    "distribution",
    "propensities",
    "segments",
    "trend",
]
