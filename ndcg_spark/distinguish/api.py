"""Distinguishability for Python users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from ndcg_spark.distinguish import documents as docs
from ndcg_spark.distinguish.compute import (
    default_grid,
    diagnosed,
    growing_measures,
    judged,
    rankers,
)
from ndcg_spark.distinguish.growth_kernel import Growth
from ndcg_spark.distinguish.options import MEASURES
from ndcg_spark.distinguish.plan import grown_samples, values_of
from ndcg_spark.distinguish.verdicts import CURVES, MARGIN, PAIRS
from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.tables.small import table_of_rows


@dataclass(frozen=True)
class Distinguishability:
    """Which measure tells the rankers apart.

    curves: run_id, measure, n, n_queries, n_undefined, mean, se, sd, mean_cc (corrected for
        chance), limit_plugin, gap_to_limit
    pairs: run_a, run_b, measure, n, n_queries, mean_gap, sd_gap, snr, cc_gap, cc_lo, cc_hi,
        win_share, win_lo, win_hi, settled_share, snr_exponent, verdict
    values: query_id, sequence, run_id, measure, n, value, e_random, n_rel; lazy
    counts: name, n: queries used and left out, odd rankers
    advice: sentences
    """

    curves: DataFrame
    pairs: DataFrame
    values: DataFrame
    counts: DataFrame
    advice: list[str]


def distinguishability(
    runs: Table,
    qrels: Table | None = None,
    clicks: Table | None = None,
    *,
    measures: MeasureLike | Iterable[MeasureLike] = MEASURES,
    gain: str = "linear",
    thresholds: Sequence[int] = (100, 1000),
    grid: Sequence[int] | None = None,
    min_docs: int | None = None,
    sequences: int = 1,
    ties: Literal["hash", "mean"] = "hash",
    baseline: str | None = None,
    margin: float = MARGIN,
    seed: int = 0,
) -> Distinguishability:
    """Which discount and cut-off tells these rankers apart consistently?

    runs: run_id, query_id, doc_id, score; a document counts where every ranker scores it
    qrels: query_id, doc_id, relevance; or clicks: query_id, doc_id, n_clicks with `thresholds`;
        what is not there has label 0
    grid: sizes of the samples; the samples of a query are nested, in an order by hash
    margin: a difference corrected for chance that counts as none: `does_not_separate` needs the
        interval of the difference within it

    Runs at once. The other options are those of the job (docs/distinguishability.md).

    Raises:
        UsageError: for a measure other than nDCG, or an option that does not exist.
        InputError: for columns that are missing, or queries that are too short (E172).
    """
    if ties not in ("hash", "mean"):
        raise unknown("ties", ties, ("hash", "mean"))
    wanted, worth = growing_measures(measures, gain)
    session = session_of(runs, qrels, clicks)
    rows = docs.conformed_runs(table_of("runs", runs, session))
    if qrels is not None and clicks is None:
        labels = docs.labels_of_qrels(table_of("qrels", qrels, session))
    elif clicks is not None and qrels is None:
        counts = table_of("clicks", clicks, session)
        labels = docs.labels_of_clicks(counts, docs.checked_thresholds(thresholds))
    else:
        raise UsageError("give qrels or clicks")
    names, longest = rankers(rows)
    sizes = tuple(sorted(set(grid))) if grid else default_grid(longest)
    growth = Growth(names, wanted, worth, sizes, sequences, seed, ties)
    fewest = min_docs or sizes[-1]
    grown = grown_samples(docs.documents(rows, labels, names), growth)
    with diagnosed(rows):
        found = judged(grown, growth, baseline, fewest, longest, margin)
    numbers = [{"name": name, "n": n} for name, n in found.counts.items()]
    return Distinguishability(
        table_of_rows(session, found.curves, CURVES),
        table_of_rows(session, found.pairs, PAIRS),
        values_of(grown, growth, fewest),
        table_of_rows(session, numbers, "name string, n bigint"),
        found.advice,
    )
