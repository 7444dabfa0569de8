"""One typed definition per job: flags, TOML keys and Python arguments are all read into it."""

from ndcg_spark.config.base import Job, add_flags, pairs
from ndcg_spark.config.clicks import ClickBiasJob, ClickLabelsJob, ClicksJob, LogJob
from ndcg_spark.config.compare import CompareJob
from ndcg_spark.config.distinguishability import DistinguishabilityJob
from ndcg_spark.config.evaluate import EvaluateJob, ImportTrecJob, PrepareJob, ScoringJob

__all__ = [
    "ClickBiasJob",
    "ClickLabelsJob",
    "ClicksJob",
    "CompareJob",
    "DistinguishabilityJob",
    "EvaluateJob",
    "ImportTrecJob",
    "Job",
    "LogJob",
    "PrepareJob",
    "ScoringJob",
    "add_flags",
    "pairs",
]
