"""Sums over queries of what growth.py computed: for curves, pairs of rankers and pooled limits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.whole_sums import Totals, squares, units
from ndcg_spark.distinguish.growth_kernel import BINS, Growth
from ndcg_spark.measures.batch import Array, Ints

UNIT, COARSE = 40, 30  # binary digits of values; of corrected values and gains
FARTHEST = 2.0**30  # corrected values are cut here
WIDEST = 2.0**10  # differences of corrected values are cut here
ROWS = 2048  # queries at a time
MOMENTS = ("count", "sum", "high", "middle", "low")
GAPS = (*MOMENTS, "wins", "first_ahead", "second_ahead")  # the last three in halves
COUNTS = ("queries", "too_short", "no_relevant", "documents", "unscored")


def pairs_of(growth: Growth, baseline: str | None = None) -> list[tuple[int, int]]:
    """All pairs of rankers by name, or each other one with the baseline, as places."""
    every = range(len(growth.runs))
    if baseline is None:
        return list(itertools.combinations(every, 2))
    base = growth.runs.index(baseline)
    return [(other, base) for other in every if other != base]


class CurveSums:
    """Totals by ranker, measure and size, and by pair, measure and size.

    values, gaps: over units (a query in one sequence)
    means, corrected_gaps: over queries, of their means over sequences
    """

    def __init__(self, growth: Growth, pairs: Sequence[tuple[int, int]], fewest: int) -> None:
        self.growth, self.pairs, self.fewest = growth, list(pairs), fewest
        _, runs, measures, sizes = growth.shape
        cells = runs * measures * sizes
        self.totals = Totals(
            {
                "values": (len(MOMENTS), cells),
                "means": (len(MOMENTS), cells),
                "corrected": (2, cells),
                "gaps": (len(GAPS), len(self.pairs) * measures * sizes),
                "corrected_gaps": (len(MOMENTS), len(self.pairs) * measures * sizes),
                "bins": (2, runs * BINS),
                "counts": (1, len(COUNTS) + runs),
            }
        )

    def add(self, block: pa.RecordBatch) -> None:
        """Add up to ROWS queries of GROWN."""
        n, shape = block.num_rows, self.growth.shape
        long_enough = block.column("n_docs").to_numpy() >= self.fewest
        values = _array(block, "values").reshape(n, *shape)[long_enough]
        random = _array(block, "e_random").reshape(n, shape[0], *shape[2:])[long_enough]
        bins = _array(block, "bins").reshape(n, -1)[long_enough]
        relevant = _array(block, "n_rel").reshape(n, shape[0], -1)[long_enough]
        constant = _array(block, "constant").reshape(n, -1)[long_enough]
        unscored = block.column("n_unscored").to_numpy()
        counts = [
            len(values),
            n - len(values),
            np.count_nonzero(relevant[:, 0, -1] == 0),
            block.column("n_docs").to_numpy().sum(),
            unscored.sum(),
            *constant.sum(axis=0),
        ]
        self.totals.add("counts", np.array([counts]))
        if not len(values):
            return
        whole = units(values, UNIT)
        one_sequence = values.reshape(-1, *shape[1:])
        self.totals.add("values", _moments(one_sequence, whole))
        mean = _mean(values)
        self.totals.add("means", _moments(mean, units(mean, UNIT)))
        with np.errstate(divide="ignore", invalid="ignore"):
            corrected = (values - random[:, :, None]) / (1 - random[:, :, None])
        corrected[~(random < 1 - 1e-12)[:, :, None].repeat(shape[1], axis=2)] = np.nan
        corrected = np.clip(corrected, -FARTHEST, FARTHEST)
        one_sequence = corrected.reshape(-1, *shape[1:])
        self.totals.add("corrected", _moments(one_sequence, units(one_sequence, COARSE))[:2])
        self.totals.add("bins", _moments(bins, units(bins, COARSE))[:2])
        if self.pairs:
            self._add_gaps(values, whole)
            left, right = self._sides
            gap = np.clip(_mean(corrected[:, :, left] - corrected[:, :, right]), -WIDEST, WIDEST)
            self.totals.add("corrected_gaps", _moments(gap, units(gap, COARSE)))

    @property
    def _sides(self) -> tuple[Ints, Ints]:
        left, right = (np.array(side, np.int64) for side in zip(*self.pairs, strict=True))
        return left, right

    def _add_gaps(self, values: Array, whole: Ints) -> None:
        left, right = self._sides
        gap = whole[:, :, left] - whole[:, :, right]
        known = np.isfinite(values[:, :, left] + values[:, :, right])
        sign = np.where(known, np.sign(gap), 2)  # 2: no value, which never decides
        # the least that the ranker did at this size and all larger ones: 1 ahead, 0 level, -1
        ahead = [
            np.minimum.accumulate(own[..., ::-1], axis=-1)[..., ::-1]
            for own in (sign, np.where(known, -sign, 2))
        ]
        halves = [np.where(known, own + 1, 0) for own in (sign, *ahead)]
        cells = gap[0, 0].size
        moments = _moments(np.where(known, 0.0, np.nan).reshape(-1, cells), gap.reshape(-1, cells))
        counted = np.stack([own.reshape(-1, cells).sum(axis=0) for own in halves])
        self.totals.add("gaps", np.concatenate([moments, counted]))


def _mean(values: Array) -> Array:
    """Over sequences, the second axis; NaN where none has a value."""
    some = np.isfinite(values).sum(axis=1)
    mean: Array = np.where(some > 0, np.nansum(values, axis=1) / np.maximum(some, 1), np.nan)
    return mean


def _array(block: pa.RecordBatch, name: str) -> Any:
    return block.column(name).flatten().to_numpy(zero_copy_only=False)


def _moments(values: Array, whole: Ints) -> Ints:
    """(5, cells) how many are known, their sum, and the sums of their squares' parts."""
    known = np.isfinite(values).reshape(len(values), -1)
    flat = np.where(known, whole.reshape(len(values), -1), 0)
    terms = (known, flat, *squares(flat))
    return np.stack([term.sum(axis=0, dtype=np.int64) for term in terms])


SUMMED = pa.schema([("one", pa.int32()), ("sums", pa.binary())])


def sum_curves(
    batches: Iterator[pa.RecordBatch],
    growth: Growth,
    pairs: Sequence[tuple[int, int]],
    fewest: int,
) -> Iterator[pa.RecordBatch]:
    """One row (one, sums) of a task's GROWN."""
    found = CurveSums(growth, pairs, fewest)
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            found.add(batch.slice(start, ROWS))
    text = found.totals.numbers().tobytes()
    yield pa.RecordBatch.from_pylist([{"one": 1, "sums": text}], SUMMED)
