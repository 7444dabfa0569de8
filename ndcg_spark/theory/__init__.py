"""What nDCG converges to and what it can tell apart: limits, curves and verdicts."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.theory.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
