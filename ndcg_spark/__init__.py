"""Ranking evaluation at the scale of production logs: trec_eval's exactness, on Spark.

>>> from ndcg_spark import AP, nDCG
>>> nDCG@10, AP(rel=2)@5
(nDCG@10, AP(rel=2)@5)
"""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
