"""Quantiles of many beta distributions at once, without scipy."""

from __future__ import annotations

import numpy as np

from ndcg_spark.measures.batch import Array

STEPS, TERMS = 200, 20_000
CLOSE = 1e-15
SHIFT = 10  # Stirling's series is exact enough from here on


def beta_quantiles(p: float, a: Array, b: Array) -> Array:
    """(n,) where the distribution functions of Beta(a, b) reach p; a and b at least 1.

    Newton's steps within a bracket that every step narrows. Relative error 1e-10.

    >>> beta_quantiles(0.05, np.array([8.0]), np.array([102.0])).round(4)
    array([0.037])
    """
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    low, high = np.zeros(a.shape), np.ones(a.shape)
    constant = _log_beta(a, b)
    x = a / (a + b)
    for _ in range(STEPS):
        log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - constant
        above = _cdfs(x, a, b, constant) - p
        low, high = np.where(above < 0, x, low), np.where(above < 0, high, x)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            step = x - above / np.exp(log_density)
        inside = (step > low) & (step < high)
        moved = np.where(inside, step, (low + high) / 2)
        if np.all(np.abs(moved - x) <= 1e-13 * x):
            return moved
        x = moved
    return x


def beta_cdfs(x: Array, a: Array, b: Array) -> Array:
    """(n,) the regularized incomplete beta functions I_x(a, b), for x inside (0, 1)."""
    return _cdfs(x, a, b, _log_beta(a, b))


def _cdfs(x: Array, a: Array, b: Array, constant: Array) -> Array:
    front = np.exp(a * np.log(x) + b * np.log1p(-x) - constant)
    left = x < (a + 1) / (a + b + 2)
    # the fraction converges fast on one side of the mean; the other is its mirror
    c, d, y = np.where(left, a, b), np.where(left, b, a), np.where(left, x, 1 - x)
    part = front * _fractions(c, d, y) / c
    return np.where(left, part, 1 - part)


def _fractions(a: Array, b: Array, x: Array) -> Array:
    """The continued fraction of the incomplete beta function (Lentz's method)."""
    c = np.ones(a.shape)
    d = 1 / (1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, TERMS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            value = value * c * d
        if np.all(np.abs(c * d - 1) < CLOSE):
            break
    return value


def _log_beta(a: Array, b: Array) -> Array:
    return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)


def _log_gamma(x: Array) -> Array:
    """The logarithm of the gamma function, by Stirling's series of a larger argument."""
    shifted = x + SHIFT
    below = sum((np.log(x + k) for k in range(SHIFT)), np.zeros(x.shape))
    inverse = 1 / shifted
    series = inverse / 12 - inverse**3 / 360 + inverse**5 / 1260 - inverse**7 / 1680
    found: Array = (
        (shifted - 0.5) * np.log(shifted) - shifted + np.log(2 * np.pi) / 2 + series - below
    )
    return found
