"""What a number means: numpy and the standard library only."""

from ndcg_spark.measures.base import Measure, catalogue
from ndcg_spark.measures.batch import Batch
from ndcg_spark.measures.binary import (
    AP,
    GMAP,
    RR,
    P,
    R,
    Rprec,
    Success,
    binG,
    mean_reciprocal_click,
    relative_P,
)
from ndcg_spark.measures.cascade import BPM, ERR, INST, RBP, SDCG, RBPresid, nERR
from ndcg_spark.measures.counts import (
    Judged,
    NumNonRelJudgedRet,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    SetAP,
    SetF,
    SetP,
    SetR,
    Unjudged,
    Utility,
)
from ndcg_spark.measures.incomplete import Bpref, Compat, GMBpref, infAP
from ndcg_spark.measures.names import parse_measure, parse_measures, resolve
from ndcg_spark.measures.ndcg import DCG, IDCG, G, nDCG, nDCG_cc
from ndcg_spark.measures.pairs import BPR, Accuracy, PairAcc
from ndcg_spark.measures.policies import Policies
from ndcg_spark.measures.recall_levels import ElevenPoint, IPrec, RprecMult
from ndcg_spark.measures.scoring import prepared, refuse_ties, scores
from ndcg_spark.measures.texts import RelString, RunId
from ndcg_spark.measures.trec_eval import TrecBinG, TrecG, TrecNdcgP, TrecNdcgRel, TrecRndcg

__all__ = [
    "AP",
    "BPM",
    "BPR",
    "DCG",
    "ERR",
    "GMAP",
    "IDCG",
    "INST",
    "RBP",
    "RR",
    "SDCG",
    "Accuracy",
    "Batch",
    "Bpref",
    "Compat",
    "ElevenPoint",
    "G",
    "GMBpref",
    "IPrec",
    "Judged",
    "Measure",
    "NumNonRelJudgedRet",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "PairAcc",
    "Policies",
    "R",
    "RBPresid",
    "RelString",
    "Rprec",
    "RprecMult",
    "RunId",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "TrecBinG",
    "TrecG",
    "TrecNdcgP",
    "TrecNdcgRel",
    "TrecRndcg",
    "Unjudged",
    "Utility",
    "binG",
    "catalogue",
    "infAP",
    "mean_reciprocal_click",
    "nDCG",
    "nDCG_cc",
    "nERR",
    "parse_measure",
    "parse_measures",
    "prepared",
    "refuse_ties",
    "relative_P",
    "resolve",
    "scores",
]
