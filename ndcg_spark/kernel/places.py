"""Who was ranked where: every list sorted in memory, ties by document only where they matter.

One total order for all measures: the score, then the document id by its UTF-8 bytes (an integer by
its decimal text). A NaN score counts as null and comes last; -0.0 equals 0.0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.kernel.ragged import Ragged, ranges
from ndcg_spark.measures import Policies
from ndcg_spark.measures.batch import Array, Ints, Mask

LAST = np.iinfo(np.int64).max  # no entry at all: beyond null and NaN
_NULL = LAST - 1
_SIGN = np.int64(LAST)


class Places:
    """The places of every list's documents.

    order:  entries in their order, ties in no order
    first, size: of each tie group, its first place in `order` and how many share the score
    group:  the tie group at each place
    """

    def __init__(self, listed: Ragged, policies: Policies) -> None:
        self._listed, self._policies = listed, policies
        keys = order_keys(listed.column("place"), _descending(policies))[listed.order]
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


def order_keys(values: pa.Array, descending: bool) -> Ints:
    """Integers that ascend from best to worst as the values do; null and NaN come last."""
    if pa.types.is_decimal(values.type):
        keys = _dense_ranks(values)
    elif pa.types.is_integer(values.type):
        keys = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        numbers: Array = values.to_numpy(zero_copy_only=False).astype(np.float64)
        bits = (numbers + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
        keys = bits ^ ((bits >> 63) & _SIGN)
        values = pa.array(numbers, from_pandas=True)  # NaN becomes null
    keys = np.minimum(~keys if descending else keys, _NULL - 1)
    if values.null_count:
        keys[values.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return keys


def sorted_within(keys: Ints, offsets: Ints) -> Ints:
    """The order of the entries that sorts each list ascending.

    Lists of like length are sorted together, as the rows of a matrix.
    """
    order = np.empty(len(keys), np.int64)
    sizes = np.diff(offsets)
    doublings = np.frexp(np.maximum(sizes - 1, 0))[1]
    for doubling in np.flatnonzero(np.bincount(doublings[sizes > 0])):
        rows = np.flatnonzero((doublings == doubling) & (sizes > 0))
        start, size = offsets[rows][:, None], sizes[rows][:, None]
        column = np.arange(int(size.max()))
        inside = column < size
        entry = np.minimum(start + column, start + size - 1)
        matrix = np.where(inside, keys[entry], LAST)
        order[(start + column)[inside]] = (start + np.argsort(matrix, axis=1))[inside]
    return order


def _descending(policies: Policies) -> bool:
    return policies.order_by == "score" and policies.score_order == "descending"


def _dense_ranks(values: pa.Array) -> Ints:
    """Equal numbers for equal values, ascending with them; of any comparable type."""
    coded = values.dictionary_encode()
    rank = np.empty(len(coded.dictionary), np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
    code = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return rank[code] if len(rank) else np.zeros(len(values), np.int64)


def _text_ranks(ids: pa.Array) -> Ints:
    return _dense_ranks(ids.cast(pa.string()) if pa.types.is_integer(ids.type) else ids)
