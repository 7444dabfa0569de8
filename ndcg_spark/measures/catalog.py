"""Every measure of the registry by its name: what ``from ndcg_spark import nDCG`` finds.

A new measure's module is named here once; which names it adds follows from the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndcg_spark.measures.base import catalogue
from ndcg_spark.measures.binary import *
from ndcg_spark.measures.cascade import *
from ndcg_spark.measures.counting import *
from ndcg_spark.measures.counts import *
from ndcg_spark.measures.cwl import *
from ndcg_spark.measures.incomplete import *
from ndcg_spark.measures.ndcg import *
from ndcg_spark.measures.pairs import *
from ndcg_spark.measures.recall_levels import *
from ndcg_spark.measures.texts import *
from ndcg_spark.measures.trec_eval import *

MEASURES = [measure.__name__ for measure in catalogue()]
if not TYPE_CHECKING:  # type checkers and editors see the imports above; this takes the rest away
    __all__ = MEASURES
