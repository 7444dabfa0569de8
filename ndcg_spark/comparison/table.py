"""The comparison table: every pair, segment and measure by every test, corrected together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcg_spark.comparison import tukey
from ndcg_spark.comparison.carriers_kernel import NEARLY_ALL, Carriers
from ndcg_spark.comparison.options import TOGETHER, CompareOptions
from ndcg_spark.comparison.pair import Pair
from ndcg_spark.comparison.pair_tests import (
    Outcome,
    Ranks,
    corrected_effect,
    fisher,
    poisson_bootstrap,
    resampled,
    t_test,
    undecided,
    wilcoxon,
)
from ndcg_spark.comparison.paired_kernel import Sums
from ndcg_spark.measures.batch import Array
from ndcg_spark.stats.corrections import adjusted
from ndcg_spark.stats.sample_size import detectable, sample_size
from ndcg_spark.tables.segments import ALL

COMPARISON = (
    "baseline string, candidate string, segment string, measure string, n_pairs bigint, "
    "n_dropped bigint, mean_baseline double, mean_candidate double, delta double, "
    "std_delta double, ci_low double, ci_high double, test string, statistic double, "
    "p_value double, p_adjusted double, correction string, effect_size double, wins bigint, "
    "losses bigint, ties bigint, mdd double, seed bigint, relative double, "
    "effect_size_corrected double, superiority double, n_wanted bigint, replicates bigint, "
    "alpha double, p_least double, top_share double, note string"
)
FEW_TO_DRAW = 50  # queries below which a bootstrap's interval covers less than it says
MOST_DEVIATIONS = 2.0**30  # queries beyond 2^60 are no plan
RANDOM = ("fisher", "bootstrap", "randomized-tukey")


@dataclass(frozen=True)
class Names:
    """What the places of a design stand for, and which pairs were asked for."""

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Found:
    """What Spark added up for some tests: sums by segment, and what single tests need besides.

    ranks: by segment and column of the sums (wilcoxon)
    values: (queries, measures, systems) of all queries (bootstrap that collects them)
    """

    sums: Mapping[str, Sums]
    ranks: Mapping[tuple[str, int], Ranks]
    values: Array | None = None


def comparison(
    found: Found, names: Names, test: str, options: CompareOptions
) -> list[dict[str, Any]]:
    """The rows of one test, by segment, measure and pair, with their family's corrected p."""
    rows = []
    for segment in sorted(found.sums, key=lambda name: (name != ALL, name)):
        for measure, measure_name in enumerate(names.measures):
            for pair, outcome in _outcomes(found, segment, measure, names, test, options):
                row = _row(pair[1], outcome, test, options)
                base, candidate = (names.runs[place] for place in pair[0])
                ends = {"baseline": base, "candidate": candidate}
                rows.append({**ends, "segment": segment, "measure": measure_name, **row})
    _correct(rows, test, options.correction)
    order = [name.split()[0] for name in COMPARISON.split(", ")]
    return [{name: row[name] for name in order} for row in rows]


def _outcomes(
    found: Found, segment: str, measure: int, names: Names, test: str, options: CompareOptions
) -> list[tuple[tuple[tuple[int, int], Pair], Outcome]]:
    sums = found.sums[segment]
    pairs = {pair: Pair.of(sums, measure, i) for i, pair in enumerate(sums.design.pairs)}
    table = tukey.anova(pairs, sums.design.systems) if test in TOGETHER else None
    some = pairs[names.pairs[0]]
    null = tukey.ranges(some) if test == "randomized-tukey" and some.n else np.zeros(0)

    def judge(pair: Pair) -> Outcome:
        if test == "tukey":
            return tukey.tukey(pair, table, options.alpha)
        if test == "randomized-tukey":
            return tukey.randomized_tukey(pair, null, table, options.alpha)
        return undecided(pair) or _alone(pair, found, segment, measure, test, options)

    return [((pair, pairs[pair]), judge(pairs[pair])) for pair in names.pairs]


def _alone(
    pair: Pair, found: Found, segment: str, measure: int, test: str, options: CompareOptions
) -> Outcome:
    if test == "t":
        return t_test(pair, options.alpha)
    if test == "wilcoxon":
        ranks = found.ranks.get((segment, pair.column))
        return wilcoxon(pair, ranks, options.zeros, options.alpha)
    if test == "fisher":
        return fisher(pair, options.alpha)
    if options.interval == "poisson":
        return poisson_bootstrap(pair, options.alpha)
    assert found.values is not None
    assert options.replicates is not None
    base, candidate = pair.sums.design.pairs[pair.column % len(pair.sums.design.pairs)]
    d = found.values[:, measure, candidate] - found.values[:, measure, base]
    corrected = options.interval == "bca"
    d = d[np.isfinite(d)]
    return resampled(pair, d, options.alpha, options.replicates, options.seed, corrected)


def _row(pair: Pair, outcome: Outcome, test: str, options: CompareOptions) -> dict[str, Any]:
    none = pair.n - pair.wins - pair.losses
    std, alpha, power, carriers = pair.std, options.alpha, options.power, pair.carriers
    return {
        "n_pairs": pair.n,
        "n_dropped": pair.dropped,
        "mean_baseline": pair.mean_baseline,
        "mean_candidate": pair.mean_candidate,
        "delta": pair.delta,
        "std_delta": std,
        "ci_low": outcome.low,
        "ci_high": outcome.high,
        "test": test,
        "statistic": outcome.statistic,
        "p_value": outcome.p_value,
        "p_adjusted": None,
        "correction": options.correction,
        "effect_size": outcome.effect,
        "wins": pair.wins,
        "losses": pair.losses,
        "ties": none,
        "mdd": detectable(std, pair.n, alpha, power) if std else None,
        "seed": options.seed if test in RANDOM else None,
        "relative": _relative(pair),
        "effect_size_corrected": corrected_effect(pair),
        "superiority": (pair.wins + none / 2) / pair.n if pair.n else None,
        "n_wanted": _wanted(std, options),
        "replicates": outcome.replicates,
        "alpha": alpha,
        "p_least": outcome.least,
        "top_share": carriers and carriers.top_share,
        "note": "; ".join(filter(None, [outcome.note, *_rough(pair, carriers, test)])) or None,
    }


def _rough(pair: Pair, carriers: Carriers | None, test: str) -> Iterator[str]:
    """Why the interval, or p, covers less than it says (docs: how far; make simulations)."""
    if carriers and carriers.few:
        what = "p and interval" if test in ("t", "bootstrap", "tukey") else "interval"
        yield (
            f"rough {what}: {carriers.queries} of {pair.n} queries carry {NEARLY_ALL:.0%} of the "
            "squared differences"
        )
    if test == "bootstrap" and carriers and pair.n < FEW_TO_DRAW:
        yield f"the interval is short for {pair.n} queries"


def _relative(pair: Pair) -> float | None:
    if pair.delta is None or not pair.mean_baseline:
        return None
    relative = pair.delta / pair.mean_baseline
    return relative if math.isfinite(relative) else None


def _wanted(std: float | None, options: CompareOptions) -> int | None:
    if not std or not options.detect or abs(std / options.detect) > MOST_DEVIATIONS:
        return None
    return sample_size(std, options.detect, options.alpha, options.power)


def _correct(rows: list[dict[str, Any]], test: str, correction: str) -> None:
    """Correct over all rows; the tests of all systems together hold over the pairs already, so that
    only the number of measures and segments is left (bh: over all rows).
    """
    p_values = [row["p_value"] for row in rows]
    if test in TOGETHER and correction in ("holm", "bonferroni"):
        families = len({(row["segment"], row["measure"]) for row in rows})
        found = [None if p is None else min(1.0, p * families) for p in p_values]
    else:
        found = adjusted(p_values, correction)
    for row, p in zip(rows, found, strict=True):
        row["p_adjusted"] = p
    _mark_undecidable(rows, test, correction)


def _mark_undecidable(rows: list[dict[str, Any]], test: str, correction: str) -> None:
    """`p_least` becomes the smallest corrected p that a row could have; the note says where that
    is not below alpha: such a row cannot reject, whatever the data."""
    count = sum(row["p_value"] is not None for row in rows)
    if correction == "none":
        count = 1
    elif test in TOGETHER and correction in ("holm", "bonferroni"):
        count = len({(row["segment"], row["measure"]) for row in rows})
    for row in rows:
        if row["p_least"] is None:
            continue
        row["p_least"] = min(1.0, row["p_least"] * count)
        if row["p_least"] >= row["alpha"]:
            how = f"corrected p is {row['p_least']:.3g} at least, over {count} comparisons"
            row["note"] = f"undecidable: {how}; {row['note']}"


def every_pair(names: Names) -> tuple[tuple[int, int], ...]:
    """All pairs of systems, those that were asked for in the direction that was asked for."""
    return tuple(
        (b, a) if (b, a) in names.pairs else (a, b) for a, b in wanted_pairs(names.runs, None)
    )


def wanted_pairs(runs: Sequence[str], baseline: str | None) -> tuple[tuple[int, int], ...]:
    """All pairs, or each system against the baseline: places of (baseline, candidate)."""
    if baseline is None:
        return tuple((a, b) for b in range(len(runs)) for a in range(b))
    base = list(runs).index(baseline)
    return tuple((base, b) for b in range(len(runs)) if b != base)
