"""Ranking evaluation at the scale of production logs: trec_eval's exactness, on Spark."""

from ndcg_spark.errors import DiscountWarning, InputError, NdcgSparkError, UsageError
from ndcg_spark.measures import (
    AP,
    DCG,
    IDCG,
    RR,
    Batch,
    G,
    Judged,
    Measure,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    Policies,
    R,
    Rprec,
    Success,
    binG,
    catalogue,
    nDCG,
    parse_measure,
    parse_measures,
)
from ndcg_spark.pipeline import check
from ndcg_spark.plan.evaluate import Evaluator, evaluate
from ndcg_spark.plan.summarize import summarize
from ndcg_spark.tables.read import read_qrels, read_run
from ndcg_spark.version import __version__

__all__ = [
    "AP",
    "DCG",
    "IDCG",
    "RR",
    "Batch",
    "DiscountWarning",
    "Evaluator",
    "G",
    "InputError",
    "Judged",
    "Measure",
    "NdcgSparkError",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Policies",
    "R",
    "Rprec",
    "Success",
    "UsageError",
    "__version__",
    "binG",
    "catalogue",
    "check",
    "evaluate",
    "nDCG",
    "parse_measure",
    "parse_measures",
    "read_qrels",
    "read_run",
    "summarize",
]
