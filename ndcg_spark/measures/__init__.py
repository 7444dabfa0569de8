"""What a number means: numpy and the standard library only."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.measures.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
