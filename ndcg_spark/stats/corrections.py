"""Corrections for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndcg_spark.errors import unknown

CORRECTIONS = ("holm", "bonferroni", "bh", "none")


def adjusted(p_values: Sequence[float | None], correction: str = "holm") -> list[float | None]:
    """The p-values of one family, corrected; a null one stays null and does not count.

    holm: step-down Bonferroni (Holm 1979), controls the chance of any false claim
    bonferroni: times their number
    bh: the share of false claims (Benjamini and Hochberg 1995)

    >>> adjusted([0.01, 0.04, 0.03, 0.005], "holm")
    [0.03, 0.06, 0.06, 0.02]
    >>> adjusted([0.01, 0.04, 0.03, 0.005], "bh")
    [0.02, 0.04, 0.04, 0.02]
    """
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    places = [i for i, p in enumerate(p_values) if p is not None]
    p = np.array([p_values[i] for i in places], float)
    k = len(p)
    order = np.argsort(p, kind="stable")
    if correction == "bonferroni":
        p = p * k
    elif correction == "holm":
        p[order] = np.maximum.accumulate(p[order] * np.arange(k, 0, -1))
    elif correction == "bh":
        ranked = p[order] * k / np.arange(1, k + 1)
        p[order] = np.minimum.accumulate(ranked[::-1])[::-1]
    found: list[float | None] = [None] * len(p_values)
    for place, value in zip(places, np.minimum(p, 1.0).tolist(), strict=True):
        found[place] = value
    return found
