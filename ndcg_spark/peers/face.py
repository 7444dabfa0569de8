"""The public names of `ndcg_spark.peers`, found here when its `__init__` is asked for them."""

from ndcg_spark.peers.provider import ir_measures_provider, use_in_ir_measures
from ndcg_spark.peers.tracking import log_to_mlflow

__all__ = ["ir_measures_provider", "log_to_mlflow", "use_in_ir_measures"]
