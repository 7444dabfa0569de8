"""Differences between arms from sums per day and bucket of users: numpy and pyarrow.

Sums add up over an experiment's days exactly, in whole numbers; what one bucket adds to the error
of the cumulative difference, all its days and both arms together, is one term of its variance
(`clusters_kernel`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.clicks.clusters_kernel import FEWEST, Arm, interval, p_value, standard_error
from ndcg_spark.clicks.sums_kernel import LOW, MOST, UNIT
from ndcg_spark.errors import InputError
from ndcg_spark.measures.batch import Array, Ints
from ndcg_spark.stats.sequences import always_valid_p, half_width, planned_mixture

PAST = "past"  # the day of sums from before the experiment
PLAIN, ADJUSTED = "plain", "cuped"
CELL = ("event_date", "arm", "bucket", "n", "n_undefined", "sum_high", "sum_low")
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Design:
    """What is asked of the arms.

    baseline: the arm that the others are compared with; None: each arm's mean with 0
    smallest: arms with fewer impressions are left out
    planned: the night for which confidence sequences are narrow; None: there are none
    mixtures: of sequences that began earlier, by (segment, measure, candidate, estimate)
    """

    smallest: int
    baseline: str | None
    confidence: float = 0.95
    planned: int | None = None
    mixtures: Mapping[Key, float] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A difference after some nights; se is None where it cannot be had.

    left: degrees of freedom of its error; theta, removed: of an adjusted one, the slope and the
        share of the variance that it takes away
    """

    delta: float
    se: float | None
    left: int
    theta: float | None = None
    removed: float | None = None


def contrasts(
    batches: Iterator[pa.RecordBatch], design: Design, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Rows of DIFFERENCES of rows (segment, measure, cells[CELL]).

    Where there are cells of the day PAST, a second row of the same arms has the difference without
    what their users' past explains of it (CUPED).
    """
    for batch in batches:
        cells = batch.column("cells")
        flat, ends = cells.flatten(), cells.offsets.to_numpy()
        keys = zip(*[batch.column(k).to_pylist() for k in ("segment", "measure")], strict=True)
        rows: list[dict[str, Any]] = []
        for number, (segment, measure) in enumerate(keys):
            own = flat.slice(ends[number] - ends[0], ends[number + 1] - ends[number])
            rows += _rows(_Arms.of(own), design, segment, measure)
        yield pa.RecordBatch.from_pylist(rows, schema)


@dataclass(frozen=True)
class _Arms:
    """days: ascending; arms: by name after each of the days, and in the past; n: impressions."""

    days: Sequence[str]
    arms: Mapping[str, Sequence[Arm]]
    past: Mapping[str, Arm]
    n: Mapping[str, int]

    @classmethod
    def of(cls, cells: pa.StructArray) -> _Arms:
        dates, arms, *numbers = (cells.field(CELL.index(name)) for name in CELL)
        bucket, n, undefined, high, low = (v.to_numpy(zero_copy_only=False) for v in numbers)
        day, days = _codes(dates)
        arm, names = _codes(arms)
        shape = (len(names), len(days), int(bucket.max(initial=-1)) + 1)

        def sums(values: Ints) -> Ints:
            found = np.zeros(shape, np.int64)
            np.add.at(found, (arm, day, bucket), values)
            return found

        every, gone, tops, rest = map(sums, (n, undefined, high, low))
        own = [k for k, date in enumerate(days) if date != PAST]
        before = [k for k, date in enumerate(days) if date == PAST]

        def made(chosen: Sequence[int]) -> dict[str, list[Arm]]:
            parts = [part[:, chosen].cumsum(axis=1) for part in (every - gone, tops, rest)]
            if np.any(parts[0] > MOST):
                raise InputError(
                    "E136", f"more than {MOST} impressions of one bucket: give more --buckets"
                )
            counts, top, bottom = (part.astype(np.float64) for part in parts)
            values = (top * 2.0**LOW + bottom) * 2.0**-UNIT
            return {name: list(map(Arm, values[k], counts[k])) for k, name in enumerate(names)}

        past = {name: arms[0] for name, arms in made(before).items() if arms}
        shown = {name: int(every[k, own].sum()) for k, name in enumerate(names)}
        return cls([days[k] for k in own], made(own), past, shown)


def _codes(texts: pa.Array) -> tuple[Ints, list[str]]:
    """The place of every text among those there are, in order."""
    coded = texts.dictionary_encode()
    own = coded.dictionary.to_pylist()
    names = sorted(own)
    place = np.array([names.index(name) for name in own], np.int64)
    code: Ints = place[coded.indices.to_numpy(zero_copy_only=False)]
    return code, names


def _rows(arms: _Arms, design: Design, segment: str, measure: str) -> list[dict[str, Any]]:
    baseline = design.baseline
    if not arms.days or (baseline is not None and baseline not in arms.arms):
        return []
    rows = []
    for name, nights in arms.arms.items():
        base = None if baseline is None else arms.arms[baseline]
        fewest = min(arms.n[name], arms.n[name] if baseline is None else arms.n[baseline])
        known = nights[-1].mean is not None and (base is None or base[-1].mean is not None)
        if name == baseline or not known or fewest < design.smallest:
            continue
        for estimate in (PLAIN, ADJUSTED) if arms.past else (PLAIN,):
            past = None if estimate == PLAIN else (arms.past[name], _past(arms, baseline))
            found = [
                estimated(night, None if base is None else base[t], past)
                for t, night in enumerate(nights)
            ]
            key = (segment, measure, name, estimate)
            rows.append(
                {
                    "segment": segment,
                    "measure": measure,
                    "baseline": baseline,
                    "candidate": name,
                    "mean_baseline": None if base is None else base[-1].mean,
                    "mean_candidate": nights[-1].mean,
                    **_tested(found[-1], design.confidence),
                    "n_buckets": _used(nights[-1], None if base is None else base[-1]),
                    "first_date": arms.days[0] or None,
                    "days": len(arms.days),
                    "estimate": estimate,
                    "theta": found[-1].theta,
                    "variance_removed": found[-1].removed,
                    **_sequence(found, design, key),
                }
            )
    return rows


def _past(arms: _Arms, baseline: str | None) -> Arm | None:
    return None if baseline is None else arms.past[baseline]


def _used(arm: Arm, base: Arm | None) -> int:
    return int(np.count_nonzero(arm.counts + (0.0 if base is None else base.counts)))


def _residuals(arm: Arm, base: Arm | None) -> Array:
    return arm.residuals - (0.0 if base is None else base.residuals)


def estimated(arm: Arm, base: Arm | None, past: tuple[Arm, Arm | None] | None) -> Estimate:
    """The difference of two arms (of one from 0), or what their users' past leaves of it: delta -
    theta (past difference), theta = cov / var over buckets (Deng, Xu, Kohavi and Walker 2013)."""
    if arm.mean is None or (base is not None and base.mean is None):
        return Estimate(0.0, None, 0)
    delta = arm.mean - ((base.mean or 0.0) if base else 0.0)
    used, own = _used(arm, base), _residuals(arm, base)
    if past is None:
        return Estimate(delta, standard_error(own, used), used - 1)
    earlier = _residuals(*past)
    spread, both = float(np.sum(earlier * earlier)), float(np.sum(own * earlier))
    if not spread:
        return Estimate(delta, standard_error(own, used), used - 1)
    theta = both / spread
    rest = own - theta * earlier
    total, left = float(np.sum(own * own)), float(np.sum(rest * rest))
    delta -= theta * ((past[0].mean or 0.0) - ((past[1].mean or 0.0) if past[1] else 0.0))
    se = math.sqrt(used / (used - 2) * left) if used >= FEWEST else None
    return Estimate(delta, se, used - 2, theta, 1 - left / total if total else None)


def _tested(found: Estimate, confidence: float) -> dict[str, float | None]:
    low, high = interval(found.delta, found.se, found.left + 1, confidence)
    return {
        "delta": found.delta,
        "se": found.se,
        "ci_low": low,
        "ci_high": high,
        "t": found.delta / found.se if found.se else None,
        "p_value": p_value(found.delta, found.se, found.left + 1),
    }


def _sequence(found: Sequence[Estimate], design: Design, key: Key) -> dict[str, float | None]:
    """The confidence sequence after the last night, and the smallest p of all nights so far."""
    none = dict.fromkeys(("cs_low", "cs_high", "p_anytime", "mixture"))
    if design.planned is None:
        return none
    p, mixture = None, design.mixtures.get(key)
    for night, one in enumerate(found, 1):
        if not one.se:
            continue
        if mixture is None:
            mixture = planned_mixture(one.se**2, night, design.planned)
        own = always_valid_p(one.delta, one.se**2, mixture)
        p = own if p is None else min(p, own)
    last = found[-1]
    if mixture is None or not last.se:
        return {**none, "p_anytime": p, "mixture": mixture}
    half = half_width(last.se**2, mixture, 1 - design.confidence)
    return {
        "cs_low": last.delta - half,
        "cs_high": last.delta + half,
        "p_anytime": p,
        "mixture": mixture,
    }
