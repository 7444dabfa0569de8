"""Ranking evaluation inside pipelines of `pyspark.ml`: `RankingEvaluator`."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.ml.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
