"""How every click moves the propensities, and by them an estimate: its error in full.

An estimate V divides clicks by propensities that the same clicks gave. To first order
V - E V = sum over results of (worth / propensity) * (c - q) + h * (c - q), where c is whether the
result was clicked, q its chance, and h the derivative of V by the logarithms of the propensities
times the influence of that click on them. Added up by bucket of users, both terms give an error
that counts both (delta method; for em the influence is the efficient score times the inverse of the
profile curvature, for the others that of a ratio of weighted rates).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndcg_spark.clicks.position_kernel import Cells, relevance_of
from ndcg_spark.measures.batch import Array

Influence = tuple[Array, Array]


def influence(method: str, cells: Cells, propensity: Array, slopes: Array) -> Influence:
    """(slopes, documents, ranks) h, and (documents, ranks) q, of a method that compares documents.

    propensity: (ranks,), NaN where there is none
    slopes: (slopes, ranks) the derivatives of each estimate by log propensity
    """
    if method == "em":
        return _by_likelihood(cells, propensity, slopes)
    depth = cells.depth
    if method == "pivot":
        pairs = [(0, to) for to in range(1, depth)]
        reach = [slopes[:, to] for _, to in pairs]
    else:
        pairs = [(rank, rank + 1) for rank in range(depth - 1)]
        reach = [slopes[:, to:].sum(axis=1) for _, to in pairs]  # all later ranks hang on a link
    return _by_ratios(cells, pairs, reach, len(slopes))


def _by_ratios(
    cells: Cells, pairs: Sequence[tuple[int, int]], reach: Sequence[Array], n: int
) -> Influence:
    shown = np.maximum(cells.shown, 1.0)
    rate = cells.clicked / shown
    h = np.zeros((n, *cells.shown.shape))
    for (one, other), slope in zip(pairs, reach, strict=True):
        weight = np.minimum(cells.shown[:, one], cells.shown[:, other])
        totals = [float(np.sum(weight * rate[:, rank])) for rank in (one, other)]
        if min(totals) <= 0:
            continue  # no ratio was taken here
        h[:, :, one] -= slope[:, None] * weight / shown[:, one] / totals[0]
        h[:, :, other] += slope[:, None] * weight / shown[:, other] / totals[1]
    return h, rate


def _by_likelihood(cells: Cells, propensity: Array, slopes: Array) -> Influence:
    known = np.isfinite(propensity)
    shown, clicked = np.where(known, cells.shown, 0.0), np.where(known, cells.clicked, 0.0)
    useful = (np.count_nonzero(shown, axis=1) > 1) & (clicked.sum(axis=1) > 0)
    p = np.where(known, propensity, 1.0)
    q = np.zeros_like(shown)
    relevance = relevance_of(p, shown[useful], clicked[useful])
    q[useful] = np.where(shown[useful] > 0, p * relevance[:, None], 0.0)
    weight = (shown - clicked) * q / (1 - q) ** 2
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    curvature = np.diag(weight.sum(axis=0)) - (weight / total).T @ weight
    free = np.flatnonzero(known)[1:]  # rank 1 is fixed
    step = np.zeros((len(slopes), cells.depth))
    step[:, free] = np.linalg.lstsq(curvature[np.ix_(free, free)], slopes[:, free].T, rcond=None)[
        0
    ].T
    common = np.einsum("ds,gs->gd", weight / total, step)
    h = (step[:, None, :] - common[:, :, None]) / (1 - q)
    h[:, ~useful] = 0.0
    return np.where(shown > 0, h, 0.0), q


def rank_influence(shown: Array, clicked: Array, slopes: Array) -> Influence:
    """(slopes, ranks) h, and (ranks,) q, where propensities are the ranks' click rates over that of
    rank 1 (randomized, naive); shown, clicked: (ranks,)."""
    rate = clicked / np.maximum(shown, 1.0)
    h = slopes / np.maximum(clicked, 1.0)
    h[:, 0] -= slopes.sum(axis=1) / max(float(clicked[0]), 1.0)
    return h, rate
