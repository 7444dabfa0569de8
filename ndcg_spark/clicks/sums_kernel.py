"""Click patterns (patterns_kernel.py) to sums of measures: numpy and pyarrow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.ragged import offsets_of
from ndcg_spark.arrays.whole_sums import units
from ndcg_spark.clicks.patterns_kernel import ZERO
from ndcg_spark.errors import InputError
from ndcg_spark.measures import Batch, Measure
from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of

# sums are kept in units of 2^-56, as a high part in units of 2^-20 and a low one: .45 stays .45
UNIT, LOW = 56, 36
MOST = 2**26  # impressions whose low parts add up to a 64-bit number
LARGEST = 1024.0
SUMS = ("n", "n_undefined", "sum_high", "sum_low", "sumsq_high", "sumsq_low")


def score_patterns(
    texts: Sequence[str], gains: Sequence[float], measures: Sequence[Measure]
) -> tuple[Array, Mask]:
    """(n, measures) values of the displayed lists, and where they are undefined (no click)."""
    flat = np.frombuffer("".join(texts).encode(), np.uint8).astype(np.int64) - ZERO
    sizes = np.array([len(text) for text in texts], np.int64)
    offsets = offsets_of(sizes)
    row = rows_of(offsets)
    label = np.array(gains)[flat]
    counts = np.bincount(row * len(gains) + flat, minlength=len(texts) * len(gains))
    grade = np.flatnonzero(counts)
    batch = Batch(
        n_ret=sizes,
        hit_offsets=offsets,
        hit_rank=np.arange(len(row)) - offsets[row] + 1,
        # every result was shown and so is judged; its gain is used as it stands
        hit_label=label,
        grade_offsets=offsets_of(np.bincount(grade // len(gains), minlength=len(texts))),
        grade_label=np.array(gains)[grade % len(gains)],
        grade_count=counts[grade],
        hit_gain=label,
        grade_gain=np.array(gains)[grade % len(gains)],
    )
    batch = _relevant_by_click(batch)
    values = np.empty((len(texts), len(measures)))
    undefined = np.zeros(values.shape, np.bool_)
    clickless = np.bincount(row, weights=label > 0, minlength=len(texts)) == 0
    for column, measure in enumerate(measures):
        values[:, column] = measure.score(batch)
        if measure.undefined(batch) is not None:
            undefined[:, column] = clickless
    if np.any(np.abs(values) > LARGEST):
        raise InputError("E136", f"a value beyond {LARGEST:g} cannot be summed over impressions")
    return values, undefined


def _relevant_by_click(batch: Batch) -> Batch:
    """Any gain above 0 is relevant, however small: labels below 1 count as 1."""

    def raised(label: Array) -> Array:
        return np.where((label > 0) & (label < 1), 1.0, label)

    return dataclasses.replace(
        batch, hit_label=raised(batch.hit_label), grade_label=raised(batch.grade_label)
    )


def measure_sums(
    batches: Iterator[pa.RecordBatch],
    gains: Sequence[float],
    measures: Sequence[Measure],
    keys: Sequence[str],
    clickless: str,
) -> Iterator[pa.RecordBatch]:
    """Rows (*keys, measure, *SUMS) of rows (*keys, pattern, n), added up within a batch.

    The sums are whole numbers, so that they can be added in any order: days, half days, machines.
    """
    for batch in batches:
        if not batch.num_rows:
            continue
        coded = batch.column("pattern").dictionary_encode()
        values, undefined = score_patterns(coded.dictionary.to_pylist(), gains, measures)
        code = coded.indices.to_numpy(zero_copy_only=False)
        n = batch.column("n").to_numpy(zero_copy_only=False).astype(np.int64)
        group, first = _groups([batch.column(key) for key in keys])
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        code, n = code[order], n[order]
        sums = _sums(values, undefined & (clickless == "undefined"), code, n, starts)
        chosen = pa.array(first[group[order][starts]])
        for column, measure in enumerate(measures):
            yield pa.RecordBatch.from_arrays(
                [
                    *[batch.column(key).take(chosen) for key in keys],
                    pa.array([str(measure)] * len(starts)),
                    *[pa.array(sums[part][column]) for part in SUMS],
                ],
                names=[*keys, "measure", *SUMS],
            )


def _sums(
    values: Array, undefined: Mask, code: Ints, n: Ints, starts: Ints
) -> dict[str, list[Ints]]:
    found: dict[str, list[Ints]] = {part: [] for part in SUMS}
    for column in range(values.shape[1]):
        gone = undefined[code, column]
        weight = np.where(gone, 0, n)
        found["n"].append(np.add.reduceat(n, starts))
        found["n_undefined"].append(np.add.reduceat(np.where(gone, n, 0), starts))
        value = np.where(undefined[:, column], 0.0, values[:, column])
        for name, number in (("sum", value), ("sumsq", value * value)):
            for part, whole in zip(("high", "low"), high_and_low(number), strict=True):
                found[f"{name}_{part}"].append(np.add.reduceat(whole[code] * weight, starts))
    return found


def high_and_low(values: Array) -> tuple[Ints, Ints]:
    """Values as whole numbers: in units of 2^(LOW - UNIT), and of what that leaves, in 2^-UNIT."""
    scaled = np.ldexp(values, UNIT - LOW)
    high = np.floor(scaled)
    return high.astype(np.int64), units(scaled - high, LOW)


def _groups(columns: Sequence[pa.Array]) -> tuple[Ints, Ints]:
    """The group of each row by the columns' values, numbered from 0, and a row of each group."""
    group = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        coded = column.dictionary_encode(null_encoding="encode")
        group = group * len(coded.dictionary) + coded.indices.to_numpy(zero_copy_only=False)
        # numbered anew, so that many columns do not overflow
        group = pa.array(group).dictionary_encode().indices.to_numpy(zero_copy_only=False)
        group = group.astype(np.int64)
    first = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first
