"""What trec_eval prints beside its numbers: the run's name and the string of relevance values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ndcg_spark.errors import UsageError
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch
from ndcg_spark.measures.counts import Count

DIGITS = "-0123456789>.<"  # place 0: unjudged; 1 to 10: grades 0 to 9; then >9, negative, else
LENGTH = 10  # signs that a double holds exactly, with their count
LONGEST = 1000


@dataclass(frozen=True, kw_only=True)
class RunId(Count, names=("RunId",), trec="runid", aggregation="none", bounded=False):
    """The name of the run, which trec_eval prints first; as a number always 0.

    >>> RunId().score(Batch.of(hits=[[]], grades=[[]]))
    array([0.])
    """

    def score(self, batch: Batch) -> Array:
        return np.zeros(len(batch))


def _length(value: float) -> int:
    if value != int(value) or not 1 <= value <= LONGEST:
        raise UsageError(f"RelString shows 1 to {LONGEST} documents, not {value}")
    return int(value)


@dataclass(frozen=True, kw_only=True)
class RelString(
    Count,
    names=("RelString",),
    trec="relstring",
    trec_cut="relstring",
    at="length",
    aggregation="none",
    bounded=False,
):
    """The relevance values of the first ten documents; as a number their digits in base 14.

    trec_eval's signs: 0 to 9, > beyond, - unjudged, . negative. `text` gives the string back. A
    number holds ten documents: a longer string is stored as several measures, of which each begins
    at its `start`, and printed as one.

    >>> RelString.text(RelString().score(Batch.of(hits=[[(1, 2), (3, 0)]], grades=[[]]))[0])
    '2-0'
    """

    start: int | None = None
    length: int = dataclasses.field(default=LENGTH, metadata={"convert": _length})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= (self.start or 1) <= self.length:
            raise UsageError(f"RelString starts at rank 1 to {self.length}, not {self.start}")

    @property
    def is_first(self) -> bool:
        return self.start in (None, 1)

    @property
    def is_last(self) -> bool:
        return self.start is None or self.start + LENGTH > self.length

    def pieces(self) -> list[Measure]:
        if self.start or self.length <= LENGTH:
            return [self]
        starts = range(1, self.length + 1, LENGTH)
        return [RelString(start=start, length=self.length) for start in starts]

    def trec_name(self) -> str:
        return f"relstring_{self.length}" if self.start else super().trec_name()

    def score(self, batch: Batch) -> Array:
        start = self.start or 1
        size = min(self.length - start + 1, LENGTH)
        near = (batch.hit_rank >= start) & (batch.hit_rank < start + size)
        label = batch.hit_label[near]
        sign = np.where(label > 9, 11, np.where(label < 0, 12, np.floor(label) + 1))
        place = (batch.hit_rank[near] - start).astype(np.float64)
        digits = batch.sum_hits(near, sign * float(len(DIGITS)) ** place)
        # the length in front, so that unjudged documents at the end are not lost
        length = np.clip(batch.n_ret - start + 1, 0, size)
        return length * float(len(DIGITS)) ** LENGTH + digits

    @staticmethod
    def text(value: float) -> str:
        """The string that a value stands for."""
        length, digits = divmod(int(value), len(DIGITS) ** LENGTH)
        return "".join(DIGITS[digits // len(DIGITS) ** i % len(DIGITS)] for i in range(length))
