"""The comparison table's rows: Spark adds up, the tests judge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.comparison import plan
from ndcg_spark.comparison.inventory import Counts, Measures, inventory, matrix, ordered
from ndcg_spark.comparison.options import (
    BOOTSTRAPS,
    PERMUTATIONS,
    SIGNS,
    TOGETHER,
    CompareOptions,
)
from ndcg_spark.comparison.pair_tests import ENUMERATED, SAMPLED, Ranks
from ndcg_spark.comparison.paired_kernel import SMALL, Design, Sums
from ndcg_spark.comparison.table import RANDOM, Found, Names, comparison, every_pair, wanted_pairs
from ndcg_spark.engine.running import refused
from ndcg_spark.errors import InputError, UsageError, unknown
from ndcg_spark.stats.distributions import scipy_stats
from ndcg_spark.tables import checks

KEYS = ("run_id", "query_id", "segment", "measure")
MOST_HELD = 2**26  # bytes of totals a segment: a Spark Connect message takes 128 MB


def compared(
    scores: DataFrame,
    baseline: str | None,
    measures: Measures | None,
    tests: Sequence[str],
    by: Sequence[str],
    attributes: DataFrame | None,
    options: CompareOptions,
) -> list[dict[str, Any]]:
    """The rows of the comparison table."""
    if "tukey" in tests:
        scipy_stats("the tukey test")  # now, not after a pass over the scores
    table = plan.conformed(scores, [*by, "segment"])
    counts = inventory(table, measures)
    runs = tuple(sorted({run for run, _ in counts}))
    if baseline is not None and baseline not in runs:
        raise unknown("baseline", baseline, runs)
    if len(runs) < 2:
        raise InputError(
            "E171", f"there is one system only ({', '.join(runs)}): nothing to compare"
        )
    names = Names(runs, ordered(counts, measures), wanted_pairs(runs, baseline))
    together = plan.gathered(table, names.runs, names.measures, by, attributes)
    unsized = options.replicates is None and not set(tests).isdisjoint(RANDOM)
    segments = _segments(table, by, attributes) if unsized else 1  # a pass over the scores
    rows = []
    for group in (
        [test for test in tests if test not in TOGETHER],
        [test for test in tests if test in TOGETHER],
    ):
        if group:
            families = _families(group, options, names, segments)
            design = _design(counts, names, group, options, families)
            sums = _sums(together, design, table)
            for test in group:
                own = dataclasses.replace(options, replicates=_drawn(test, design, options))
                extra = _found(together, sums, design, counts, test, own)
                rows += comparison(extra, names, test, own)
    if not any(row["n_pairs"] for row in rows):
        raise InputError("E171", f"the systems {', '.join(runs[:5])} share no query with a value")
    return rows


def _design(
    counts: Counts,
    names: Names,
    tests: Sequence[str],
    options: CompareOptions,
    families: int,
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
        signs=_replicates("fisher", options, families) if signs else 0,
        weights=_replicates("bootstrap", options, families) if poisson else 0,
        permutations=(
            _replicates("randomized-tukey", options, families) if "randomized-tukey" in tests else 0
        ),
    )
    if design.held > MOST_HELD and options.replicates is None:
        design = _smaller(design)
    if design.held > MOST_HELD:
        raise UsageError(
            f"{len(design.pairs)} pairs x {design.measures} measures x the replicates of "
            f"{', '.join(tests)} take {design.held / 2**20:.0f} MB a segment (64 at most); compare "
            "against a baseline, fewer measures, or with fewer --replicates"
        )
    return design


def _smaller(design: Design) -> Design:
    """The design with as many replicates as fit, none fewer than is usual; where they are too few
    for so many comparisons, the rows say so (`p_least`)."""
    share = 0.9 * MOST_HELD / design.held
    kinds = (("signs", SIGNS), ("weights", BOOTSTRAPS), ("permutations", PERMUTATIONS))
    drawn = {kind: getattr(design, kind) for kind, _ in kinds}
    fewer = {kind: min(drawn[kind], max(int(drawn[kind] * share), n)) for kind, n in kinds}
    return dataclasses.replace(design, **fewer)


def _replicates(test: str, options: CompareOptions, families: int) -> int:
    """As many as a corrected p far below alpha needs: 20 for each comparison and 1 / alpha."""
    usual = {"fisher": SIGNS, "randomized-tukey": PERMUTATIONS}.get(test, BOOTSTRAPS)
    return options.replicates or max(usual, math.ceil(20 * families / options.alpha))


def _drawn(test: str, design: Design, options: CompareOptions) -> int | None:
    """The replicates of a test that draws."""
    drawn = {
        "fisher": design.signs,
        "bootstrap": design.weights,
        "randomized-tukey": design.permutations,
    }
    own = drawn.get(test, 0) or options.replicates
    return own or (BOOTSTRAPS if test == "bootstrap" else None)


def _families(tests: Sequence[str], options: CompareOptions, names: Names, segments: int) -> int:
    """By how much the smallest p of such tests may be multiplied."""
    if options.correction == "none":
        return 1
    families = len(names.measures) * segments
    return families if tests[0] in TOGETHER else families * len(names.pairs)


def _segments(table: DataFrame, by: Sequence[str], attributes: DataFrame | None) -> int:
    """How many segments there will be, at most."""
    if "segment" in table.columns:
        return max(table.select("segment").distinct().count(), 1)
    if not by:
        return 1
    own = [name for name in by if name in table.columns]
    combinations = table.select(*own).distinct().count() if own else 1
    if attributes is not None:
        others = [n for n in by if n not in own and n in attributes.columns]
        combinations *= max(attributes.select(*others).distinct().count(), 1) if others else 1
    return 1 + combinations


def _scale(counts: Counts, measure: str) -> float:
    """The power of two that no value of the measure exceeds: the unit of exact sums."""
    largest = max((row["largest"] or 0.0) for key, row in counts.items() if key[1] == measure)
    # 2^1024 is not a double; below 2^-980 the unit would be none
    return 2.0 ** min(max(math.ceil(math.log2(largest)), -980), 1023) if largest else 1.0


def _sums(together: DataFrame, design: Design, table: DataFrame) -> dict[str, Sums]:
    try:
        rows = plan.pair_sums(together, design).collect()
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
    counts: Counts,
    test: str,
    options: CompareOptions,
) -> Found:
    """What the test needs beside the sums."""
    ranks, values = {}, None
    if test == "wilcoxon" and max(int(row["n"]) for row in counts.values()) > SMALL:
        for row in plan.rank_sums(together, design, options.zeros).collect():
            ranks[row["segment"], row["column"]] = Ranks(
                row["positive"], row["negative"], row["ties"]
            )
    if test == "bootstrap" and options.interval != "poisson":
        if len(sums) > 1:
            raise UsageError(f"interval={options.interval!r} knows no segments; use 'poisson'")
        _, values = matrix(together, design)
    return Found(sums, ranks, values)
