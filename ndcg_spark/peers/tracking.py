"""Results to MLflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ndcg_spark.errors import UsageError
from ndcg_spark.plot.rows import need, rows_of
from ndcg_spark.tables.segments import ALL


def log_to_mlflow(
    aggregate: Any, report: str | None = None, *, run_id: str | None = None, step: int | None = None
) -> Mapping[str, float]:
    """Log the means of a summary as metrics of the active MLflow run, which is started if there is
    none; returns what was logged, by name.

    aggregate: the summary: a DataFrame, a path, or rows
    report: a page of `write_report`, logged as an artifact
    run_id: only this run; without, names are ``run/measure`` if there are several

    Characters that MLflow does not allow in names become underscores: ``nDCG@10`` is ``nDCG_10``.
    The name in full is the tag ``ndcg_spark.NAME``. Undefined means are left out.

    Raises:
        UsageError: where MLflow is not installed, for a table that is no summary, for two names
            that become one.
    """
    try:
        import mlflow
    except ImportError:
        raise UsageError("this needs MLflow: pip install mlflow-skinny") from None
    rows = [row for row in rows_of(aggregate) if row.get("segment", ALL) == ALL]
    need(rows, "log_to_mlflow", "run_id", "measure", "mean")
    chosen = [row for row in rows if run_id in (None, row["run_id"])]
    need(chosen, f"run {run_id!r}")
    several = len({row["run_id"] for row in chosen}) > 1
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    for row in chosen:
        full = f"{row['run_id']}/{row['measure']}" if several else row["measure"]
        name = re.sub(r"[^\w./ -]", "_", full)
        if name in tags:
            raise UsageError(f"two names become {name!r} in MLflow: {tags[name]!r} and {full!r}")
        tags[name] = full
        if row["mean"] is not None:
            metrics[name] = row["mean"]
    mlflow.log_metrics(metrics, step=step)
    mlflow.set_tags({f"ndcg_spark.{name}": full for name, full in tags.items() if name != full})
    if report is not None:
        mlflow.log_artifact(report)
    return metrics
