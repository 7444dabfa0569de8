"""One typed definition per job: flags, TOML keys and Python arguments are all read into it."""

from ndcg_spark.config.base import Job, add_flags, option, pairs
from ndcg_spark.config.clicks import ClickBiasJob, ClickLabelsJob, ClicksJob, LogJob
from ndcg_spark.config.evaluate import EvaluateJob, ImportTrecJob, PrepareJob

__all__ = [
    "ClickBiasJob",
    "ClickLabelsJob",
    "ClicksJob",
    "EvaluateJob",
    "ImportTrecJob",
    "Job",
    "LogJob",
    "PrepareJob",
    "add_flags",
    "option",
    "pairs",
]
