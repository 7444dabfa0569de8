"""Made-up documents whose limits are known, or shaped as the paper's click log.

Everything is a hash of seed, query, document and purpose: the same on any engine and partitioning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.ragged import offsets_of
from ndcg_spark.arrays.replicates import Words, splitmix64
from ndcg_spark.distinguish.growth_kernel import ENTRIES
from ndcg_spark.measures.batch import Array, Ints

RUNS = ("A", "B", "random")
RELEVANT = 0.3  # share of relevant documents of the power family
POWERS = (2, 1, 0)  # y(s) = q s^m: the chance to be relevant at rank fraction 1 - s
# of log clicks: 2.2 percent of documents have more than 1,000 clicks, 18.3 percent 100 to 1,000
CLICKS = (3.0107, 1.9350)  # mean and deviation
FARTHEST = 100.0  # beyond every other score
SKILL = (0.75, 0.45, 0.0)  # correlation of a ranker with the log clicks that it can tell apart
KNOWN = 1.0  # log clicks (in deviations) beyond which no ranker tells documents apart
SHARED = 0.5  # share of the rankers' errors that they have in common
# Share of the documents that a ranker puts on top whatever they are worth. The property that makes
# a random order as good as the others under 2^-r, as the paper reports: a top no purer than the
# rest. Without it the tops are .42 and .29 pure, and the random order's .10.
FOOLED = 0.01


def documents(
    batches: Iterator[pa.RecordBatch], kind: str, size: int, seed: int, thresholds: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """DOCUMENTS of `size` documents for each query number in the column ``id``."""
    for batch in batches:
        numbers = batch.column("id").to_numpy()
        some = max(ENTRIES // size, 1)
        for start in range(0, len(numbers), some):
            own = numbers[start : start + some]
            yield _documents(own, kind, size, seed, thresholds)


def _documents(
    numbers: Ints, kind: str, size: int, seed: int, thresholds: Sequence[int]
) -> pa.RecordBatch:
    start: Words = splitmix64(np.array([seed], np.uint64))
    query: Words = splitmix64(numbers.astype(np.uint64) ^ start)
    places: Words = np.arange(size, dtype=np.uint64)
    base: Words = np.add.outer(query, places).ravel()
    make = _power if kind == "power" else _clicked
    label, scores = make(base, thresholds)
    offsets = pa.array(offsets_of(np.full(len(numbers), size)), pa.int32())
    lists = {
        "hash": _words(base, 0).view(np.int64),
        "label": label,
        **{f"score_{place}": score for place, score in enumerate(scores)},
    }
    columns = {
        name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in lists.items()
    }
    names = pa.array([f"q{number:06d}" for number in numbers.tolist()])
    repeats = pa.array(np.zeros(len(numbers), np.int64))
    return pa.RecordBatch.from_pydict({"query_id": names, **columns, "repeats": repeats})


def _words(base: Words, purpose: int) -> Words:
    return splitmix64(base ^ splitmix64(np.array([0x5EED0000 + purpose], np.uint64)))


def _uniform(base: Words, purpose: int) -> Array:
    """Uniform on (0, 1)."""
    return ((_words(base, purpose) >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def _normal(base: Words, purpose: int) -> Array:
    """Standard normal, by Box and Muller."""
    radius = np.sqrt(-2 * np.log(_uniform(base, purpose)))
    found: Array = radius * np.cos(2 * np.pi * _uniform(base, purpose + 1))
    return found


def _power(base: Words, thresholds: Sequence[int]) -> tuple[Array, list[Array]]:
    """Labels with P(Y = 1) = p, and scores with y(s) = p (m + 1) s^m, drawn given the label."""
    label = (_uniform(base, 1) < RELEVANT).astype(float)
    scores = []
    for place, m in enumerate(POWERS):
        u = _uniform(base, 10 + place)
        good = u ** (1 / (m + 1))
        bad = u.copy()
        for _ in range(15 if m else 0):  # Newton: s - p s^(m + 1) = (1 - p) u
            value = bad - RELEVANT * bad ** (m + 1) - (1 - RELEVANT) * u
            bad = np.clip(bad - value / (1 - RELEVANT * (m + 1) * bad**m), 0.0, 1.0)
        scores.append(np.where(label > 0, good, bad))
    return label, scores


def _clicked(base: Words, thresholds: Sequence[int]) -> tuple[Array, list[Array]]:
    """Labels of log-normal clicks, and scores that know of them to a different degree."""
    hidden = _normal(base, 1)
    clicks = np.exp(CLICKS[0] + CLICKS[1] * hidden)
    shared = _normal(base, 20)
    scores = []
    for place, skill in enumerate(SKILL):
        own = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * _normal(base, 30 + 10 * place)
        error = _normal(base, 30 + 10 * place) if skill == 0 else own
        score = skill * np.minimum(hidden, KNOWN) + np.sqrt(1 - skill**2) * error
        u = _uniform(base, 60 + 10 * place)  # apart from the others, so that tops are independent
        scores.append(np.where((u < FOOLED) & (skill > 0), FARTHEST + u, score))
    return click_labels(np.floor(clicks), thresholds), scores


def click_labels(clicks: Array, thresholds: Sequence[int]) -> Array:
    """Labels 0, 1, 2, …: 1 from the first threshold on, 2 above the second, and so on."""
    label = (clicks >= thresholds[0]).astype(float)
    for threshold in thresholds[1:]:
        label += clicks > threshold
    return label
