"""Confidence sequences: intervals and p-values that hold however often one looks.

The normal-mixture sequence (Robbins 1970; asymptotically valid for means with estimated variances,
and with known covariances as those of cumulative means: Waudby-Smith, Arbour, Sinha, Kennedy and
Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", 2024).
"""

from __future__ import annotations

import math

WIDTH = 6.0  # the mixture's variance over the estimate's where the sequence is nearly narrowest


def half_width(variance: float, mixture: float, alpha: float) -> float:
    """Half the width of the sequence at an estimate with this variance.

    mixture: a positive number that was fixed before any estimate was looked at
    alpha: the share of experiments in which the sequence may ever miss the truth

    >>> round(half_width(1.0, 6.0, 0.05) / 1.959964, 3)
    1.553
    """
    total = variance + mixture
    return math.sqrt(
        variance * total / mixture * (math.log(total / variance) - 2 * math.log(alpha))
    )


def always_valid_p(estimate: float, variance: float, mixture: float) -> float:
    """The smallest alpha whose sequence leaves out 0, at most 1.

    >>> round(always_valid_p(half_width(2.0, 5.0, 0.05), 2.0, 5.0), 12)
    0.05
    """
    total = variance + mixture
    exponent = estimate * estimate * mixture / (2 * variance * total)
    return min(1.0, math.sqrt(total / variance) * math.exp(-exponent))


def planned_mixture(variance: float, nights: int, planned: int) -> float:
    """The mixture for a sequence that is to be narrow at the night `planned`, from the variance
    after the first `nights` nights.

    By then the variance falls to nights / planned of it where every night brings other users, and
    hardly at all where the same come back. Which, nobody knows yet; a mixture of 6 times the
    variance that lies a fourth of the (logarithmic) way from the second to the first is at most 5
    percent wider than the best in either case.
    """
    left = min(nights / planned, 1.0)
    return WIDTH * variance * math.sqrt(math.sqrt(left))
