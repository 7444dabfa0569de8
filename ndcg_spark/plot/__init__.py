"""Figures of what the jobs write, as objects of matplotlib (the extra `report`)."""

from typing import TYPE_CHECKING

from ndcg_spark.lazy import finder as _finder

if TYPE_CHECKING:
    from ndcg_spark.plot.face import *
else:
    __getattr__, __dir__ = _finder(__name__)
