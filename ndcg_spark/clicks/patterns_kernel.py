"""Impressions to click patterns, or to single results: numpy and pyarrow.

A pattern is a displayed list with its labels, one character a place: the character c at place i
stands for the gain ``gains[ord(c) - ord("0")]``. For clicks alone it reads "0100100000".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.grouping import counted, grouped
from ndcg_spark.arrays.keys import sorted_within
from ndcg_spark.arrays.ragged import lengths, offsets_of
from ndcg_spark.errors import UsageError
from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of

ZERO = ord("0")
GRADES = 32
PROBLEMS = (None, "bad_lengths", "empty", "bad_values", "bad_positions")
Codes = npt.NDArray[np.uint8]
Problems = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Gains:
    """What events are worth: a result's gain is that of its most valuable event.

    events: gain of each event column, such as clicks 1 and bookings 5
    dwell:  (seconds, gain), ascending: a click of at least so many seconds; below the first it is
        worth nothing, and one of unknown dwell is worth the event's gain
    graded: the one event column holds grades, whole numbers from 0 to GRADES - 1, instead of counts
    """

    events: tuple[tuple[str, float], ...] = (("clicks", 1.0),)
    dwell: tuple[tuple[float, float], ...] = ()
    graded: bool = False

    def __post_init__(self) -> None:
        for name, gain in (*self.events, *self.dwell):
            if not (np.isfinite(gain) and gain >= 0):
                raise UsageError(f"the gain of {name!r} must be a finite number >= 0, not {gain}")
        if self.graded and len(self.events) != 1:
            raise UsageError("grades come from one column")
        if not self.events:
            raise UsageError("give at least one event with its gain, clicks=1")
        if list(self.dwell) != sorted(self.dwell):
            raise UsageError(f"dwell thresholds must ascend: {self.dwell}")
        if len(self.values) > 64:
            raise UsageError(f"more than 64 different gains: {self.values}")

    @property
    def values(self) -> tuple[float, ...]:
        """All gains that a result can have, ascending; the codes of a pattern count them."""
        if self.graded:
            return tuple(map(float, range(GRADES)))
        return tuple(sorted({0.0, *(g for _, g in self.events), *(g for _, g in self.dwell)}))


def patterns(
    batches: Iterable[pa.RecordBatch], gains: Gains, keys: Sequence[str] = (), clicked: bool = False
) -> Iterator[pa.RecordBatch]:
    """A row (<keys>, pattern, problem, clicked?) for each impression.

    Columns: the keys, a list for each event, and if the log knows them `ranks` (list of integers,
    or null: as they stand) and `dwell` (list of seconds, or null). `problem` is null or
    ``bad_positions`` (not 1, 2, 3, … in some order), ``bad_lengths`` (lists of different lengths),
    ``bad_values`` (a negative or missing count), ``empty``; the pattern is empty then. `clicked`:
    whether the first event's list has one, whatever else is wrong with it.
    """
    for batch in batches:
        pattern, problem = _patterns(batch, gains)
        made = {"pattern": pattern, "problem": problem}
        if clicked:
            made["clicked"] = _any(batch.column(gains.events[0][0]))
        yield pa.record_batch({**{name: batch.column(name) for name in keys}, **made})


@dataclass(frozen=True)
class PatternCounts:
    """Counts of patterns (n, n_not_shown) with equal keys, of a task's impressions."""

    gains: Gains
    keys: tuple[str, ...]
    clicked: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from counted(map(self._counts, batches), self._merged)

    def _counts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        (found,) = patterns([batch], self.gains, self.keys, self.clicked)
        return _ones(found).append_column("n_not_shown", batch.column("n_not_shown"))

    def _merged(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return grouped(rows, ("n", "n_not_shown"))


def shown(
    batches: Iterable[pa.RecordBatch], gains: Gains, keys: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """A row (<keys>, doc_id, rank, n_impressions, n_clicks, gain) for each result of people's
    impressions without a problem, whose documents are known: the columns of `patterns`, `is_bot`
    and `doc_ids`.
    """
    for batch in batches:
        kept = pc.and_(batch.column("doc_ids").is_valid(), pc.invert(batch.column("is_bot")))
        known = batch.filter(kept)
        docs = known.column("doc_ids")
        read = Read.of(known, gains, (docs,))
        good = np.flatnonzero(read.problem[read.row[read.order]] == 0)
        entries = read.order[good]
        row = read.row[entries]
        ids = (docs if read.fit.all() else docs.filter(pa.array(read.fit))).flatten()
        clicked = np.any([count > 0 for count in read.counts], axis=0)
        yield pa.record_batch(
            {
                **{name: known.column(name).take(pa.array(row)) for name in keys},
                "doc_id": ids.take(pa.array(entries)),
                "rank": pa.array((good - read.offsets[row] + 1).astype(np.int32)),
                "n_impressions": pa.array(np.ones(len(row), np.int64)),
                "n_clicks": pa.array(clicked[entries].astype(np.int64)),
                "gain": pa.array(np.array(gains.values)[read.code[entries]]),
            }
        )


@dataclass(frozen=True)
class ShownCounts:
    """Sums of `shown` with equal keys, document and rank; `gain` is the largest."""

    gains: Gains
    keys: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from counted(shown(batches, self.gains, self.keys), self._merged)

    def _merged(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return grouped(rows, ("n_impressions", "n_clicks"), ("gain",))


@dataclass(frozen=True)
class RowCounts:
    """Counts of rows (n) that are alike."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from counted(map(_ones, batches), lambda rows: grouped(rows, ("n",)))


def _ones(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with n = 1."""
    return rows.append_column("n", pa.array(np.ones(rows.num_rows, np.int64)))


def _any(lists: pa.ListArray) -> pa.Array:
    """Whether any entry of each list is above zero."""
    row = rows_of(offsets_of(lengths(lists)))
    flat = lists.flatten().fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.bincount(row[flat > 0], minlength=len(lists)) > 0)


@dataclass(frozen=True)
class Read:
    """The results of a batch of impressions, flat, those of impressions that fit.

    problem: (impressions,) a place in PROBLEMS; fit: whose lists have equal lengths
    row, offsets: the impression of every result, and where those of each begin
    order: the results in the order of their positions
    """

    problem: Problems
    fit: Mask
    offsets: Ints
    row: Ints
    counts: list[Array]
    dwell: Array | None
    code: Codes
    order: Ints

    @classmethod
    def of(cls, batch: pa.RecordBatch, gains: Gains, others: Sequence[pa.Array] = ()) -> Read:
        """others: more lists that must be as long"""
        n = batch.num_rows
        columns = [batch.column(name) for name, _ in gains.events]
        sizes = lengths(columns[0])
        problem = np.zeros(n, np.int8)
        for column in (*columns, *others):
            problem[(lengths(column) != sizes) & (sizes > 0)] = PROBLEMS.index("bad_lengths")
        ranks, seconds = (
            batch.column(name) if batch.schema.get_field_index(name) >= 0 else None
            for name in ("ranks", "dwell")
        )
        for column in (ranks, seconds):
            if column is not None:
                given = column.is_valid().to_numpy(zero_copy_only=False)
                other = lengths(column) != sizes
                problem[given & other & (sizes > 0)] = PROBLEMS.index("bad_lengths")
        problem[sizes == 0] = PROBLEMS.index("empty")
        fit = problem == 0
        sizes = np.where(fit, sizes, 0)
        offsets = offsets_of(sizes)
        row = rows_of(offsets)
        counts = [_numbers(column, fit) for column in columns]
        wrong = [~(np.isfinite(count) & (count >= 0)) for count in counts]
        if gains.graded:
            wrong += [(count != np.rint(count)) | (count >= GRADES) for count in counts]
        problem[row[np.any(wrong, axis=0)]] = PROBLEMS.index("bad_values")
        dwell = None if seconds is None else _dwell(seconds, fit, row)
        code = _codes(counts, dwell, gains)
        order = np.arange(len(row)) if ranks is None else _order(ranks, fit, offsets, row, problem)
        return cls(problem, fit, offsets, row, counts, dwell, code, order)


def _patterns(batch: pa.RecordBatch, gains: Gains) -> tuple[pa.Array, pa.Array]:
    read = Read.of(batch, gains)
    text = read.code[read.order] + np.uint8(ZERO)
    ends = pa.array(read.offsets, pa.int64()).buffers()[1]
    made = pa.LargeStringArray.from_buffers(batch.num_rows, ends, pa.py_buffer(text.tobytes()))
    names = pa.array(PROBLEMS, pa.string()).take(pa.array(read.problem))
    return pc.if_else(names.is_null(), made.cast(pa.string()), ""), names


def _numbers(column: pa.ListArray, fit: Mask) -> Array:
    """The entries of the lists that fit, as doubles; null as NaN."""
    kept = column if fit.all() else column.filter(pa.array(fit))
    flat: Array = kept.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    return flat


def _dwell(column: pa.ListArray, fit: Mask, row: Ints) -> Array | None:
    """Seconds of every result, NaN where unknown; None where no impression knows."""
    given = column.is_valid().to_numpy(zero_copy_only=False) & fit
    if not given.any():
        return None
    seconds = np.full(len(row), np.nan)
    seconds[given[row]] = _numbers(column, given)
    return seconds


def _codes(counts: Sequence[Array], dwell: Array | None, gains: Gains) -> Codes:
    if gains.graded:
        # what is no grade is counted as broken, whatever its code
        return np.clip(np.nan_to_num(counts[0]), 0, GRADES - 1).astype(np.uint8)
    if len(counts) == 1 and not gains.dwell:  # the usual: clicks
        return (counts[0] > 0).view(np.uint8) * np.uint8(len(gains.values) - 1)
    gain = np.zeros(len(counts[0]))
    for count, (_, worth) in zip(counts, gains.events, strict=True):
        gain = np.maximum(gain, np.where(count > 0, worth, 0.0))
    if dwell is not None and gains.dwell:
        steps = np.array([seconds for seconds, _ in gains.dwell])
        worths = np.array([0.0, *(worth for _, worth in gains.dwell)])
        by_dwell = worths[np.searchsorted(steps, dwell, side="right")]
        gain = np.where(np.isnan(dwell) | (gain == 0), gain, by_dwell)
    return np.searchsorted(np.array(gains.values), gain).astype(np.uint8)


def _order(ranks: pa.ListArray, fit: Mask, offsets: Ints, row: Ints, problem: Problems) -> Ints:
    """The entries in the order of their positions; notes lists whose positions are no ranking."""
    order = np.arange(len(row))
    given = ranks.is_valid().to_numpy(zero_copy_only=False) & fit
    if not given.any():
        return order
    place = order + 1
    place -= offsets[row]
    flat = ranks.flatten()
    if given.all() and not flat.null_count and np.array_equal(flat.to_numpy(), place):
        return order
    known = given[row]
    found = place.astype(np.float64)
    found[known] = _numbers(ranks, given)
    found = np.where(np.isfinite(found), found, -1)
    if not np.array_equal(found, place):
        order = sorted_within(found.astype(np.int64), offsets)
        problem[row[found[order] != place]] = PROBLEMS.index("bad_positions")
    return order
