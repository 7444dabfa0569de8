"""Sums of columns that do not depend on the order of their terms: arrays/whole_sums.py in SQL."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def whole_sum(
    value: Column, digits: int, wide: bool = False, times: Column | None = None
) -> Column:
    """The aggregate sum of the values in units of 2^-digits, each rounded, as a whole number.

    wide: the sum may pass 2^63: a double of the exact decimal sum
    times: how often each value counts
    """
    whole = F.round(value * F.lit(2.0**digits)).cast("decimal(38,0)" if wide else "bigint")
    found = F.sum(whole if times is None else whole * times)
    return found.cast("double") if wide else found


def exact_sum(
    value: Column, digits: int, wide: bool = False, times: Column | None = None
) -> Column:
    """The same sum in the values' own unit, as a double."""
    whole = whole_sum(value, digits, wide, times)
    return whole * F.lit(2.0**-digits) if wide else whole / F.lit(2.0**digits)


def of_parts(high: Column, low: Column, low_digits: int, digits: int) -> Column:
    """A double of a sum that is kept as high * 2^low_digits + low, in units of 2^-digits."""
    return (high * F.lit(2.0**low_digits) + low) * F.lit(2.0**-digits)
