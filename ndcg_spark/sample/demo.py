"""The demo: the main job on the sample data."""

from __future__ import annotations

import importlib.resources
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from ndcg_spark.ending import temporary
from ndcg_spark.evaluation.api import EvaluateJob

MEASURES = "nDCG,nDCG@10,nDCG(gain='exp2')@10,AP,RR,P@10,R@100,Judged@10"
FILES = ("qrels.parquet", "runs.parquet")


def demo_job(flags: Mapping[str, Any], config: str | None = None) -> Any:
    """The evaluate job on the sample data; flags change it, as for any other.

    The data is copied out of the package first: it may be inside a zip.
    """
    place = temporary("ndcg_spark_sample_")
    for name in FILES:
        source = importlib.resources.files("ndcg_spark.sample").joinpath(name)
        with source.open("rb") as packed, open(os.path.join(place, name), "wb") as copy:
            shutil.copyfileobj(packed, copy)
    given: dict[str, Any] = {
        "qrels": f"{place}/qrels.parquet",
        "runs": [f"{place}/runs.parquet"],
        "measure": [MEASURES],
    }
    if "out" not in flags:
        given["out"] = tempfile.mkdtemp(prefix="ndcg_spark_demo_") + "/tables"
    return EvaluateJob.read({**given, **flags}, config)
