"""What a number means: numpy and the standard library only."""

from ndcg_spark.measures.base import Measure, catalogue
from ndcg_spark.measures.batch import Batch
from ndcg_spark.measures.binary import AP, RR, P, R, Rprec, Success
from ndcg_spark.measures.counts import Judged, NumQ, NumRel, NumRelRet, NumRet
from ndcg_spark.measures.names import parse_measure, parse_measures, resolve
from ndcg_spark.measures.ndcg import DCG, IDCG, G, binG, nDCG
from ndcg_spark.measures.policies import Policies
from ndcg_spark.measures.scoring import prepared, scores

__all__ = [
    "AP",
    "DCG",
    "IDCG",
    "RR",
    "Batch",
    "G",
    "Judged",
    "Measure",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Policies",
    "R",
    "Rprec",
    "Success",
    "binG",
    "catalogue",
    "nDCG",
    "parse_measure",
    "parse_measures",
    "prepared",
    "resolve",
    "scores",
]
