"""Ways in from other packages: a provider for ir_measures, results to MLflow."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.peers.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
