"""Interleaved lists for Python users (part of ``nd.clicks``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from pyspark.sql import DataFrame

from ndcg_spark.clicks.api import job_of
from ndcg_spark.clicks.contrasts_kernel import Key
from ndcg_spark.clicks.drafts import team_drafts
from ndcg_spark.clicks.keywords import InterleavedKeywords
from ndcg_spark.clicks.options import InterleavingJob
from ndcg_spark.clicks.reading import log_of
from ndcg_spark.clicks.teams import credit_counts, team_differences, team_state
from ndcg_spark.engine.inputs import Table, contract_rows, session_of, table_of
from ndcg_spark.errors import UsageError
from ndcg_spark.tables.contracts import RUNS, same_ids


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


def interleaved(log: Table, **options: Unpack[InterleavedKeywords]) -> DataFrame:
    """Whose results were clicked, lazily: event_date, segment, arm (the candidate's team), bucket
    of users, measure (preference, credit, wins, ties, losses), n, n_undefined and sums that add up
    over days exactly.

    log: as for `patterns`, its results with a `team`: A or B, null for places that are shared
    options: those of ``ndcg-spark interleaving``, such as ``date="2026-11-29"``, ``team="picked"``

    Impressions without any team, or with another than A and B, are left out.

    Raises:
        UsageError: for an option that does not exist.
        InputError: for missing columns or wrong types.
    """
    job = job_of(InterleavingJob, options, InterleavedKeywords)
    counts = credit_counts(log_of(job, session_of(log), log), job.baseline)
    return team_state(counts, job.candidate, job.segments, job.clickless)


def preferences(
    state: Table,
    *,
    min_group: int = 100,
    anytime: bool = False,
    anytime_at: int = 14,
    mixtures: Mapping[Key, float] | None = None,
) -> DataFrame:
    """Which team is preferred over all days of the table, lazily: two rows a segment, `preference`
    (delta = (wins + ties / 2) / n - 1/2 of the candidate) and `credit` (the mean difference of
    gains), with intervals clustered by user.

    state: what `interleaved` gave, or the stored table interleaving_state
    anytime, anytime_at, mixtures: as for `differences`
    """
    if anytime_at < 1:
        raise UsageError(f"anytime_at must be at least 1, not {anytime_at}")
    table = table_of("interleaving_state", state, session_of(state))
    return team_differences(table, min_group, anytime_at if anytime else None, mixtures)
