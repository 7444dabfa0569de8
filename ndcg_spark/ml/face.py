"""The public names of `ndcg_spark.ml`, found here when its `__init__` is asked for them."""

from ndcg_spark.ml.evaluator import RankingEvaluator

__all__ = ["RankingEvaluator"]
