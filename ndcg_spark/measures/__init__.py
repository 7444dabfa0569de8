"""What a number means: numpy and the standard library only."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder

if TYPE_CHECKING:
    from ndcg_spark.measures.face import *
else:
    __getattr__, __dir__ = finder(__name__)
