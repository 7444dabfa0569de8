"""Paired sums for all pairs of systems at once, exact and so independent of any order.

Values become whole numbers in units of 2^-40 of the measure's scale (a power of two that no value
exceeds); differences are whole numbers too, and every sum is taken over whole numbers: in 64 bits,
or, for the replicates, in matrix products of doubles that stay below 2^53.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays import replicates
from ndcg_spark.arrays.whole_sums import Totals, squares
from ndcg_spark.comparison.carriers_kernel import MOST_COLUMNS, SIZES, counted
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array, Ints

ROWS, CELLS = 8192, 2**22  # of a block: bounds memory, and the size of sums
DIGITS = 40  # binary digits of a value
COARSE, COARSER = 8, 24  # digits dropped of differences in replicates, and of those to be squared
TIE = 0.5e-9  # differences up to this share of the scale are ties, everywhere
TIE_UNITS = TIE * 2.0**DIGITS  # the same in units of values
SMALL = 50  # so many differences of a pair are kept as they are, for exact tests
FEATURES = ("n", "either", "wins", "losses", "x", "y", "d", "hh", "hl", "ll")
CHUNK = 128  # replicates at a time
ROWS_OF_REPLICATES = 2048  # so that their factors stay in the cache


@dataclass(frozen=True)
class Design:
    """What is compared, and which sums are wanted.

    pairs: (baseline, candidate), places among the systems
    scales: of each measure, a power of two
    complete: use only queries that every system has a value for (analysis of variance)
    missing_zero: a query that one system of a pair lacks counts as 0
    signs, weights, permutations: how many replicates of each kind
    """

    systems: int
    pairs: tuple[tuple[int, int], ...]
    scales: tuple[float, ...]
    complete: bool = False
    missing_zero: bool = False
    seed: int = 0
    signs: int = 0
    weights: int = 0
    permutations: int = 0

    @property
    def measures(self) -> int:
        return len(self.scales)

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return min(ROWS, max(CELLS // (self.measures * len(self.pairs)), 64))

    @property
    def held(self) -> int:
        """Bytes of one segment's totals, which every task holds."""
        return sum(16 * math.prod(shape) for shape in self.shapes.values())

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the totals: columns are measures x pairs (permuted: measures x systems)."""
        columns = self.measures * len(self.pairs)
        return {
            "pairs": (len(FEATURES), columns),
            "sizes": (SIZES if columns <= MOST_COLUMNS else 0, columns),
            "signs": (self.signs, columns),
            "weighted": (self.weights, columns),
            "squares": (self.weights, columns),
            "weights": (self.weights, columns),
            "permuted": (self.permutations, self.measures * self.systems),
        }


class Sums:
    """The totals of one segment: for each name of `Design.shapes` whole numbers in two parts."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.totals = Totals(design.shapes)
        columns = design.measures * len(design.pairs)
        self.kept = np.zeros(columns, np.int64)
        self.small = np.full((columns, SMALL + 1), np.nan)

    def add(self, x: Array, present: Any, hashes: replicates.Words) -> None:
        """Add up to `Design.rows` queries.

        x: (queries, measures, systems) values, NaN where undefined or absent
        present: of the same shape, whether the system has the query at all
        """
        either, valid, left, right, whole = paired_columns(x, present, self.design)
        d = right - left
        self._pairs(either, valid, left, right, d)
        self._keep(valid, d)
        self._replicates(valid, d, hashes)
        if self.design.permutations:
            self._permute(whole, hashes)

    def _pairs(self, either: Array, valid: Array, left: Ints, right: Ints, d: Ints) -> None:
        won, lost = d > TIE_UNITS, d < -TIE_UNITS
        terms = (valid, either, won, lost, left, right, d, *squares(d))
        self.totals.add("pairs", np.stack([term.sum(axis=0, dtype=np.int64) for term in terms]))
        if self.design.shapes["sizes"][0]:
            self.totals.add("sizes", counted(valid, d))

    def _keep(self, valid: Array, d: Ints) -> None:
        for column in np.flatnonzero(self.kept <= SMALL):
            found = d[valid[:, column], column][: SMALL + 1 - self.kept[column]]
            self.small[column, self.kept[column] : self.kept[column] + len(found)] = found
            self.kept[column] += len(found)

    def _replicates(self, valid: Array, d: Ints, hashes: replicates.Words) -> None:
        design = self.design
        if not (design.signs or design.weights):
            return
        coarse = np.rint(np.ldexp(d.astype(float), -COARSE))
        squared = np.rint(np.ldexp(d.astype(float), -COARSER)) ** 2
        parts = [coarse, squared] if valid.all() else [coarse, squared, valid.astype(float)]
        weighed = np.concatenate(parts, axis=1)
        for first in range(0, len(d), ROWS_OF_REPLICATES):
            rows = slice(first, first + ROWS_OF_REPLICATES)
            for start, factors in self._factors(replicates.signs, 64, design.signs, hashes[rows]):
                self.totals.add("signs", factors.T @ coarse[rows], start)
            for start, factors in self._factors(
                replicates.poisson, 4, design.weights, hashes[rows]
            ):
                sums = np.split(factors.T @ weighed[rows], len(parts), axis=1)
                if len(parts) == 2:  # every column has the same units
                    sums.append(np.broadcast_to(factors.sum(axis=0)[:, None], sums[0].shape))
                for name, total in zip(("weighted", "squares", "weights"), sums, strict=True):
                    self.totals.add(name, total, start)

    def _factors(
        self, draw: Any, per_word: int, wanted: int, hashes: replicates.Words
    ) -> Iterator[tuple[int, Array]]:
        """(units, replicates) factors, CHUNK replicates at a time, in the same memory."""
        factors = np.empty((len(hashes), CHUNK))
        for start in range(0, wanted, CHUNK):
            np.copyto(
                factors,
                draw(hashes, self.design.seed, start // per_word, CHUNK // per_word),
            )
            yield start, factors[:, : wanted - start]

    def _permute(self, whole: Ints, hashes: replicates.Words) -> None:
        for b in range(self.design.permutations):
            order = replicates.orders(hashes, self.design.seed, b, self.design.systems)
            shuffled = np.take_along_axis(whole, order[:, None, :], axis=2)
            self.totals.add("permuted", shuffled.sum(axis=0).reshape(1, -1), b)

    def pack(self) -> bytes:
        small = self.small.ravel().view(np.int64)
        return np.concatenate([self.totals.numbers(), self.kept, small]).tobytes()

    @classmethod
    def merged(cls, design: Design, packed: Sequence[bytes]) -> Sums:
        """The sum of several."""
        found = cls(design)
        for text in packed:
            numbers = found.totals.merge(np.frombuffer(text, np.int64))
            kept = numbers[: len(found.kept)]
            small = numbers[len(kept) :].view(float).reshape(found.small.shape)
            for column in np.flatnonzero(found.kept <= SMALL):
                had, more = found.kept[column], small[column, : kept[column]]
                more = more[: SMALL + 1 - had]
                found.small[column, had : had + len(more)] = more
                found.kept[column] += len(more)
        return found


def paired_columns(x: Array, present: Any, design: Design) -> tuple[Any, Any, Ints, Ints, Ints]:
    """(queries, measures x pairs): whether either system has the query, whether the pair counts,
    the baseline's and the candidate's value in units (0 where it does not); and (queries, measures,
    systems) the values of queries that all systems have.
    """
    defined: Any = np.isfinite(x)
    if design.missing_zero:
        x, defined = np.where(present, x, 0.0), defined | ~present
    scale = np.array(design.scales)[:, None]
    whole = np.rint(np.where(defined, x, 0.0) * (2.0**DIGITS / scale)).astype(np.int64)
    base, candidate = (np.array(side) for side in zip(*design.pairs, strict=True))
    either = present[:, :, base] | present[:, :, candidate]
    valid = defined[:, :, base] & defined[:, :, candidate] & either
    complete: Any = (defined.all(axis=2) & present.any(axis=2))[:, :, None]
    if design.complete:
        valid &= complete
    sides = (np.where(valid, whole[:, :, side], 0) for side in (base, candidate))
    flat = [values.reshape(len(x), -1) for values in (either, valid, *sides)]
    return flat[0], flat[1], flat[2], flat[3], np.where(complete, whole, 0)


SUMMED = pa.schema([("segment", pa.string()), ("sums", pa.binary())])


def sum_pairs(batches: Iterator[pa.RecordBatch], design: Design) -> Iterator[pa.RecordBatch]:
    """One row (segment, sums) for each segment, of rows (hash, segments, cells[], values[]).

    cell: measure * systems + system. A query twice in one system is refused (E170).
    """
    found: dict[str, Sums] = {}
    for batch in batches:
        for block in blocks_of(batch, design):
            _add_block(block, design, found)
    rows = [{"segment": segment, "sums": sums.pack()} for segment, sums in found.items()]
    yield pa.RecordBatch.from_pylist(rows, SUMMED)


def merge_sums(batches: Iterator[pa.RecordBatch], design: Design) -> Iterator[pa.RecordBatch]:
    """The sums of one segment from the list of its partial sums."""
    for batch in batches:
        rows = [
            {"segment": row["segment"], "sums": Sums.merged(design, row["sums"]).pack()}
            for row in batch.to_pylist()
        ]
        yield pa.RecordBatch.from_pylist(rows, SUMMED)


def blocks_of(batch: pa.RecordBatch, design: Design) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, design.rows):
        yield batch.slice(start, design.rows)


def _add_block(block: pa.RecordBatch, design: Design, found: dict[str, Sums]) -> None:
    x, present = matrix(block, design)
    hashes = block.column("hash").to_numpy().view(np.uint64)
    for segment, rows in segments_of(block):
        sums = found.setdefault(segment, Sums(design))
        sums.add(x[rows], present[rows], hashes[rows])


def segments_of(block: pa.RecordBatch) -> Iterator[tuple[str, Any]]:
    """Each segment of a batch and which rows are in it."""
    lists = block.column("segments")
    names = lists.flatten().dictionary_encode()
    sizes = lists.value_lengths().to_numpy()
    owner = np.repeat(np.arange(len(sizes)), sizes)
    codes = names.indices.to_numpy()
    for code, name in enumerate(names.dictionary.to_pylist()):
        rows = owner[codes == code]
        yield name, slice(None) if len(rows) == block.num_rows else rows


def matrix(block: pa.RecordBatch, design: Design) -> tuple[Array, Any]:
    """(queries, measures, systems) values, NaN where there are none, and which are there."""
    cells = block.column("cells")
    sizes = cells.value_lengths().to_numpy()
    cell, value = cells.flatten().to_numpy(), block.column("values").flatten().to_numpy()
    shape = (block.num_rows, design.measures, design.systems)
    place = np.repeat(np.arange(len(sizes)), sizes) * (shape[1] * shape[2]) + cell
    times = np.bincount(place, minlength=int(np.prod(shape)))
    if times.max(initial=0) > 1:
        raise InputError("E170", "a system has two values of one measure for the same query")
    x = np.full(len(times), np.nan)
    x[place] = value
    return x.reshape(shape), (times > 0).reshape(shape)


def pack_matrix(batches: Iterator[pa.RecordBatch], design: Design) -> Iterator[pa.RecordBatch]:
    """A batch as bytes: (queries,) hashes and (queries, measures, systems) values."""
    for batch in batches:
        x, _ = matrix(batch, design)
        hashes = batch.column("hash").to_numpy()
        yield pa.RecordBatch.from_pydict({"hashes": [hashes.tobytes()], "x": [x.tobytes()]})
