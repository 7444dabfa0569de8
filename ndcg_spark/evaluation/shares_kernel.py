"""What documents, places and lists are worth to measures, a row of a table at a time.

Every row is a list of its own in a batch, so that a measure's own methods say it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndcg_spark.measures import Batch, cutoffs, ties
from ndcg_spark.measures.additive import PlacedMeasure
from ndcg_spark.measures.batch import Array, Ints, Mask


def threshold(measure: PlacedMeasure) -> float:
    """The grade from which on documents count for a measure's R."""
    rel = measure.threshold()
    return 1.0 if rel is None else rel


def documents(label: Array, gain: Array | None) -> Batch:
    """Judged documents, each the only one of its query, retrieved first."""
    n = len(label)
    one, offsets = np.ones(n, np.int64), np.arange(n + 1)
    return Batch(
        n_ret=one,
        hit_offsets=offsets,
        hit_rank=one,
        hit_label=label,
        hit_gain=gain,
        grade_offsets=offsets,
        grade_label=label,
        grade_count=one,
        grade_gain=gain,
    )


def lists(rank: Ints, n_ret: Ints, n_rel: Ints, spread: tuple[Ints, Ints] | None = None) -> Batch:
    """Lists of n_ret documents for queries with n_rel relevant ones, of which one is at a rank.

    spread: first place and number of the documents that share the score of the one at the rank
    """
    n = len(rank)
    offsets = np.arange(n + 1)
    highest = np.full(n, np.inf)  # relevant whatever the threshold
    return Batch(
        n_ret=n_ret,
        hit_offsets=offsets,
        hit_rank=rank,
        hit_label=highest,
        hit_first=spread[0] if spread else None,
        hit_size=spread[1] if spread else None,
        grade_offsets=offsets,
        grade_label=highest,
        grade_count=n_rel,
    )


def worths(measures: Sequence[PlacedMeasure], label: Array, gain: Array | None) -> list[Array]:
    """Per measure what each judged document is worth."""
    batch = documents(label, gain)
    return [measure.worth(batch) for measure in measures]


def defining(measures: Sequence[PlacedMeasure], label: Array, gain: Array | None) -> list[Mask]:
    """Per measure whether a document, were it judged alone, would give its query a value."""
    batch = documents(label, gain)
    found = (measure.undefined(batch) for measure in measures)
    return [np.ones(len(label), np.bool_) if none is None else ~none for none in found]


def always_defined(measure: PlacedMeasure) -> bool:
    """Whether a query without a judgement has a value."""
    none = measure.undefined(Batch.of(hits=[[]], grades=[[]]))
    return none is None or not bool(none[0])


def weights(
    measures: Sequence[PlacedMeasure],
    ranks: Sequence[Ints],
    n_ret: Ints,
    n_rel: Sequence[Ints],
    spread: tuple[Ints, Ints] | None = None,
) -> list[Array]:
    """Per measure the weight of each row's place; the mean over tied places where they are given.

    ranks, n_rel: per measure
    """
    found = []
    for measure, rank, relevant in zip(measures, ranks, n_rel, strict=True):
        if spread is None:
            batch = lists(rank, n_ret, relevant)
            found.append(measure.weight(batch, rank, np.arange(len(rank))))
        else:
            found.append(_mean_weights(measure, n_ret, relevant, spread))
    return found


def _mean_weights(
    measure: PlacedMeasure, n_ret: Ints, n_rel: Ints, spread: tuple[Ints, Ints]
) -> Array:
    """One mean for all documents of a group: its places are only looked at once."""
    different, row = np.unique(np.stack([*spread, n_ret, n_rel]), axis=1, return_inverse=True)
    first, size, length, relevant = different
    batch = lists(first, length, relevant, (first, size))
    means = ties.mean_weights(batch, lambda rank, row: measure.weight(batch, rank, row))
    return means[row.ravel()]


def ideals(measures: Sequence[PlacedMeasure], n_ret: Ints, n_rel: Sequence[Ints]) -> list[Array]:
    """Per measure what each list's sum is divided by; only where that is no ideal order's sum."""
    rank = np.ones_like(n_ret)
    return [
        np.asarray(measure.ideal(lists(rank, n_ret, relevant)), np.float64)
        for measure, relevant in zip(measures, n_rel, strict=True)
    ]


def last_places(
    measures: Sequence[PlacedMeasure], n_ret: Ints, n_rel: Sequence[Ints]
) -> list[Ints]:
    """Per measure the last rank that counts in each list."""
    rank = np.ones_like(n_ret)
    return [
        cutoffs.limits(measure.last_rank(), lists(rank, n_ret, relevant), threshold(measure))
        for measure, relevant in zip(measures, n_rel, strict=True)
    ]
