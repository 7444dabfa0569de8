"""The report as a job: read what was published, count what is large, draw, write the page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from ndcg_spark.comparison.api import compare
from ndcg_spark.engine.running import now, opened
from ndcg_spark.errors import InputError, UsageError, nearest
from ndcg_spark.plot.rows import counted, extremes
from ndcg_spark.plot.style import written
from ndcg_spark.redaction import redacted
from ndcg_spark.report import clicked, evaluated
from ndcg_spark.report.blocks import Picture, Section
from ndcg_spark.report.options import ReportJob
from ndcg_spark.report.page import page
from ndcg_spark.report.stored import Stored, stored
from ndcg_spark.report.text import markdown_summary
from ndcg_spark.tables.segments import ALL

Rows = Sequence[Mapping[str, Any]]
MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class Reported:
    """Where the page and the rest were written, the sections, and the verdicts in words."""

    page: str
    size: int
    sections: list[str]
    files: list[str]
    verdicts: list[str]


def report_job(job: ReportJob, session: Callable[[], SparkSession] | None = None) -> Reported:
    """Write the page, and figures and summary where they were asked for.

    session: gives the one that a Python user has; the job opens its own and stops it without

    Raises:
        UsageError: for a measure or run that the tables do not have; without matplotlib or Jinja.
        InputError: E101, E102 and E105 for tables that are not there or cannot be read, E153 for a
            file that cannot be written, E170 for tables of several partitions.
    """
    found = stored(job.tables, job.partitions)
    _once(found)
    measure = _measure(job, found)
    comparison: Rows = found.of("comparison")
    baseline = job.baseline or next((row["baseline"] for row in comparison), None)
    histogram: Rows = []
    won: Rows = []
    if found.scores and measure:
        with _session(job, session) as spark:
            scores = spark.read.parquet(*found.scores)
            _known_run(scores, baseline)
            if baseline and not comparison:
                table = compare(scores, baseline)
                comparison = [row.asDict() for row in table.collect()]
            histogram = counted(scores, measure)
            won = extremes(scores, measure, baseline, job.worst) if baseline and job.worst else []
    comparison = _in_order(comparison, found.of("aggregate"))
    sections = _sections(found, comparison, histogram, won, measure, baseline)
    content = page(job.title, sections, now(), found.left_out)
    if len(content.encode()) > MOST_BYTES:
        raise UsageError(
            f"the page would have {len(content.encode()):,} bytes and may have {MOST_BYTES:,}; "
            "give fewer --tables or a smaller --worst"
        )
    files = []
    if job.plots:
        files = _write_plots(job.plots, sections)
    verdicts = evaluated.verdicts([row for row in comparison if row["segment"] == ALL])
    if job.summary:
        _write(job.summary, markdown_summary(job.title, sections, verdicts).encode())
        files.append(job.summary)
    assert job.out is not None
    _write(job.out, content.encode())
    return Reported(job.out, len(content.encode()), [s.title for s in sections], files, verdicts)


@contextlib.contextmanager
def _session(job: ReportJob, given: Callable[[], SparkSession] | None) -> Iterator[SparkSession]:
    if given:
        yield given()
    else:
        with opened(job, "tables") as engine:
            yield engine.spark


def _sections(
    found: Stored, comparison: Rows, histogram: Rows, won: Rows, measure: str, baseline: str | None
) -> list[Section]:
    """What there are tables for, in the order in which it is read."""
    sections: list[Section | None] = []
    if found.of("aggregate") or comparison:
        sections.append(evaluated.measures(found.of("aggregate"), comparison, measure))
    if found.scores or won:
        documents = found.of("documents")
        sections.append(evaluated.queries(histogram, won, documents, measure, baseline))
    if found.of("aggregate"):
        sections.append(evaluated.segments(found.of("aggregate"), measure))
    if found.of("daily"):
        own = {row["measure"] for row in found.of("daily")}
        name = measure if measure in own else sorted(own)[0]
        sections += clicked.nights(found.of("daily"), found.of("arm_differences"), name)
    if found.of("propensities") or found.of("ips"):
        sections.append(clicked.positions(found.of("propensities"), found.of("ips")))
    if found.of("curves") or found.of("pairs"):
        sections.append(clicked.distinguished(found.of("curves"), found.of("pairs")))
    if "evaluate" in found.manifests:
        sections.append(evaluated.runs_and_policies(found.manifests["evaluate"]))
    kept = [section for section in sections if section and (section.blocks or section.text)]
    if not kept:
        raise InputError("E103", "tables: there is nothing to show in these tables")
    return kept


def _in_order(comparison: Rows, aggregate: Rows) -> Rows:
    """A comparison in the order of the evaluation's measures."""
    names = list(dict.fromkeys(row["measure"] for row in aggregate))
    places = {name: place for place, name in enumerate(names)}
    return sorted(comparison, key=lambda row: places.get(row["measure"], len(places)))


def _once(found: Stored) -> None:
    """Refuse a mean that is there twice: of two evaluations, or of two days."""
    seen = set()
    for row in found.of("aggregate"):
        key = (row["run_id"], row["segment"], row["measure"])
        if key in seen:
            raise InputError(
                "E170",
                f"two means of one run and measure ({key[0]}, {key[2]}): the tables are of several "
                "evaluations or days; give one --tables, and --partition date=DAY",
            )
        seen.add(key)


def _measure(job: ReportJob, found: Stored) -> str:
    """The measure that details are of.

    Raises:
        UsageError: for one that no table has.
    """
    tables = ("aggregate", "daily", "comparison")
    known = list(dict.fromkeys(row["measure"] for table in tables for row in found.of(table)))
    if job.measure and job.measure not in known:
        raise UsageError(
            f"--measure: no {job.measure!r} in these tables{nearest(job.measure, known)}; there "
            f"are: {', '.join(known) or 'none'}"
        )
    return job.measure or (known[0] if known else "")


def _known_run(scores: Any, baseline: str | None) -> None:
    runs = [row["run_id"] for row in scores.select("run_id").distinct().limit(10_000).collect()]
    if baseline and baseline not in runs:
        raise UsageError(
            f"--baseline: no run {baseline!r}{nearest(baseline, runs)}; there are: "
            f"{', '.join(sorted(runs)[:20])}"
        )


def _write_plots(folder: str, sections: Sequence[Section]) -> list[str]:
    files = []
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise InputError("E153", f"cannot write to {folder!r}: {problem.strerror}") from None
    for picture in (b for section in sections for b in section.blocks if isinstance(b, Picture)):
        for kind in ("svg", "png"):
            files.append(os.path.join(folder, f"{picture.name}.{kind}"))
            _write(files[-1], written(picture.figure, kind))
        files.append(os.path.join(folder, f"{picture.name}.csv"))
        _write(files[-1], picture.csv().encode())
    return files


def _write(path: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    aside = f"{path}.{os.getpid()}.part"
    try:
        with open(aside, "wb") as file:
            file.write(content)
        os.replace(aside, path)
    except OSError as problem:
        raise InputError("E153", f"cannot write to {path!r}: {problem.strerror}") from None


def as_dict(found: Reported) -> dict[str, Any]:
    """What ``--format json`` prints."""
    return {"page": redacted(found.page), "bytes": found.size, "sections": found.sections,
            "files": found.files, "verdicts": found.verdicts}  # fmt: skip
