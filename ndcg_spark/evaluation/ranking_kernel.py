"""Who was ranked where: every list sorted in memory, ties by document only where they matter.

One total order for all measures: the score, then the document id by its UTF-8 bytes (an integer by
its decimal text). A NaN score counts as null and comes last; -0.0 equals 0.0.
"""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.keys import dense_ranks, order_keys, sorted_within
from ndcg_spark.arrays.ragged import Ragged, ranges
from ndcg_spark.measures import Policies
from ndcg_spark.measures.batch import Ints, Mask


class Ranking:
    """The places of every list's documents.

    order:  entries in their order, ties in no order
    first, size: of each tie group, its first place in `order` and how many share the score
    group:  the tie group at each place
    """

    def __init__(self, listed: Ragged, policies: Policies) -> None:
        self._listed, self._policies = listed, policies
        keys = place_keys(listed, policies.descending)[listed.order]
        self.order = sorted_within(keys, listed.offsets)
        ordered = keys[self.order]
        new = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]
        starts = listed.offsets[:-1]
        new[starts[starts < len(new)]] = True
        self.first = np.flatnonzero(new)
        self.size = np.diff(self.first, append=len(ordered))
        self.group = np.cumsum(new) - 1
        self._place = np.empty_like(self.order)
        self._place[self.order] = np.arange(len(self.order))

    def of(self, entries: Ints) -> Ints:
        """The place of each entry in the flat order of all lists; ties by document id."""
        place = self._place[entries]
        touched = np.zeros(len(self.size), np.bool_)
        touched[self.group[place]] = True
        groups = np.flatnonzero(touched & (self.size > 1))
        if self._policies.order_by == "rank" or not len(groups):
            return place
        tied = ranges(self.first[groups], self.size[groups])
        members = self.order[tied]
        by_text = _text_ranks(self._listed.at("doc_id", members))
        if self._policies.ties != "docid_asc":
            by_text = -by_text
        final = self._place.copy()
        final[members[np.lexsort((by_text, self.group[tied]))]] = tied
        return final[entries]

    def ranks(self, places: Ints) -> Ints:
        """1-based ranks within the lists."""
        return places - self._starts(places) + 1

    def tie_bounds(self, places: Ints) -> tuple[Ints, Ints]:
        """First rank and number of the documents that share the score at each place."""
        group = self.group[places]
        return self.first[group] - self._starts(places) + 1, self.size[group]

    def tied_across(self, cutoffs: set[int]) -> Mask:
        """Which lists have equal scores on both sides of one of these cut-offs."""
        tied = np.zeros(len(self._listed.sizes), np.bool_)
        for k in cutoffs:
            rows = np.flatnonzero(self._listed.sizes > k)
            last = self._listed.offsets[rows] + k - 1
            tied[rows] |= self.group[last] == self.group[last + 1]
        return tied

    def _starts(self, places: Ints) -> Ints:
        return self._listed.offsets[self._listed.row[self.order[places]]]


def place_keys(listed: Ragged, descending: bool) -> Ints:
    """Of every row of these columns what sorts it (`order_keys`)."""
    make = functools.partial(order_keys, listed.column("place"), descending)
    return listed.rows.made(("keys", descending), make)


def _text_ranks(ids: pa.Array) -> Ints:
    return dense_ranks(ids.cast(pa.string()) if pa.types.is_integer(ids.type) else ids)
