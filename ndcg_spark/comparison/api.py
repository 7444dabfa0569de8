"""Comparisons for Python users, and what other features may use of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from pyspark.sql import DataFrame

from ndcg_spark.comparison.compute import compared
from ndcg_spark.comparison.inventory import Measures
from ndcg_spark.comparison.options import CompareKeywords, CompareOptions, tests_of
from ndcg_spark.comparison.power import AGREEMENT, ASL, POWER, power_rows
from ndcg_spark.comparison.table import COMPARISON
from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.tables.small import table_of_rows


def compare(
    scores: Table,
    baseline: str | None = None,
    measures: Measures | None = None,
    *,
    test: str | Sequence[str] = "t",
    by: Sequence[str] = (),
    attributes: Table | None = None,
    options: CompareOptions | None = None,
    **keywords: Unpack[CompareKeywords],
) -> DataFrame:
    """Is the difference between systems real? One row a pair, segment, measure and test.

    scores: the per_query table (run_id, query_id, measure, value), of any number of systems
    baseline: a run_id that the others are compared with; all pairs without
    measures: names or objects; all that the table has without
    test: t, wilcoxon, fisher, bootstrap, tukey, randomized-tukey; one or several
    by: columns of the scores or the attributes; their values become segments beside ``all``
    attributes: query_id and these columns
    options, keywords: of `CompareOptions`, such as ``correction="bh"``, ``detect=0.01``

    Runs at once: two passes over the scores (names and counts, then sums for all pairs at once);
    what comes to the driver grows with systems, measures and replicates, not with queries, but for
    ``interval="bca"`` and ``"percentile"``. delta is candidate less baseline. A query without a
    defined value in both is dropped and counted. p_value is null, with a note, where there are
    fewer than two queries or all differences are alike.

    Raises:
        UsageError: for names or options that do not exist.
        InputError: E171 where there is nothing to compare; E170 for a query that is twice in a run.
    """
    chosen = from_keywords(CompareOptions, options, keywords)
    session = session_of(scores, attributes)
    own = None if attributes is None else table_of("attributes", attributes, session)
    table = table_of("scores", scores, session)
    rows = compared(table, baseline, measures, tests_of(test), by, own, chosen)
    return table_of_rows(session, rows, COMPARISON)


@dataclass(frozen=True)
class DiscriminativePower:
    """Which measure tells these systems apart, and whether the measures agree on their order.

    power: measure, n_systems, n_queries, n_pairs, share (of pairs that it tells apart),
        required_difference and its error by the drawn replicates, alpha, replicates, seed
    asl: measure, place, baseline, candidate, asl: all pairs, the clearest first
    agreement: measure_a, measure_b, tau_b, tau_ap, rbo
    """

    power: DataFrame
    asl: DataFrame
    agreement: DataFrame


def discriminative_power(
    scores: Table,
    measures: Measures | None = None,
    *,
    options: CompareOptions | None = None,
    **keywords: Unpack[CompareKeywords],
) -> DiscriminativePower:
    """Sakai's discriminative power of each measure, and the agreement of their orderings.

    scores: the per_query table of three systems or more
    measures: names or objects; all that the table has without
    options, keywords: alpha, replicates and seed of `CompareOptions`

    Runs at once and collects at most 5 million values of a measure: of larger data a random sample
    of queries. Only queries with a value of every measure in every system count.

    Raises:
        UsageError: for names or options that do not exist.
        InputError: E171 for fewer than three systems, or fewer than two complete queries.
    """
    session = session_of(scores)
    chosen = from_keywords(CompareOptions, options, keywords)
    found = power_rows(table_of("scores", scores, session), measures, chosen)
    return DiscriminativePower(
        table_of_rows(session, found.power, POWER),
        table_of_rows(session, found.asl, ASL),
        table_of_rows(session, found.agreement, AGREEMENT),
    )
