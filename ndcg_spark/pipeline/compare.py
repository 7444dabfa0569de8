"""Did it get better? Systems compared from per-query scores, or arms from the click job's state."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from ndcg_spark.compare import gather
from ndcg_spark.compare.agreement import kendall_tau_b, rbo, tau_ap
from ndcg_spark.compare.discriminative import discriminative_power
from ndcg_spark.compare.distributions import scipy_stats
from ndcg_spark.compare.options import BOOTSTRAPS, PERMUTATIONS, SIGNS, TOGETHER, Options, tests_of
from ndcg_spark.compare.paired_tests import ENUMERATED, SAMPLED, Ranks
from ndcg_spark.compare.table import COMPARISON, Found, Names, comparison, every_pair, wanted_pairs
from ndcg_spark.errors import InputError, UsageError, unknown
from ndcg_spark.kernel.paired import SMALL, Design, Sums
from ndcg_spark.measures import parse_measures
from ndcg_spark.measures.batch import Array
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.pipeline.opened import refused
from ndcg_spark.tables import checks

KEYS = ("run_id", "query_id", "segment", "measure")
MOST_HELD = 2**26  # bytes of totals a segment: a Spark Connect message takes 128 MB
MATRIX_CELLS = 5_000_000  # values of one measure that the discriminative power looks at
POWER = (
    "measure string, n_systems bigint, n_queries bigint, n_pairs bigint, share double, "
    "required_difference double, alpha double, replicates bigint, seed bigint"
)
ASL = "measure string, place bigint, baseline string, candidate string, asl double"
AGREEMENT = "measure_a string, measure_b string, tau_b double, tau_ap double, rbo double"


@dataclasses.dataclass(frozen=True)
class Trust:
    """Which measure tells these systems apart, and whether the measures agree on their order."""

    power: list[dict[str, Any]]
    asl: list[dict[str, Any]]
    agreement: list[dict[str, Any]]


def compare(
    scores: DataFrame,
    baseline: str | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    test: str | Sequence[str] = "t",
    by: Sequence[str] = (),
    attributes: DataFrame | None = None,
    **options: Any,
) -> DataFrame:
    """Is the difference between systems real? One row a pair, segment, measure and test.

    scores: the per_query table (run_id, query_id, measure, value), of any number of systems
    baseline: a run_id that the others are compared with; all pairs without
    measures: names or objects; all that the table has without
    test: t, wilcoxon, fisher, bootstrap, tukey, randomized-tukey; one or several
    by: columns of the scores or the attributes; their values become segments beside ``all``
    attributes: query_id and these columns
    options: of `Options`, such as ``correction="bh"``, ``detect=0.01``

    Runs at once: two passes over the scores (names and counts, then sums for all pairs at once);
    what comes to the driver grows with systems, measures and replicates, not with queries, but for
    ``interval="bca"`` and ``"percentile"``. delta is candidate less baseline. A query without a
    defined value in both is dropped and counted. p_value is null, with a note, where there are
    fewer than two queries or all differences are alike.

    Raises:
        UsageError: for names or options that do not exist.
        InputError: E171 where there is nothing to compare; E170 for a query that is twice in a run.
    """
    found = compared(scores, baseline, measures, tests_of(test), by, attributes, Options(**options))
    session = scores.sparkSession
    return session.createDataFrame([tuple(row.values()) for row in found], COMPARISON)


def compared(
    scores: DataFrame,
    baseline: str | None,
    measures: MeasureLike | Sequence[MeasureLike] | None,
    tests: Sequence[str],
    by: Sequence[str],
    attributes: DataFrame | None,
    options: Options,
) -> list[dict[str, Any]]:
    """The rows of the comparison table."""
    if "tukey" in tests:
        scipy_stats("the tukey test")  # now, not after a pass over the scores
    table = gather.conformed(scores, [*by, "segment"])
    counts = _counts(table, measures)
    runs = tuple(sorted({run for run, _ in counts}))
    if baseline is not None and baseline not in runs:
        raise unknown("baseline", baseline, runs)
    if len(runs) < 2:
        raise InputError(
            "E171", f"there is one system only ({', '.join(runs)}): nothing to compare"
        )
    names = Names(runs, _ordered(counts, measures), wanted_pairs(runs, baseline))
    together = gather.gathered(table, names.runs, names.measures, by, attributes)
    rows = []
    for group in (
        [test for test in tests if test not in TOGETHER],
        [test for test in tests if test in TOGETHER],
    ):
        if group:
            design = _design(counts, names, group, options)
            sums = _sums(together, design, table)
            for test in group:
                own = dataclasses.replace(options, replicates=_replicates(test, options))
                extra = _found(together, sums, design, counts, test, own)
                rows += comparison(extra, names, test, own)
    if not any(row["n_pairs"] for row in rows):
        raise InputError("E171", f"the systems {', '.join(runs[:5])} share no query with a value")
    return rows


def trust(
    scores: DataFrame, measures: MeasureLike | Sequence[MeasureLike] | None, options: Options
) -> Trust:
    """Discriminative power of each measure and the agreement of their orderings.

    Collects the scores of up to MATRIX_CELLS / systems queries (those with the smallest hashes, a
    random sample); only queries with a value of every measure in every system count.
    """
    table = gather.conformed(scores)
    counts = _counts(table, measures)
    runs = tuple(sorted({run for run, _ in counts}))
    names = _ordered(counts, measures)
    if len(runs) < 3:
        raise InputError("E171", "which measure to trust is a question for three systems or more")
    design = Design(len(runs), ((0, 1),), tuple(1.0 for _ in names))
    limit = MATRIX_CELLS // len(runs)
    most = max(int(found["n"]) for found in counts.values())
    _, x = _matrix(gather.gathered(table, runs, names), design, limit if most > limit else None)
    x = x[np.isfinite(x).all(axis=(1, 2))]
    if len(x) < 2:
        raise InputError("E171", "fewer than two queries have a value in every system and measure")
    replicates = options.replicates or BOOTSTRAPS
    power, asl = [], []
    for place, name in enumerate(names):
        own = discriminative_power(x[:, place, :], options.alpha, replicates, options.seed)
        power.append(
            {
                "measure": name,
                "n_systems": len(runs),
                "n_queries": own.n_queries,
                "n_pairs": len(own.pairs),
                "share": own.share,
                "required_difference": own.required,
                "alpha": options.alpha,
                "replicates": replicates,
                "seed": options.seed,
            }
        )
        order = np.argsort(own.asl, kind="stable")
        for rank, pair in enumerate(order, 1):
            a, b = (runs[side] for side in own.pairs[pair])
            asl.append(
                {
                    "measure": name,
                    "place": rank,
                    "baseline": a,
                    "candidate": b,
                    "asl": float(own.asl[pair]),
                }
            )
    return Trust(power, asl, _agreement(names, runs, x.mean(axis=0)))


def _agreement(names: Sequence[str], runs: Sequence[str], means: Array) -> list[dict[str, Any]]:
    """Of every two measures: how alike they order the systems; equal means by name."""
    orders = [
        [runs[i] for i in sorted(range(len(runs)), key=lambda i: (-row[i], runs[i]))]
        for row in np.round(means, 12)
    ]
    return [
        {
            "measure_a": a,
            "measure_b": b,
            "tau_b": kendall_tau_b(means[i].tolist(), means[j].tolist()),
            "tau_ap": tau_ap(orders[j], orders[i]),
            "rbo": rbo(orders[i], orders[j]),
        }
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
    ]


def _counts(
    table: DataFrame, measures: MeasureLike | Sequence[MeasureLike] | None
) -> dict[tuple[str, str], dict[str, Any]]:
    """By run and measure, of the measures that are wanted: queries, with a value, largest value."""
    found = gather.inventory(table).collect()
    nulls = sum(row["n_null"] for row in found)
    if nulls:
        raise InputError("E120", f"{nulls} rows of the scores have a null run, query or measure")
    rows = {(row["run_id"], row["measure"]): row.asDict() for row in found}
    if not rows:
        raise InputError("E103", "the scores have no rows")
    there = {measure for _, measure in rows}
    if measures is not None:
        wanted = [str(measure) for measure in parse_measures(measures)]
        for name in wanted:
            if name not in there:
                raise unknown("measure of the scores", name, sorted(there))
        rows = {key: row for key, row in rows.items() if key[1] in wanted}
    return rows


def _ordered(
    counts: dict[tuple[str, str], Any], measures: MeasureLike | Sequence[MeasureLike] | None
) -> tuple[str, ...]:
    if measures is None:
        return tuple(sorted({measure for _, measure in counts}))
    return tuple(dict.fromkeys(str(measure) for measure in parse_measures(measures)))


def _design(
    counts: dict[tuple[str, str], dict[str, Any]],
    names: Names,
    tests: Sequence[str],
    options: Options,
) -> Design:
    together = tests[0] in TOGETHER
    most = max(int(row["n_defined"]) for row in counts.values())
    filled = options.missing == "zero"  # pairs may then have more queries than a system has
    signs = "fisher" in tests and most <= SAMPLED and (most > ENUMERATED or filled)
    poisson = "bootstrap" in tests and options.interval == "poisson"
    if "bootstrap" in tests and not poisson and most > SAMPLED:
        raise UsageError(
            f"interval={options.interval!r} collects every query and takes {SAMPLED} at most, not "
            f"{most}; interval='poisson' scales"
        )
    design = Design(
        systems=len(names.runs),
        pairs=every_pair(names) if together else names.pairs,
        scales=tuple(_scale(counts, measure) for measure in names.measures),
        complete=together,
        missing_zero=filled,
        seed=options.seed,
        signs=_replicates("fisher", options) if signs else 0,
        weights=_replicates("bootstrap", options) if poisson else 0,
        permutations=_replicates("randomized-tukey", options) if "randomized-tukey" in tests else 0,
    )
    if design.held > MOST_HELD:
        raise UsageError(
            f"{len(design.pairs)} pairs x {design.measures} measures x the replicates of "
            f"{', '.join(tests)} take {design.held / 2**20:.0f} MB a segment (64 at most); compare "
            "against a baseline, fewer measures, or with fewer --replicates"
        )
    return design


def _replicates(test: str, options: Options) -> int:
    usual = {"fisher": SIGNS, "randomized-tukey": PERMUTATIONS}
    return options.replicates or usual.get(test, BOOTSTRAPS)


def _scale(counts: dict[tuple[str, str], dict[str, Any]], measure: str) -> float:
    """The power of two that no value of the measure exceeds: the unit of exact sums."""
    largest = max((row["largest"] or 0.0) for key, row in counts.items() if key[1] == measure)
    return 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0


def _sums(together: DataFrame, design: Design, table: DataFrame) -> dict[str, Sums]:
    try:
        rows = gather.pair_sums(together, design).collect()
    except Exception as problem:
        found = refused(problem)
        if isinstance(found, InputError) and found.code == "E170":
            keys = [name for name in KEYS if name in table.columns]
            found = InputError("E170", f"{found.message}: {checks.repeats(table, keys)}")
        raise found from problem.__cause__
    return {row["segment"]: Sums.merged(design, [bytes(row["sums"])]) for row in rows}


def _found(
    together: DataFrame,
    sums: dict[str, Sums],
    design: Design,
    counts: dict[tuple[str, str], dict[str, Any]],
    test: str,
    options: Options,
) -> Found:
    """What the test needs beside the sums."""
    ranks, values = {}, None
    if test == "wilcoxon" and max(int(row["n"]) for row in counts.values()) > SMALL:
        for row in gather.rank_sums(together, design, options.zeros).collect():
            ranks[row["segment"], row["column"]] = Ranks(
                row["positive"], row["negative"], row["ties"]
            )
    if test == "bootstrap" and options.interval != "poisson":
        if len(sums) > 1:
            raise UsageError(f"interval={options.interval!r} knows no segments; use 'poisson'")
        _, values = _matrix(together, design)
    return Found(sums, ranks, values)


def _matrix(together: DataFrame, design: Design, limit: int | None = None) -> tuple[Array, Array]:
    """Hashes and (queries, measures, systems) values, in the order of the hashes."""
    rows = gather.matrices(together, design, limit).collect()
    hashes = np.concatenate([np.frombuffer(row["hashes"], np.int64) for row in rows])
    x = np.concatenate([np.frombuffer(row["x"], float) for row in rows])
    x = x.reshape(len(hashes), design.measures, design.systems)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], x[order]
