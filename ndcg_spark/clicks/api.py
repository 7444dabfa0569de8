"""Click logs for Python users (``nd.clicks``), and what other features may use of them."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from pyspark.sql import DataFrame

from ndcg_spark.clicks.alike import refuse_unlike as refuse_unlike
from ndcg_spark.clicks.arm_users import arm_users
from ndcg_spark.clicks.contrasts_kernel import Key
from ndcg_spark.clicks.corrected import PROPENSITIES, SWEEP, bias_of
from ndcg_spark.clicks.estimates import ESTIMATES
from ndcg_spark.clicks.experiment import begun_with as begun_with
from ndcg_spark.clicks.impressions import WITH_BOTS as WITH_BOTS
from ndcg_spark.clicks.keywords import (
    BiasKeywords,
    DatedStateKeywords,
    PastKeywords,
    PatternKeywords,
    QrelsKeywords,
    StateKeywords,
    UsersKeywords,
)
from ndcg_spark.clicks.labels import click_counts, click_qrels, shown_for_labels
from ndcg_spark.clicks.log_options import LogJob
from ndcg_spark.clicks.options import (
    MEASURES,
    ClickBiasJob,
    ClickLabelsJob,
    ClicksJob,
)
from ndcg_spark.clicks.past_states import past_state
from ndcg_spark.clicks.reading import log_of, patterns_of
from ndcg_spark.clicks.splits import SAMPLE_RATIO, designed
from ndcg_spark.clicks.splits import sample_ratio as split
from ndcg_spark.clicks.states import daily_state
from ndcg_spark.clicks.summary import arm_differences as arm_differences
from ndcg_spark.clicks.summary import arm_scores, click_summary
from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures import parse_measures
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.tables.small import table_of_rows

__all__ = [
    "arm_scores",
    "bias",
    "daily",
    "differences",
    "past",
    "patterns",
    "qrels",
    "sample_ratio",
    "state",
    "users",
]
Measures = MeasureLike | Sequence[MeasureLike]
J = TypeVar("J", bound=LogJob)


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
    job = job_of(ClicksJob, options, PatternKeywords)
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
    job = job_of(ClicksJob, {"date": ANY_DAY, **options}, DatedStateKeywords)
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
    min_group: int = 100,
    past: Table | None = None,
    anytime: bool = False,
    anytime_at: int = 14,
    mixtures: Mapping[Key, float] | None = None,
    **options: Unpack[StateKeywords],
) -> DataFrame:
    """Every arm against the baseline over all days of the table, lazily: differences of means with
    intervals clustered by user.

    patterns: what `patterns` or `state` gave, or one of these tables as `clicks` stored them
    past: what `past` gave, or the stored table pre_state: each difference comes a second time
        (estimate `cuped`), without what the users' past explains of it
    anytime: cs_low, cs_high and p_anytime too, which hold however often one looks: the table must
        have all days of the experiment, and the same first ones every time
    anytime_at: the night for which they are planned to be narrow
    mixtures: what an earlier call gave as `mixture`, by (segment, measure, candidate, estimate), to
        go on with; without, they follow from the first days
    """
    if anytime_at < 1:
        raise UsageError(f"anytime_at must be at least 1, not {anytime_at}")
    table = _state(patterns, measures, options)
    before = None if past is None else table_of("pre_state", past, session_of(past))
    planned = anytime_at if anytime else None
    return arm_differences(table, baseline, min_group, before, planned, mixtures)


def users(log: Table, **options: Unpack[UsersKeywords]) -> DataFrame:
    """Which users were in which arm, lazily: event_date, arm, user_id (a hash), n impressions of
    people. Such tables add up over days by union.

    log, options: as for `patterns`
    """
    job = job_of(ClicksJob, options, UsersKeywords)
    source = log_of(job, session_of(log), log)
    return arm_users(source, job.bot_impressions, job.bot_clicks)


def sample_ratio(users: Table, shares: Mapping[str, float] | None = None) -> DataFrame:
    """Were the users split as designed? A row an arm: users, expected_users, users_elsewhere (in
    other arms too; they are not tested), impressions, chi_square, p_value and verdict: `broken`
    below p = .0005, `unknown` where an arm has too few users. At once.

    users: what `users` gave for one or several days
    shares: the designed ones, adding up to 1; all arms alike without
    """
    session = session_of(users)
    table = table_of("arm_users", users, session)
    days = sorted(str(row[0]) for row in table.select("event_date").distinct().collect())
    rows = split(table, designed(shares or {}), "experiment", days) if days else []
    return table_of_rows(session, rows, SAMPLE_RATIO)


def past(
    log: Table, users: Table, measures: Measures = MEASURES, **options: Unpack[PastKeywords]
) -> DataFrame:
    """What an experiment's users did before it, lazily: segment, arm, bucket, measure, sums; for
    `differences(..., past=…)`.

    log: as for `patterns`, of the days before: ``date`` is the last of them, ``days`` their number
    users: what `users` gave for the experiment's days
    """
    job = job_of(ClicksJob, options, PastKeywords)
    session = session_of(log, users)
    own = table_of("arm_users", users, session)
    return past_state(job, log_of(job, session, log), own, parse_measures(measures))


def qrels(
    log: Table, *, propensities: Table | None = None, **options: Unpack[QrelsKeywords]
) -> DataFrame:
    """Judgements from clicks, lazily: query_id, doc_id, relevance, gain, as `evaluate` reads them.

    log: as for `patterns`
    propensities: of ``method="ips"``: rank, propensity, as `bias` gives them
    options: those of ``ndcg-spark click-labels``, such as ``method="ctr"``
    """
    given: dict[str, Any] = {} if propensities is None else {"propensities": "a table"}
    job = job_of(ClickLabelsJob, options, QrelsKeywords, **given)
    shown = shown_for_labels(log_of(job, session_of(log), log), job.votes)
    days = job.days if job.per_days else 1
    own = (job.method, job.grades_of_clicks, days, job.beta, job.lower, job.by_quantile)
    known = None
    if propensities is not None:
        known = table_of("propensities", propensities, session_of(log))
    found = click_qrels(click_counts(shown), *own, known)
    return found.where("query_id is not null")


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
    off_policy: the candidate by the impressions that showed just its list, where the log has a
        `propensity` of each: n_matched, ess, ips_impression, snips_impression and their errors
    """

    propensities: DataFrame
    eta: float | None
    estimates: DataFrame
    sweep: DataFrame
    sign_flips: list[float]
    fit: dict[str, float] | None
    support: dict[str, float] | None
    off_policy: dict[str, Any] | None


def bias(log: Table, candidate: Table | None = None, **options: Unpack[BiasKeywords]) -> ClickBias:
    """Position bias of a log, and the value of its order, or a candidate's, without it. At once.

    log: as for `patterns`
    candidate: a run (query_id, doc_id, score) that is judged by the log's clicks
    options: those of ``ndcg-spark click-bias``, such as ``method="em"``

    Raises:
        UsageError: for an option that does not exist.
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    job = job_of(ClickBiasJob, options, BiasKeywords)
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
        found.off_policy,
    )


ANY_DAY = "1970-01-01"  # where the table says which days it holds


def _state(patterns: Table, measures: Measures, options: StateKeywords) -> DataFrame:
    table = table_of("click_patterns", patterns, session_of(patterns))
    return table if "sum_high" in table.columns else state(table, measures, **options)


def job_of(kind: type[J], options: Mapping[str, Any], allowed: Any, **more: Any) -> J:
    """The command's options out of keywords of the same names."""
    names = list(typing.get_type_hints(allowed))
    for name in options:
        if name not in names:
            raise unknown("option", name, names)
    if not options.get("date") and not options.get("start"):
        raise UsageError("say which day: date='2026-11-29' (or start and to)")
    return kind(impressions="the log", **options, **more)
