"""The position-based model fitted by maximum likelihood, and whether its ranks can be compared.

P(click) = propensity(rank) * relevance(document). Only documents that were clicked and shown at two
ranks or more say anything of propensities; their counts by rank are all that is read. A document's
relevance is fitted to every vector of propensities anew (the profile likelihood), whose gradient
and curvature in the logarithms of the propensities are sums over documents, so that Newton's steps
converge in about ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.ragged import offsets_of
from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of

PACKED = "hashes binary, shown binary, clicked binary"
CLOSE = 1e-9  # what the log likelihood may still gain at the end
EDGE = 1e-9  # a click is never certain
INNER = 60  # steps of the relevance, safeguarded by bisection


@dataclass(frozen=True)
class Cells:
    """(documents, ranks) impressions and clicks of the documents that say something; hashes:
    (documents,) which they are."""

    shown: Array
    clicked: Array
    hashes: Ints | None = None

    @property
    def depth(self) -> int:
        return int(self.shown.shape[1])

    @classmethod
    def of(cls, packed: Sequence[tuple[bytes, bytes, bytes]], depth: int) -> Cells:
        """From rows of PACKED, in the order of the documents' hashes."""
        parts = [[np.frombuffer(part, np.int64) for part in row] for row in packed]
        if not parts:
            return cls(np.zeros((0, depth)), np.zeros((0, depth)))
        hashes, shown, clicked = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(hashes, kind="stable")
        shown, clicked = (x.reshape(-1, depth)[order] for x in (shown, clicked))
        return cls(shown.astype(np.float64), clicked.astype(np.float64), hashes[order])


def pack_cells(batches: Iterator[pa.RecordBatch], depth: int) -> Iterator[pa.RecordBatch]:
    """Rows of PACKED of (hash, cells[(rank, n_impressions, n_clicks)]), a row a document."""
    for batch in batches:
        cells = batch.column("cells")
        row = rows_of(offsets_of(cells.value_lengths().to_numpy(zero_copy_only=False)))
        flat = cells.flatten()
        rank = flat.field("rank").to_numpy() - 1
        shown, clicked = np.zeros((2, batch.num_rows, depth), np.int64)
        shown[row, rank] = flat.field("n_impressions").to_numpy()
        clicked[row, rank] = flat.field("n_clicks").to_numpy()
        kept = (np.count_nonzero(shown, axis=1) > 1) & (clicked.sum(axis=1) > 0)
        arrays = (batch.column("hash").to_numpy()[kept], shown[kept], clicked[kept])
        columns = [pa.array([np.ascontiguousarray(x).tobytes()], pa.binary()) for x in arrays]
        names = [part.split()[0] for part in PACKED.split(", ")]
        yield pa.RecordBatch.from_arrays(columns, names=names)


@dataclass(frozen=True)
class Links:
    """Which ranks can be compared with rank 1, over chains of documents shown at both.

    linked: (ranks,) whether such a chain leads there
    documents: (ranks,) clicked documents that were shown here and at another linked rank
    """

    linked: Mask
    documents: Ints

    @classmethod
    def of(cls, cells: Cells) -> Links:
        there = (cells.shown > 0).astype(np.float64)
        shared = there.T @ there > 0
        linked = np.zeros(cells.depth, np.bool_)
        linked[0] = True
        for _ in range(cells.depth):
            linked |= shared[linked].any(axis=0)
        among = (cells.shown[:, linked] > 0).sum(axis=1)
        others = among[:, None] - ((cells.shown > 0) & linked)
        documents = ((cells.shown > 0) & (others > 0)).sum(axis=0)
        return cls(linked, np.where(linked, documents, 0))

    @property
    def varies(self) -> bool:
        return bool(self.linked[1:].any())


@dataclass(frozen=True)
class Fit:
    """Propensities by rank, NaN where a rank is not linked; and how the fit ended.

    gain: what the log likelihood would still gain by another step, half of Newton's decrement
    """

    propensities: Array
    steps: int
    gain: float
    log_likelihood: float

    @property
    def converged(self) -> bool:
        return self.gain <= CLOSE


def fitted(cells: Cells, most_steps: int = 50) -> Fit:
    """The propensities of the greatest likelihood, rank 1 having 1."""
    linked = Links.of(cells).linked
    shown, clicked = cells.shown[:, linked], cells.clicked[:, linked]
    several = (np.count_nonzero(shown, axis=1) > 1) & (clicked.sum(axis=1) > 0)
    shown, clicked = shown[several], clicked[several]
    log_p = np.log(_start(shown, clicked))
    value, gradient, curvature = _profile(log_p, shown, clicked)
    gain, steps = math.inf, 0
    while steps < most_steps:
        step = np.zeros_like(log_p)
        step[1:] = np.linalg.lstsq(curvature[1:, 1:], gradient[1:], rcond=None)[0]
        gain = float(gradient @ step) / 2
        if gain <= CLOSE:
            break
        size = min(1.0, 1.0 / float(np.abs(step).max()))  # at most a factor of e at once
        for _ in range(40):
            trial = log_p + size * step
            found = _profile(trial, shown, clicked)
            if found[0] > value - CLOSE:
                break
            size /= 2
        log_p, (value, gradient, curvature) = trial, found
        steps += 1
    propensities = np.full(cells.depth, np.nan)
    propensities[linked] = np.exp(log_p)
    return Fit(propensities, steps, max(gain, 0.0), value)


def _start(shown: Array, clicked: Array) -> Array:
    """The click rates of the ranks, over that of rank 1: what the data say before any model."""
    rates = (clicked.sum(axis=0) + 0.5) / (shown.sum(axis=0) + 1.0)
    start: Array = np.clip(rates / rates[0], 1e-3, 1.0)
    return start


def relevance_of(propensity: Array, shown: Array, clicked: Array) -> Array:
    """(documents,) the relevance that fits each document's clicks best, given the propensities.

    Only its product with the propensities of its ranks is kept below 1.
    """
    total = clicked.sum(axis=1)
    highest = np.where(shown > 0, propensity, 0.0).max(axis=1, initial=EDGE)
    low = np.full(len(shown), -50.0)
    high = np.log(np.minimum((1 - EDGE) / highest, 1 / EDGE))
    missed = shown - clicked
    log = np.clip(np.log(total / np.maximum((shown * propensity).sum(axis=1), EDGE)), low, high)
    for _ in range(INNER):
        chance = _chances(propensity, np.exp(log), shown)
        odds = chance / (1 - chance)
        slope = total - (missed * odds).sum(axis=1)  # falls as the relevance grows
        low, high = np.where(slope > 0, log, low), np.where(slope > 0, high, log)
        bend = (missed * odds / (1 - chance)).sum(axis=1)
        trial = log + slope / np.maximum(bend, 1e-300)
        inside = (trial > low) & (trial < high)
        new = np.where(inside, trial, (low + high) / 2)
        moved, log = np.abs(new - log).max(initial=0.0), new
        if moved < 1e-13:
            break
    relevance: Array = np.exp(log)
    return relevance


def _chances(propensity: Array, relevance: Array, shown: Array) -> Array:
    """(documents, ranks) chances of a click; one half, which changes nothing, where never shown."""
    return np.where(shown > 0, propensity * relevance[:, None], 0.5)


def _profile(log_p: Array, shown: Array, clicked: Array) -> tuple[float, Array, Array]:
    """The log likelihood, its gradient by log propensity, and its negative curvature."""
    propensity = np.exp(log_p)
    relevance = relevance_of(propensity, shown, clicked)
    chance = _chances(propensity, relevance, shown)
    missed = shown - clicked
    value = float(np.sum(clicked * np.log(chance)) + np.sum(missed * np.log1p(-chance)))
    gradient = np.sum(clicked - missed * chance / (1 - chance), axis=0)
    weight = missed * chance / (1 - chance) ** 2
    total = np.maximum(weight.sum(axis=1), 1e-300)
    curvature = np.diag(weight.sum(axis=0)) - (weight / total[:, None]).T @ weight
    return value, gradient, curvature
