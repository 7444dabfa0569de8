"""What equal scores leave open: means over, and bounds of, all orders that the scores allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, row_sums


class Groups(NamedTuple):
    """The tie groups that hold a hit: documents of one list with equal scores.

    of_hit: (hits,) each hit's group; row, first, size: (groups,) list, first place, documents
    """

    of_hit: Ints
    row: Ints
    first: Ints
    size: Ints


class Places(NamedTuple):
    """Every place of every group, in order: its group, its rank, and its number in the group."""

    group: Ints
    rank: Ints
    number: Ints


def groups(batch: Batch) -> Groups:
    """The batch's tie groups; without tie columns every document has its place alone."""

    def make() -> Groups:
        first = batch.hit_rank if batch.hit_first is None else batch.hit_first
        size = np.ones_like(first) if batch.hit_size is None else batch.hit_size
        new = np.ones(len(first), np.bool_)
        new[1:] = (np.diff(first) != 0) | (np.diff(batch.hit_row) != 0)
        of_hit = np.cumsum(new) - 1
        return Groups(of_hit, batch.hit_row[new], first[new], size[new])

    found: Groups = batch.memo("ties", make)
    return found


def places(found: Groups, kept: Mask) -> Places:
    """The places of the groups that are kept."""
    group = np.repeat(np.flatnonzero(kept), found.size[kept])
    start = np.cumsum(found.size[kept]) - found.size[kept]
    number = np.arange(len(group)) - np.repeat(start, found.size[kept])
    return Places(group, found.first[group] + number, number)


def mean_weights(batch: Batch, weight: Callable[[Ints, Ints], Array]) -> Array:
    """(hits,) the mean of ``weight(ranks, rows)`` over the places that a hit's score allows."""
    found = groups(batch)
    alone = found.size == 1
    means = np.zeros(len(found.row))
    means[alone] = weight(found.first[alone], found.row[alone])
    spread = places(found, ~alone)
    sums = row_sums(spread.group, weight(spread.rank, found.row[spread.group]), len(found.row))
    means[~alone] = sums[~alone] / found.size[~alone]
    return means[found.of_hit]


def count_in_groups(batch: Batch, flags: Mask) -> Ints:
    """(groups,) flagged hits in each group."""
    found = groups(batch)
    counts: Ints = np.bincount(found.of_hit[flags], minlength=len(found.row)).astype(np.int64)
    return counts


def ordered(batch: Batch, worth: Array, best: bool) -> Batch:
    """The batch in its best or worst order: within a group the worthiest hits first, or last."""
    found = groups(batch)
    order = np.lexsort((-worth, found.of_hit))
    first_hit = np.searchsorted(found.of_hit, np.arange(len(found.row)))
    number = np.arange(len(order)) - first_hit[found.of_hit[order]]
    group = found.of_hit[order]
    last = found.first + found.size - 1
    rank = found.first[group] + number if best else last[group] - number
    order = order[np.lexsort((rank, batch.hit_row[order]))]
    ranks = np.empty_like(rank)
    ranks[np.lexsort((-worth, found.of_hit))] = rank
    return dataclasses.replace(
        batch,
        hit_rank=ranks[order],
        hit_label=batch.hit_label[order],
        hit_gain=None if batch.hit_gain is None else batch.hit_gain[order],
        hit_score=None if batch.hit_score is None else batch.hit_score[order],
        hit_first=None,
        hit_size=None,
    )


def condensed(batch: Batch) -> tuple[Ints, Ints]:
    """First place and size of each hit's group once the unjudged documents are gone."""
    found = groups(batch)
    size = np.bincount(found.of_hit, minlength=len(found.row)).astype(np.int64)
    before = np.cumsum(size) - size
    first = before - batch.hit_offsets[:-1][found.row] + 1
    return first[found.of_hit], size[found.of_hit]
