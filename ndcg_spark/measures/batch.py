"""A batch of ranked lists as ragged arrays: what every measure computes from."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def rows_of(offsets: Ints) -> Ints:
    """The row number of every element of a ragged array with these offsets."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def row_sums(rows: Ints, values: Array, n: int) -> Array:
    """(n,) sum of each row's values, folded in their order: no row depends on another."""
    return np.bincount(rows, weights=values, minlength=n).astype(np.float64, copy=False)


def scan(values: Array, offsets: Ints, combine: np.ufunc) -> Array:
    """The running sum or product within each row, both ends included.

    Taken in doubling steps, so that an element's value depends on its own row alone (a running
    sum over the whole array would carry the rounding of the rows before).
    """
    place = np.arange(len(values)) - np.repeat(offsets[:-1], np.diff(offsets))
    shift, longest = 1, int(np.diff(offsets).max(initial=0))
    while shift < longest:
        reach = np.flatnonzero(place >= shift)
        values = values.copy()
        values[reach] = combine(values[reach - shift], values[reach])
        shift *= 2
    return values


def counts_before(flags: Mask, offsets: Ints) -> Ints:
    """For each element, how many flags are set in its row up to and including it.

    Integer sums are exact, so a row's counts do not depend on its neighbours.
    """
    total = np.concatenate(([0], np.cumsum(flags)))
    counts: Ints = total[1:] - np.repeat(total[offsets[:-1]], np.diff(offsets))
    return counts


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """n lists (one per run and query): their judged hits in rank order and their grade histogram.

    n_ret:        (n,) documents in each list, judged or not
    hit_offsets:  (n + 1,) where each list's hits begin in the hit arrays
    hit_rank:     1-based rank of each judged document, ascending within a list
    hit_label:    its grade
    hit_gain:     gain that overrides the measure's mapping, NaN where there is none; or None
    hit_first, hit_size: first place and number of the documents that share the hit's score; or None
    hit_score:    the hit's score; or None where no measure asks for it
    grade_*:      the judgements of the list's query: distinct (grade, gain) and their count
    """

    n_ret: Ints
    hit_offsets: Ints
    hit_rank: Ints
    hit_label: Array
    grade_offsets: Ints
    grade_label: Array
    grade_count: Ints
    hit_gain: Array | None = None
    hit_first: Ints | None = None
    hit_size: Ints | None = None
    hit_score: Array | None = None
    grade_gain: Array | None = None
    # no argument: `replace` always starts with an empty one
    _memo: dict[Hashable, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        hits: Sequence[Sequence[tuple[int, float]]],
        grades: Sequence[Sequence[tuple[float, int]]],
        n_ret: Sequence[int] | None = None,
    ) -> Batch:
        """A batch from Python lists of (rank, grade) and (grade, count), for examples and tests."""
        flat_hits = [hit for row in hits for hit in row]
        flat_grades = [grade for row in grades for grade in row]
        last = [max((rank for rank, _ in row), default=0) for row in hits]
        return cls(
            n_ret=np.array(last if n_ret is None else n_ret, np.int64),
            hit_offsets=np.cumsum([0, *map(len, hits)], dtype=np.int64),
            hit_rank=np.array([rank for rank, _ in flat_hits], np.int64),
            hit_label=np.array([label for _, label in flat_hits], np.float64),
            grade_offsets=np.cumsum([0, *map(len, grades)], dtype=np.int64),
            grade_label=np.array([label for label, _ in flat_grades], np.float64),
            grade_count=np.array([count for _, count in flat_grades], np.int64),
        )

    def __len__(self) -> int:
        return len(self.n_ret)

    @functools.cached_property
    def hit_row(self) -> Ints:
        return rows_of(self.hit_offsets)

    @functools.cached_property
    def grade_row(self) -> Ints:
        return rows_of(self.grade_offsets)

    def memo(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` returns, computed once per batch: measures share intermediate arrays."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def count_hits(self, flags: Mask) -> Ints:
        """(n,) number of flagged hits of each list."""
        return np.bincount(self.hit_row[flags], minlength=len(self))

    def sum_hits(self, flags: Mask | Ints, values: Array) -> Array:
        """(n,) sum of `values` (one per flagged hit), folded in rank order within each list."""
        return row_sums(self.hit_row[flags], values, len(self))

    def relevant(self, rel: float) -> Mask:
        """Which hits have a grade of at least `rel`."""
        mask: Mask = self.memo(("relevant", rel), lambda: self.hit_label >= rel)
        return mask

    def n_rel(self, rel: float) -> Ints:
        """(n,) judged documents with a grade of at least `rel`: R."""

        def count() -> Ints:
            flags = self.grade_label >= rel
            total = np.bincount(
                self.grade_row[flags], weights=self.grade_count[flags], minlength=len(self)
            )
            return total.astype(np.int64)

        counts: Ints = self.memo(("n_rel", rel), count)
        return counts
