"""Click logs for Python users (``nd.clicks``), and what other features may use of them."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from pyspark.sql import DataFrame

from ndcg_spark.clicks.alike import refuse_unlike as refuse_unlike
from ndcg_spark.clicks.corrected import PROPENSITIES, SWEEP, bias_of
from ndcg_spark.clicks.drafts import team_drafts
from ndcg_spark.clicks.estimates import ESTIMATES
from ndcg_spark.clicks.labels import click_counts, click_qrels, shown_for_labels
from ndcg_spark.clicks.options import (
    MEASURES,
    ClickBiasJob,
    ClickLabelsJob,
    ClicksJob,
    LogJob,
)
from ndcg_spark.clicks.reading import log_of, patterns_of
from ndcg_spark.clicks.states import daily_state
from ndcg_spark.clicks.summary import arm_differences, arm_scores, click_summary
from ndcg_spark.engine.inputs import Table, contract_rows, session_of, table_of
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures import parse_measures
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.tables.contracts import RUNS, same_ids
from ndcg_spark.tables.small import table_of_rows

__all__ = ["arm_scores", "bias", "daily", "differences", "patterns", "qrels", "state", "team_draft"]
Measures = MeasureLike | Sequence[MeasureLike]
J = TypeVar("J", bound=LogJob)


class GainKeywords(TypedDict, total=False):
    """What a result is worth: the options of all commands on click logs that say so."""

    events: Sequence[str] | Mapping[str, float]
    label: str
    dwell: Sequence[str] | Mapping[float, float]


class LogKeywords(GainKeywords, total=False):
    """The options of all commands on click logs."""

    date: str
    days: int
    start: str
    to: str
    arm: str
    user: str
    columns: Sequence[str] | Mapping[str, str]
    timezone: str
    buckets: int


class PatternKeywords(LogKeywords, total=False):
    """Those of `patterns`."""

    segments: Sequence[str]
    bot_impressions: int
    bot_clicks: int
    deduplicate: bool


class QrelsKeywords(LogKeywords, total=False):
    """Those of `qrels`."""

    method: Literal["counts", "ctr", "coec", "dwell"]
    thresholds: Sequence[str] | Mapping[float | str, float]
    per_days: bool
    prior: str
    lower: float | None
    votes: Literal["impression", "user"]


class BiasKeywords(LogKeywords, total=False):
    """Those of `bias`."""

    method: Literal["adjacent_chain", "pivot", "randomized", "naive", "power_law", "em"]
    eta: float
    depth: int
    iterations: int
    utility: Literal["dcg", "rr", "recall"]
    cutoff: int
    clip: float
    min_shown: float


class StateKeywords(GainKeywords, total=False):
    """Those of `state`, `daily` and `differences`."""

    segments: Sequence[str]
    clickless: Literal["undefined", "zero"]


class _DatedStateKeywords(StateKeywords, total=False):
    date: str


def patterns(log: Table, **options: Unpack[PatternKeywords]) -> DataFrame:
    """How often which pattern of clicks was seen, lazily: event_date, arm, is_bot, bucket (of
    users), the segments' columns, pattern, problem, n, n_not_shown.

    log: one row an impression, with its results as a list of structs or as lists side by side, or
        one row a result (docs/clicklogs.md)
    options: those of ``ndcg-spark clicks`` that say how the log is read, such as
        ``date="2026-11-29"``, ``columns={"event_ts": "time"}``, ``segments=["country"]``

    Counts add up over days and machines; every list measure at every cut-off follows from them.

    Raises:
        UsageError: for an option that does not exist.
        InputError: for missing columns or wrong types.
    """
    job = _job(ClicksJob, options, PatternKeywords)
    found, _ = patterns_of(job, log_of(job, session_of(log), log))
    return found


def state(
    patterns: Table, measures: Measures = MEASURES, **options: Unpack[StateKeywords]
) -> DataFrame:
    """Sums of measures per bucket of users, lazily: event_date, segment, arm, bucket, measure, n,
    n_undefined, sum, sumsq and their exact parts; they add up over days exactly.

    patterns: what `patterns` gave, or the stored table click_patterns; the options that say what a
        result is worth must be the same
    """
    job = _job(ClicksJob, {"date": ANY_DAY, **options}, _DatedStateKeywords)
    table = table_of("click_patterns", patterns, session_of(patterns))
    wanted = parse_measures(measures)
    return daily_state(table, wanted, job.gains, job.segments, job.clickless)


def daily(
    patterns: Table,
    measures: Measures = MEASURES,
    *,
    buckets: int = 1000,
    min_group: int = 100,
    **options: Unpack[StateKeywords],
) -> DataFrame:
    """Means over impressions by segment, measure and arm, with 95 percent intervals clustered by
    user, lazily, over all days of the table.

    patterns: what `patterns` or `state` gave, or one of these tables as `clicks` stored them
    """
    return click_summary(_state(patterns, measures, options), buckets, min_group)


def differences(
    patterns: Table,
    baseline: str,
    measures: Measures = MEASURES,
    *,
    buckets: int = 1000,
    min_group: int = 100,
    **options: Unpack[StateKeywords],
) -> DataFrame:
    """Every arm against the baseline: differences of means with intervals clustered by user.

    patterns: what `patterns` or `state` gave, or one of these tables as `clicks` stored them
    """
    table = _state(patterns, measures, options)
    return arm_differences(table, baseline, buckets, min_group)


def qrels(log: Table, **options: Unpack[QrelsKeywords]) -> DataFrame:
    """Judgements from clicks, lazily: query_id, doc_id, relevance, gain, as `evaluate` reads them.

    log: as for `patterns`
    options: those of ``ndcg-spark click-labels``, such as ``method="ctr"``
    """
    job = _job(ClickLabelsJob, options, QrelsKeywords)
    shown = shown_for_labels(log_of(job, session_of(log), log), job.votes)
    counts = click_counts(shown)
    days = job.days if job.per_days else 1
    found = click_qrels(
        counts, job.method, job.grades_of_clicks, days, job.beta, job.lower, job.by_quantile
    )
    return found.where("query_id is not null")


def team_draft(run_a: Table, run_b: Table, seed: int = 0, *, depth: int = 10) -> DataFrame:
    """Two runs interleaved, to be shown as one list: query_id, rank, doc_id, team (A or B), lazily.

    In each round a coin says which team picks first; each adds its best document that the list does
    not have yet (Radlinski, Kurup and Joachims 2008), until there are `depth`. A coin is a hash of
    seed, query and round: the same call gives the same lists on any engine, another seed others, so
    take a new one for every impression or user. A click is a vote for the team of its place.

    run_a, run_b: query_id, doc_id, score; of one system each. Best first, equal scores by
        descending doc_id, as `evaluate` ranks them; a document that is there twice counts once.
    depth: places of a list; at most 1000

    Raises:
        UsageError: for a depth that is none.
        InputError: for missing columns, wrong types, or ids of different types.
    """
    if not 1 <= depth <= 1000:
        raise UsageError(f"depth must lie between 1 and 1000, not {depth}")
    session = session_of(run_a, run_b)
    first, second = (contract_rows(session, RUNS, run) for run in (run_a, run_b))
    same_ids(first, second, ("first run", "second run"))
    return team_drafts(first, second, depth, seed)


@dataclass(frozen=True)
class ClickBias:
    """How much of a click is due to the position, and what orders are worth without that.

    propensities: segment, rank, propensity, method
    eta: the exponent of the power law that fits them best
    estimates: by table of propensities and run: ips, se, interval, snips_click, ess, …
    sweep: name, delta, se: the candidate against the shown order under every table
    sign_flips: the exponents at which that difference changes its sign
    fit: how em ended (steps, gain, log_likelihood); None for the other methods
    support: how much of the candidate's top was ever shown (share, share_by_weight, …)
    """

    propensities: DataFrame
    eta: float | None
    estimates: DataFrame
    sweep: DataFrame
    sign_flips: list[float]
    fit: dict[str, float] | None
    support: dict[str, float] | None


def bias(log: Table, candidate: Table | None = None, **options: Unpack[BiasKeywords]) -> ClickBias:
    """Position bias of a log, and the value of its order, or a candidate's, without it. At once.

    log: as for `patterns`
    candidate: a run (query_id, doc_id, score) that is judged by the log's clicks
    options: those of ``ndcg-spark click-bias``, such as ``method="em"``

    Raises:
        UsageError: for an option that does not exist.
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    job = _job(ClickBiasJob, options, BiasKeywords)
    session = session_of(log, candidate)
    run = None if candidate is None else table_of("runs", candidate, session)
    found = bias_of(job, log_of(job, session, log), run)
    return ClickBias(
        table_of_rows(session, found.propensity_rows(job.method), PROPENSITIES),
        found.eta,
        table_of_rows(session, found.estimates, ESTIMATES),
        table_of_rows(session, found.sweep, SWEEP),
        found.sign_flips,
        found.fit,
        found.support,
    )


ANY_DAY = "1970-01-01"  # where the table says which days it holds


def _state(patterns: Table, measures: Measures, options: StateKeywords) -> DataFrame:
    table = table_of("click_patterns", patterns, session_of(patterns))
    return table if "sum_high" in table.columns else state(table, measures, **options)


def _job(kind: type[J], options: Mapping[str, Any], allowed: Any) -> J:
    """The command's options out of keywords of the same names."""
    names = list(typing.get_type_hints(allowed))
    for name in options:
        if name not in names:
            raise unknown("option", name, names)
    if not options.get("date") and not options.get("start"):
        raise UsageError("say which day: date='2026-11-29' (or start and to)")
    return kind(impressions="the log", **options)
