"""What each command does with its arguments: run the job, print what it found."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast

from ndcg_spark.clicks.bias_job import click_bias
from ndcg_spark.clicks.job import click_days
from ndcg_spark.clicks.labels_job import click_labels
from ndcg_spark.clicks.options import (
    ClickBiasJob,
    ClickLabelsJob,
    ClicksJob,
    ImportUbiJob,
    InterleavingJob,
)
from ndcg_spark.clicks.teams_job import interleaving_days
from ndcg_spark.clicks.text import print_bias, print_clicks, print_interleaving
from ndcg_spark.clicks.ubi_job import import_ubi
from ndcg_spark.comparison.job import compare_job
from ndcg_spark.comparison.options import CompareJob
from ndcg_spark.comparison.text import print_comparison
from ndcg_spark.distinguish.job import distinguishability_job
from ndcg_spark.distinguish.options import DistinguishabilityJob
from ndcg_spark.distinguish.text import print_distinguished
from ndcg_spark.engine.options import Job
from ndcg_spark.engine.text import Printed, json_text, printable
from ndcg_spark.errors import (
    CheckError,
    DiscountWarning,
    InputWarning,
    JoinWarning,
)
from ndcg_spark.evaluation.explain_job import explained
from ndcg_spark.evaluation.explain_text import print_explanation
from ndcg_spark.evaluation.job import evaluated
from ndcg_spark.evaluation.options import EvaluateJob, ExplainJob, ImportTrecJob, PrepareJob
from ndcg_spark.evaluation.prepare import import_trec, prepare
from ndcg_spark.evaluation.text import print_evaluation
from ndcg_spark.measures import catalogue
from ndcg_spark.redaction import redacted
from ndcg_spark.report.job import as_dict, report_job
from ndcg_spark.report.options import ReportJob
from ndcg_spark.report.text import print_report
from ndcg_spark.sample.demo import demo_job

Command = Callable[[dict[str, Any]], None]


def say(text: str) -> None:
    """One message, without secrets and without what would steer a terminal."""
    print(f"ndcg-spark: {printable(redacted(text))}", file=sys.stderr)


def out() -> TextIO:
    """Where results go."""
    return cast(TextIO, Printed(sys.stdout))


def _evaluate(given: dict[str, Any]) -> None:
    config = given.pop("config", None)
    job = EvaluateJob.read(given, config)
    _run_evaluation(job)


WARNINGS = (DiscountWarning, InputWarning, JoinWarning)  # that are ours to show


def _run_evaluation(job: Any) -> None:
    with _warned(), evaluated(job) as found:
        print_evaluation(found, job.format, job.per_query, job.quiet, out())


@contextlib.contextmanager
def _warned() -> Iterator[None]:
    """Our warnings at the end, each once."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in WARNINGS:
            warnings.simplefilter("always", kind)
        yield
    for text in {str(w.message) for w in caught if issubclass(w.category, WARNINGS)}:
        say(f"warning: {text}")


def _explain(given: dict[str, Any]) -> None:
    job = ExplainJob.read(given, given.pop("config", None))
    with _warned():
        found = explained(job)
    print_explanation(found, job.format, job.show, out())


def _import_trec(given: dict[str, Any]) -> None:
    job = ImportTrecJob.read(given, given.pop("config", None))
    for table, found in import_trec(job).items():
        print(f"{table}: {found['rows']} rows in {found['path']}")


def _prepare(given: dict[str, Any]) -> None:
    job = PrepareJob.read(given, given.pop("config", None))
    for role, name in prepare(job).items():
        print(f"{role}: table:{name}")


def _clicks(given: dict[str, Any]) -> None:
    job = ClicksJob.read(given, given.pop("config", None))
    found = click_days(job)
    print_clicks(found, job.format, out())
    if found.broken:
        raise CheckError("; ".join(found.broken))


def _interleaving(given: dict[str, Any]) -> None:
    job = InterleavingJob.read(given, given.pop("config", None))
    print_interleaving(interleaving_days(job), job.format, out())


def _import_ubi(given: dict[str, Any]) -> None:
    job = ImportUbiJob.read(given, given.pop("config", None))
    found = import_ubi(job)
    if job.format == "json":
        print(json_text("import-ubi", found), file=out())
        return
    for name, n in found["counts"].items():
        print(f"{name} {n}")
    for table, path in found["tables"].items():
        print(f"{table}: {path}")


def _compare(given: dict[str, Any]) -> None:
    job = CompareJob.read(given, given.pop("config", None))
    found = compare_job(job)
    print_comparison(found, job.format, out())
    if found.broken:
        raise CheckError("; ".join(found.broken))


def _report(given: dict[str, Any]) -> None:
    job = ReportJob.read(given, given.pop("config", None))
    found = report_job(job)
    if job.format == "json":
        print(json_text("report", as_dict(found)), file=out())
        return
    print_report(found.page, found.size, found.files, found.verdicts, out())


def _distinguishability(given: dict[str, Any]) -> None:
    job = DistinguishabilityJob.read(given, given.pop("config", None))
    found = distinguishability_job(job)
    print_distinguished(found, job.format, out())


def _click_labels(given: dict[str, Any]) -> None:
    job = ClickLabelsJob.read(given, given.pop("config", None))
    found = click_labels(job)
    for grade, n in found["judgements"].items():
        print(f"relevance {grade:g}: {n} judgements")
    print(f"qrels: {found['path']}")


def _click_bias(given: dict[str, Any]) -> None:
    job = ClickBiasJob.read(given, given.pop("config", None))
    print_bias(click_bias(job), job.format, out())


def _demo(given: dict[str, Any]) -> None:
    job = demo_job(given, given.pop("config", None))
    _run_evaluation(job)


def _measures(given: dict[str, Any]) -> None:
    rows = [["measure", "trec_eval", "parameters", "definition"]]
    for measure in catalogue():
        trec = ", ".join(filter(None, (measure.trec, measure.trec_cut)))
        names = ", ".join(measure.parameters())
        rows.append([measure.canonical, trec or "-", names or "-", measure.summary()])
    for row in rows:
        print("\t".join(row))


COMMANDS: dict[str, tuple[Command, type[Job] | None, str]] = {
    "evaluate": (_evaluate, EvaluateJob, "evaluate runs against qrels"),
    "explain": (_explain, ExplainJob, "which queries lost most, and which of their documents"),
    "import-trec": (_import_trec, ImportTrecJob, "TREC text files to Parquet"),
    "compare": (_compare, CompareJob, "did it get better? systems or arms compared"),
    "distinguishability": (
        _distinguishability,
        DistinguishabilityJob,
        "which discount and cut-off tells rankers apart",
    ),
    "report": (_report, ReportJob, "one page of what the other commands wrote"),
    "clicks": (_clicks, ClicksJob, "a day of impressions to mergeable state, summary and trend"),
    "interleaving": (_interleaving, InterleavingJob, "which of two interleaved rankers wins"),
    "import-ubi": (_import_ubi, ImportUbiJob, "User Behavior Insights (OpenSearch) to impressions"),
    "click-labels": (_click_labels, ClickLabelsJob, "judgements from clicks"),
    "click-bias": (_click_bias, ClickBiasJob, "propensities, and estimates corrected by them"),
    "prepare": (_prepare, PrepareJob, "runs and qrels as tables in buckets by query"),
    "measures": (_measures, None, "list the measures"),
    "demo": (_demo, EvaluateJob, "evaluate the sample data that ships with the package"),
}

# an example in each command's help: its arguments, run by a test
_JUDGED = "--qrels qrels.parquet --runs runs.parquet"
_LOG = "--impressions impressions.parquet --date 2026-11-29"
EXAMPLES = {
    "evaluate": f"{_JUDGED} -m nDCG@10,AP --out tables",
    "explain": f"{_JUDGED} -m nDCG@10 --baseline bm25",
    "import-trec": "--qrels qrels.txt --runs run.txt --out trec",
    "compare": "--scores tables --baseline bm25 --test t,bootstrap",
    "distinguishability": f"{_JUDGED} --grid 5,10,20 --min-docs 10",
    "report": "-t tables --baseline bm25 --out report.html",
    "clicks": f"{_LOG} --out clicks",
    "click-labels": f"{_LOG} --thresholds 3=1 --out labels",
    "click-bias": f"{_LOG} --depth 5",
    "demo": "--out demo_tables",
}
