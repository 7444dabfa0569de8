"""The public names of `ndcg_spark`, found here when its `__init__` is asked for them."""

from typing import TYPE_CHECKING

from ndcg_spark import clicks as clicks
from ndcg_spark import ml as ml
from ndcg_spark import peers as peers
from ndcg_spark import plot as plot
from ndcg_spark import theory as theory
from ndcg_spark.comparison.api import compare as compare
from ndcg_spark.comparison.api import discriminative_power as discriminative_power
from ndcg_spark.comparison.options import CompareOptions as CompareOptions
from ndcg_spark.distinguish.api import distinguishability as distinguishability
from ndcg_spark.engine.sessions import session as session
from ndcg_spark.errors import DiscountWarning as DiscountWarning
from ndcg_spark.errors import InputError as InputError
from ndcg_spark.errors import InputWarning as InputWarning
from ndcg_spark.errors import JoinWarning as JoinWarning
from ndcg_spark.errors import NdcgSparkError as NdcgSparkError
from ndcg_spark.errors import UsageError as UsageError
from ndcg_spark.evaluation.api import Evaluator as Evaluator
from ndcg_spark.evaluation.api import check as check
from ndcg_spark.evaluation.api import contributions as contributions
from ndcg_spark.evaluation.api import evaluate as evaluate
from ndcg_spark.evaluation.api import evaluate_arrays as evaluate_arrays
from ndcg_spark.evaluation.api import ideals as ideals
from ndcg_spark.evaluation.api import ranked as ranked
from ndcg_spark.evaluation.api import summarize as summarize
from ndcg_spark.measures import *
from ndcg_spark.report.api import write_report as write_report
from ndcg_spark.stats.agreement import kendall_tau_b as kendall_tau_b
from ndcg_spark.stats.agreement import rbo as rbo
from ndcg_spark.stats.agreement import tau_ap as tau_ap
from ndcg_spark.stats.sample_size import detectable as detectable
from ndcg_spark.stats.sample_size import sample_size as sample_size
from ndcg_spark.tables.read import read_qrels as read_qrels
from ndcg_spark.tables.read import read_run as read_run
from ndcg_spark.tables.write import published as published
from ndcg_spark.version import __version__ as __version__

if not TYPE_CHECKING:  # the functions above, and every measure of the registry
    _ROOMS = {"clicks", "ml", "peers", "plot", "theory"}
    __all__ = [
        "__version__",
        *(
            name
            for name, value in list(globals().items())
            if not name.startswith("_")
            and (name in _ROOMS or getattr(value, "__module__", "").startswith("ndcg_spark"))
        ),
    ]
