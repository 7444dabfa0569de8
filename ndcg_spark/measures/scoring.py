"""From a batch to every measure's value: the policies first, then all measures at once."""

from __future__ import annotations

import dataclasses
import os
import traceback
import warnings
from collections.abc import Sequence

import numpy as np

from ndcg_spark.errors import DiscountWarning, InputError, UsageError
from ndcg_spark.measures import ties
from ndcg_spark.measures.base import Measure
from ndcg_spark.measures.batch import Array, Batch, Ints, Mask, counts_before
from ndcg_spark.measures.discounts import diverges
from ndcg_spark.measures.gains import gain
from ndcg_spark.measures.policies import Policies

MOST = 1000


def prepared(batch: Batch, policies: Policies) -> Batch:
    """The batch as the policies want it: negatives, depth, condensed lists (in this order)."""
    if policies.negative == "unjudged":
        batch = _without_hits(batch, batch.hit_label < 0)
        batch = _without_grades(batch, batch.grade_label < 0)
    if policies.depth is not None:
        batch = dataclasses.replace(
            _without_hits(batch, batch.hit_rank > policies.depth),
            n_ret=np.minimum(batch.n_ret, policies.depth),
        )
    if policies.judged_only:
        every = np.ones(len(batch.hit_rank), np.bool_)
        first, size = ties.condensed(batch) if policies.over_orders else (None, None)
        batch = dataclasses.replace(
            batch,
            n_ret=np.diff(batch.hit_offsets),
            hit_first=first,
            hit_size=size,
            hit_rank=counts_before(every, batch.hit_offsets),
        )
    return batch


def scores(batch: Batch, measures: Sequence[Measure], policies: Policies) -> Array:
    """(n, measures) values; NaN where `no_relevant` is skip or nan and a list has no value."""
    values = np.empty((len(batch), len(measures)))
    for column, measure in enumerate(measures):
        values[:, column] = _finite(measure, batch, policies)
        undefined = None if policies.no_relevant == "zero" else measure.undefined(batch)
        if undefined is None:
            continue
        if policies.no_relevant != "one":
            values[undefined, column] = np.nan
        elif measure.bounded:
            values[undefined, column] = 1.0
    return values


def refuse_ties(measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse measures that have no value over all orders of tied documents.

    Raises:
        UsageError: naming all of them.
    """
    if not policies.over_orders:
        return
    empty = dataclasses.replace(Batch.of([], []), hit_score=np.zeros(0))
    wanted = [
        str(m)
        for m in measures
        if (m.expected(empty) if policies.ties == "mean" else m.worth(empty)) is None
    ]
    if wanted:
        raise UsageError(
            f"ties={policies.ties!r}: no closed form for {', '.join(wanted)}; use "
            "ties='docid_desc' for them"
        )


def _finite(measure: Measure, batch: Batch, policies: Policies) -> Array:
    """The values; a number that is not finite must not become one.

    Raises:
        InputError: E114, naming the measure.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values = (_own_value if measure.is_own() else _value)(measure, batch, policies)
    wrong = ~np.isfinite(values)
    if np.any(wrong):
        raise InputError(
            "E114",
            f"{measure} of {np.count_nonzero(wrong)} list(s) is no finite number: grades, gains or "
            "max_rel are too large for its sums in double precision",
        )
    return values


def _own_value(measure: Measure, batch: Batch, policies: Policies) -> Array:
    """The values of a measure of the user's own: it may read the arrays, and must give numbers.

    Raises:
        UsageError: naming the measure and its line, or what it gave instead of (n,) numbers.
    """
    for array in vars(batch).values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    try:
        values = _value(measure, batch, policies)
    except (InputError, UsageError):
        raise
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        raise UsageError(
            f"the measure {measure} failed: {type(problem).__name__}: {problem} "
            f"({os.path.basename(where.filename)}, line {where.lineno}: {where.line})"
        ) from problem
    shape, kind = np.shape(values), getattr(np.asarray(values), "dtype", None)
    if shape != (len(batch),) or not np.issubdtype(kind, np.number) or np.iscomplexobj(values):
        raise UsageError(
            f"the measure {measure} gave an array of shape {shape} and type {kind} instead of "
            f"({len(batch)},) numbers, one for each list"
        )
    return np.asarray(values, np.float64)


def _value(measure: Measure, batch: Batch, policies: Policies) -> Array:
    if not policies.over_orders:
        return measure.score(batch)
    if policies.ties == "mean":
        mean = measure.expected(batch)
        assert mean is not None  # refuse_ties
        return mean
    worth = measure.worth(batch)
    assert worth is not None  # refuse_ties
    return measure.score(ties.ordered(batch, worth, best=policies.ties == "best"))


def _offsets(offsets: Ints, kept: Mask) -> Ints:
    return np.concatenate(([0], np.cumsum(kept)))[offsets]


def _without_hits(batch: Batch, gone: Mask) -> Batch:
    kept = ~gone
    return dataclasses.replace(
        batch,
        hit_offsets=_offsets(batch.hit_offsets, kept),
        hit_rank=batch.hit_rank[kept],
        hit_label=batch.hit_label[kept],
        hit_gain=None if batch.hit_gain is None else batch.hit_gain[kept],
        hit_first=None if batch.hit_first is None else batch.hit_first[kept],
        hit_size=None if batch.hit_size is None else batch.hit_size[kept],
        hit_score=None if batch.hit_score is None else batch.hit_score[kept],
    )


def _without_grades(batch: Batch, gone: Mask) -> Batch:
    kept = ~gone
    return dataclasses.replace(
        batch,
        grade_offsets=_offsets(batch.grade_offsets, kept),
        grade_label=batch.grade_label[kept],
        grade_count=batch.grade_count[kept],
        grade_gain=None if batch.grade_gain is None else batch.grade_gain[kept],
    )


def resolve(wanted: list[Measure], rel: float = 1.0, global_gains: object = None) -> list[Measure]:
    """The measures with the evaluation's threshold and gains where they have none of their own.

    Warns once for each discount under which one query's value does not converge.

    Raises:
        UsageError: for more than `MOST` measures: each is a value of every query.
    """
    if len(wanted) > MOST:
        raise UsageError(f"{len(wanted)} measures in one call; {MOST} are the most it takes")
    own = None if global_gains is None else gain(global_gains)
    resolved = [measure.with_defaults(rel, own) for measure in wanted]
    for name in dict.fromkeys(measure.discount() for measure in resolved):
        if diverges(name):
            warnings.warn(
                f"under the discount {name} the value of one query does not converge as lists "
                "grow; compare systems by log2 or power:b with b <= 1",
                DiscountWarning,
                stacklevel=3,
            )
    return resolved
