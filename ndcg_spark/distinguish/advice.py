"""What the curves and pairs mean for a choice of discount and cut-off, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.distinguish.verdicts import SAME, SEPARATES, UNDECIDED, has_no_limit, is_pure
from ndcg_spark.measures import nDCG
from ndcg_spark.stats.sample_size import sample_size
from ndcg_spark.theory.limits import Shares

Row = Mapping[str, Any]
NEAR_ONE = 0.9
FEW = 0.05  # share of unscored documents that is not worth a word


def advice(
    measures: Sequence[nDCG],
    curves: Sequence[Row],
    pairs: Sequence[Row],
    gains: Mapping[str, Sequence[float]],
    shares: Shares,
    counts: Mapping[str, int],
) -> list[str]:
    """Sentences for the end of a run; gains: of each ranker by rank fraction (`pooled`)."""
    last = max(row["n"] for row in curves)
    at_end = [row for row in pairs if row["n"] == last]
    queries = max((row["n_queries"] for row in at_end), default=0)
    found = [f"{queries} queries with samples of up to {last} documents."]
    unscored = counts["unscored"] / max(counts["unscored"] + counts["documents"], 1)
    if unscored > FEW:
        found.append(
            f"{unscored:.0%} of the documents are not scored by every ranker and were left out: "
            "what is left is no fair sample. Score whole candidate sets, not truncated lists."
        )
    for measure in map(str, measures):
        own = [row for row in at_end if row["measure"] == measure]
        found.append(f"{measure}: {_verdicts(own)}.")
    best = [m for m in map(str, measures) if _all(at_end, m, SEPARATES)]
    if best:
        found.append(f"Separates every pair here: {', '.join(best)}.")
    elif at_end:
        found.append("No measure separates every pair here; more queries or documents may.")
    found += _directions(at_end)
    found += [_needed(row) for row in at_end if _fixed(measures, row["measure"])]
    found += _distrust(measures, curves, gains, shares, last)
    return found


def _verdicts(rows: Sequence[Row]) -> str:
    texts = []
    for name, word in (
        (SEPARATES, "separates"),
        (SAME, "does not separate"),
        (UNDECIDED, "undecided on"),
    ):
        own = [row for row in rows if row["verdict"] == name]
        if own:
            texts.append(f"{word} {', '.join(map(_pair, own))}")
    return "; ".join(texts) or "no pair"


def ahead(row: Row) -> tuple[str, str]:
    """The pair with the ranker that is ahead first."""
    runs = (row["run_a"], row["run_b"])
    return runs[::-1] if (row["mean_gap"] or 0.0) < 0 else runs


def _pair(row: Row) -> str:
    if row["win_share"] is None:
        return f"{row['run_a']} and {row['run_b']} (no value)"
    first, second = ahead(row)
    share = row["win_share"] if first == row["run_a"] else 1 - row["win_share"]
    if row["verdict"] == SEPARATES:
        return f"{first} > {second} ({share:.0%} of queries)"
    return f"{first} and {second} ({first} ahead on {share:.0%} of queries)"


def _all(rows: Sequence[Row], measure: str, verdict: str) -> bool:
    own = [row for row in rows if row["measure"] == measure]
    return bool(own) and all(row["verdict"] == verdict for row in own)


def _directions(rows: Sequence[Row]) -> list[str]:
    """Pairs that two measures separate in opposite directions."""
    found: dict[frozenset[str], dict[str, list[str]]] = {}
    for row in rows:
        if row["verdict"] == SEPARATES:
            winner, loser = ahead(row)
            pair = frozenset((winner, loser))
            found.setdefault(pair, {}).setdefault(winner, []).append(row["measure"])
    return [
        "Better depends on the measure: "
        + "; ".join(f"{run} by {', '.join(names)}" for run, names in winners.items())
        + ". Separation is not correctness."
        for winners in found.values()
        if len(winners) > 1
    ]


def _fixed(measures: Sequence[nDCG], name: str) -> bool:
    return any(str(m) == name and isinstance(m.cutoff, int) for m in measures)


def _needed(row: Row) -> str:
    start = f"{row['measure']} of {row['run_a']} and {row['run_b']}"
    if not row["mean_gap"] or not row["sd_gap"]:
        return f"{start}: no difference to plan for."
    n = sample_size(row["sd_gap"], abs(row["mean_gap"]))
    return (
        f"{start} differs by {abs(row['mean_gap']):.4f} a query with deviation "
        f"{row['sd_gap']:.4f}: {n} queries find that in 4 of 5 experiments (two-sided t, 5 "
        f"percent); here are {row['n_queries']}."
    )


def _distrust(
    measures: Sequence[nDCG],
    curves: Sequence[Row],
    gains: Mapping[str, Sequence[float]],
    shares: Shares,
    last: int,
) -> list[str]:
    found = []
    whole = [m for m in measures if m.dis == "log2" and m.cutoff is None]
    for measure in whole:
        own = [r for r in curves if r["measure"] == str(measure) and r["n"] == last and r["mean"]]
        near = [row for row in own if row["mean"] > NEAR_ONE]
        if near:
            shown = ", ".join(
                f"{r['run_id']} {r['mean']:.3f} (corrected for chance {r['mean_cc']:.3f})"
                for r in near
                if r["mean_cc"] is not None
            )
            found.append(
                f"Distrust values near 1 under {measure}: it goes to 1 for every ranker as "
                f"documents grow, which says nothing of quality. {shown}."
            )
    fixed = [str(m) for m in measures if isinstance(m.cutoff, int)]
    rough = [str(m) for m in measures if has_no_limit(m) and str(m) not in fixed]
    pure = [run for run, own in gains.items() if own and is_pure(own[0], shares)]
    if rough:
        found.append(
            f"Distrust {', '.join(rough)}: a few documents at the top decide, and the value of one "
            "query stays random however many documents there are."
        )
    if (rough or fixed) and pure:
        found.append(
            f"The top of {', '.join(pure)} is pure (nearly every first document has the largest "
            f"gain): there {', '.join(rough + fixed)} do converge."
        )
    zipf = [str(m) for m in measures if m.dis == "zipf" or m.cutoff == "sqrt(n)"]
    if zipf:
        found.append(f"{', '.join(zipf)}: depends only on the top ranks in the long run.")
    if fixed:
        found.append(
            f"{', '.join(fixed)}: one query never settles, however many documents"
            f"{' (unless the top is pure)' if pure else ''}; only more queries help."
        )
    return found
