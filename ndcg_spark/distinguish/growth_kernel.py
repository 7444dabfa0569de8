"""nDCG of growing nested samples of every query's documents, all rankers and measures at once.

The documents of a query are put in a random order by hash, once for each sequence; the sample of
size n is the first n. A ranker's documents are sorted once; its ranking of a smaller sample is that
ranking without the documents of a later place. The ideal is one more ranker, whose score is the
gain. Values are sums over whole rows of a matrix, so that no query's depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.ragged import offsets_of
from ndcg_spark.arrays.replicates import Words, splitmix64
from ndcg_spark.errors import InputError
from ndcg_spark.measures import nDCG
from ndcg_spark.measures.batch import Array, Ints, rows_of
from ndcg_spark.measures.cutoffs import depth_at
from ndcg_spark.measures.discounts import discounts
from ndcg_spark.measures.gains import Gain

ENTRIES = 1_000_000  # documents a kernel call works on: bounds memory, not the result
BINS = 60  # of the rank fraction, geometric from 10^-3 to 1, the first one [0, 10^-3]
EDGES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, BINS)])
LARGEST = 1024.0  # gain: sums of gains are taken in units of 2^-30
GROWN = (
    "query_id string, n_docs bigint, n_unscored bigint, constant array<boolean>, "
    "n_rel array<bigint>, values array<double>, e_random array<double>, bins array<double>, "
    "level array<double>, level_count array<bigint>"
)


@dataclass(frozen=True)
class Growth:
    """What is computed: rankers, measures (all with the gain `gain`), sample sizes, sequences.

    ties: hash (equal scores stand in the random order) or mean (the mean over their orders)
    """

    runs: tuple[str, ...]
    measures: tuple[nDCG, ...]
    gain: Gain
    grid: tuple[int, ...]
    sequences: int = 1
    seed: int = 0
    ties: str = "hash"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of a query's values."""
        return self.sequences, len(self.runs), len(self.measures), len(self.grid)


@dataclass(frozen=True)
class Candidates:
    """Candidates of some queries, flat: `row` is each one's query."""

    query_id: pa.Array
    row: Ints
    hash: Words
    gain: Array
    scores: Array  # (rankers, documents)
    unscored: Ints  # (queries,) documents left out for want of a score

    @property
    def queries(self) -> int:
        return len(self.query_id)


def grow(batches: Iterator[pa.RecordBatch], growth: Growth) -> Iterator[pa.RecordBatch]:
    """GROWN, a row a query, of DOCUMENTS(query_id, hash[], label[], score_0[], …, repeats).

    values: sequences x rankers x measures x sizes, NaN where the query has too few documents or
        none relevant; e_random the same without rankers; n_rel sequences x sizes
    bins: rankers x BINS, the mean gain by rank fraction in the largest sample of the first sequence
    level, level_count: gains of that sample and how many documents have each
    """
    for batch in batches:
        sizes = batch.column("hash").value_lengths().to_numpy()
        # short queries are filled up to the largest size; a huge one is a part of its own
        part = np.cumsum(np.maximum(sizes, growth.grid[-1])) // ENTRIES
        starts = np.flatnonzero(np.diff(part, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True):
            found = _documents(batch.slice(start, end - start), growth)
            yield _grown(found, growth)


def _documents(batch: pa.RecordBatch, growth: Growth) -> Candidates:
    if np.any(batch.column("repeats").to_numpy() > 0):
        raise InputError("E132", "a ranker scores a document of a query twice")
    hashes = batch.column("hash")
    row = rows_of(offsets_of(hashes.value_lengths().to_numpy()))
    scores = np.stack(
        [batch.column(f"score_{place}").flatten().to_numpy() for place in range(len(growth.runs))]
    )
    label = batch.column("label").flatten().to_numpy()
    kept = ~np.isnan(scores).any(axis=0)
    gain = growth.gain(np.where(np.isnan(label), 0.0, label)[kept], 1.0)
    if np.any(gain > LARGEST):
        raise InputError("E114", f"a gain of {gain.max():g}; the largest allowed is {LARGEST:g}")
    return Candidates(
        batch.column("query_id"),
        row[kept],
        hashes.flatten().to_numpy().view(np.uint64)[kept],
        gain,
        scores[:, kept],
        np.bincount(row[~kept], minlength=len(hashes)),
    )


def _grown(docs: Candidates, growth: Growth) -> pa.RecordBatch:
    n = np.bincount(docs.row, minlength=docs.queries)
    shape = (docs.queries, *growth.shape)
    values, e_random = np.full(shape, np.nan), np.full((shape[0], shape[1], *shape[3:]), np.nan)
    n_rel = np.zeros((shape[0], shape[1], shape[4]), np.int64)
    bins, levels = np.full((docs.queries, len(growth.runs), BINS), np.nan), None
    for sequence in range(growth.sequences):
        sample = _Sample.of(docs, growth, sequence)
        for ranker in range(len(growth.runs)):
            dcg, found = sample.sums(sample.scores[ranker], growth.ties == "mean")
            values[:, sequence, ranker] = dcg
            if not sequence:
                bins[:, ranker] = found
        ideal, _ = sample.sums(sample.gain, False)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[:, sequence] /= ideal[:, None]
            e_random[:, sequence] = sample.random() / ideal
        n_rel[:, sequence] = sample.relevant()
        if not sequence:
            levels = sample.levels(n >= growth.grid[-1])
    few = n[:, None] < np.array(growth.grid)
    values[np.broadcast_to(few[:, None, None, None], shape)] = np.nan
    e_random[np.broadcast_to(few[:, None, None], e_random.shape)] = np.nan
    bins[n < growth.grid[-1]] = np.nan
    assert levels is not None
    constant = _constant(docs)
    columns = [
        docs.query_id.cast(pa.string()),
        pa.array(n),
        pa.array(docs.unscored),
        *(_lists(array) for array in (constant, n_rel, values, e_random, bins)),
        *levels,
    ]
    names = [part.split()[0] for part in GROWN.split(", ")]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _lists(array: Any) -> pa.Array:
    """One list a query."""
    size = array[0].size if len(array) else 0
    return pa.ListArray.from_arrays(
        pa.array(np.arange(len(array) + 1) * size, pa.int32()), pa.array(array.ravel())
    )


def _constant(docs: Candidates) -> Any:
    """(queries, rankers) whether a ranker gives all documents of a query one score."""
    found = np.empty((docs.queries, len(docs.scores)), bool)
    for ranker, score in enumerate(docs.scores):
        low, high = np.full(docs.queries, np.inf), np.full(docs.queries, -np.inf)
        np.minimum.at(low, docs.row, score)
        np.maximum.at(high, docs.row, score)
        found[:, ranker] = low >= high
    return found


@dataclass(frozen=True)
class _Sample:
    """The largest sample of every query in one sequence: columns are places in the random order.

    A query with fewer documents is filled up with worthless ones that come last everywhere; sizes
    that reach into them are set aside by the caller.
    """

    growth: Growth
    gain: Array  # (queries, places)
    scores: Array  # (rankers, queries, places)

    @classmethod
    def of(cls, docs: Candidates, growth: Growth, sequence: int) -> _Sample:
        salt = np.array([(growth.seed << 32) + sequence], np.uint64)
        key = splitmix64(docs.hash ^ splitmix64(salt))
        order = np.lexsort((docs.hash, key, docs.row))
        row = docs.row[order]
        first = np.searchsorted(row, np.arange(docs.queries))
        place = np.arange(len(row)) - first[row]
        kept = place < growth.grid[-1]
        order, row, place = order[kept], row[kept], place[kept]
        gain = np.zeros((docs.queries, growth.grid[-1]))
        gain[row, place] = docs.gain[order]
        scores = np.full((len(docs.scores), *gain.shape), -np.inf)
        scores[:, row, place] = docs.scores[:, order]
        return cls(growth, gain, scores)

    def sums(self, score: Array, average: bool) -> tuple[Array, Array]:
        """(queries, measures, sizes) DCG in the order of the score, and (queries, BINS) the mean
        gain by rank fraction of the largest sample.
        """
        growth = self.growth
        found = np.zeros((len(score), len(growth.measures), len(growth.grid)))
        order = np.argsort(-score, axis=1, kind="stable")  # equal scores keep the random order
        gain = np.take_along_axis(self.gain, order, axis=1)
        tied = np.take_along_axis(score, order, axis=1) if average else None
        bins = _binned(gain)
        for place in reversed(range(len(growth.grid))):  # each sample out of the next larger
            n = growth.grid[place]
            if n < order.shape[1]:
                kept = order < n
                order, gain = order[kept].reshape(-1, n), gain[kept].reshape(-1, n)
                tied = None if tied is None else tied[kept].reshape(-1, n)
            own = gain if tied is None else _averaged(gain, tied)
            for m, (weight, k) in enumerate(self._weights(n)):
                found[:, m, place] = (own[:, :k] * weight).sum(axis=1)
        return found, bins

    def random(self) -> Array:
        """(queries, measures, sizes) the expected DCG of a random order: the mean gain times the
        sum of discounts."""
        found = np.empty((len(self.gain), len(self.growth.measures), len(self.growth.grid)))
        for place, n in enumerate(self.growth.grid):
            mean = self.gain[:, :n].sum(axis=1) / n
            for m, (weight, _) in enumerate(self._weights(n)):
                found[:, m, place] = mean * weight.sum()
        return found

    def relevant(self) -> Ints:
        """(queries, sizes) documents with a gain."""
        some: Ints = np.cumsum(self.gain > 0, axis=1, dtype=np.int64)
        return some[:, np.array(self.growth.grid) - 1]

    def levels(self, whole: Any) -> tuple[pa.Array, pa.Array]:
        """The gains of the largest sample, and how many documents have each; of whole ones only."""
        gain = np.sort(self.gain, axis=1)
        first: Any = np.diff(gain, axis=1, prepend=-1.0) > 0
        first[~whole] = False
        row, start = np.nonzero(first)
        place = row * gain.shape[1] + start
        ends = np.where(np.diff(row, append=-1) != 0, (row + 1) * gain.shape[1], 0)
        ends[:-1] = np.where(ends[:-1] > 0, ends[:-1], place[1:])
        offsets = pa.array(offsets_of(np.bincount(row, minlength=len(gain))), pa.int32())
        return (
            pa.ListArray.from_arrays(offsets, pa.array(gain[row, start])),
            pa.ListArray.from_arrays(offsets, pa.array(ends - place)),
        )

    def _weights(self, n: int) -> Iterator[tuple[Array, int]]:
        """The discounts of each measure down to its cut-off, in samples of n."""
        for measure in self.growth.measures:
            k = min(n, int(depth_at(measure.cutoff, np.array([n]))[0]))
            yield discounts(measure.dis, np.arange(1, k + 1)), k


def _binned(gain: Array) -> Array:
    """(queries, BINS) the mean gain by rank fraction, NaN in bins without a rank."""
    n = gain.shape[1]
    place = np.searchsorted(EDGES[1:] * (1 + 1e-12), np.arange(1, n + 1) / n)
    used, starts, counts = np.unique(place, return_index=True, return_counts=True)
    found = np.full((len(gain), BINS), np.nan)
    found[:, used] = np.add.reduceat(gain, starts, axis=1) / counts
    return found


def _averaged(gain: Array, score: Array) -> Array:
    """The gains with those of equal scores replaced by their mean: the mean over their orders."""
    first: Any = np.ones(gain.shape, bool)
    first[:, 1:] = score[:, 1:] != score[:, :-1]
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=gain.size)
    means = np.add.reduceat(gain.ravel(), starts) / sizes
    return np.repeat(means, sizes).reshape(gain.shape)
