"""The report for Python users."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ndcg_spark.engine.inputs import session_of
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.report.job import Reported, report_job
from ndcg_spark.report.options import ReportJob


def write_report(tables: str | os.PathLike[str] | Sequence[str], **keywords: Any) -> Reported:
    """Write one HTML page of what jobs published (the extra `report`).

    tables: what a job was given as ``--out``; one or several
    keywords: of the command ``report``, such as ``baseline="bm25"``, ``measure="nDCG@10"``,
        ``summary="summary.md"``, ``out="report.html"``

    Returns the path and size of the page in bytes, its sections, the other files, and a sentence
    for each comparison.

    Raises:
        UsageError: for an option that does not exist, a measure or run that the tables do not have.
        InputError: E101, E102, E105, E170 for tables that are not there, cannot be read, or are
            of several evaluations; E153 for a file that cannot be written.
    """
    one = isinstance(tables, (str, os.PathLike))
    given = [os.fspath(tables)] if one else list(tables)  # type: ignore[arg-type]
    return report_job(from_keywords(ReportJob, None, {"tables": given, **keywords}), session_of)
