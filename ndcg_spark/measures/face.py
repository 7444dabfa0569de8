"""The public names of `ndcg_spark.measures`, found here when its `__init__` is asked for them."""

from typing import TYPE_CHECKING

from ndcg_spark.measures.base import Measure as Measure
from ndcg_spark.measures.base import catalogue as catalogue
from ndcg_spark.measures.batch import Batch as Batch
from ndcg_spark.measures.catalog import *
from ndcg_spark.measures.catalog import MEASURES as MEASURES
from ndcg_spark.measures.names import parse_measure as parse_measure
from ndcg_spark.measures.names import parse_measures as parse_measures
from ndcg_spark.measures.policies import Policies as Policies
from ndcg_spark.measures.scoring import prepared as prepared
from ndcg_spark.measures.scoring import refuse_ties as refuse_ties
from ndcg_spark.measures.scoring import resolve as resolve
from ndcg_spark.measures.scoring import scores as scores

if not TYPE_CHECKING:  # derived from the registry; type checkers see the imports
    VOCABULARY = ("Batch", "Measure", "Policies", "catalogue", "parse_measure", "parse_measures")
    __all__ = [*VOCABULARY, *MEASURES]
