"""Segments: the parts of the data that a table has rows for, ``all``, ``country=DE|device=tv``."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

ALL, WEIGHTED = "all", "weighted"


def segment_text(by: Sequence[str]) -> Column:
    """The name of a row's segment, ``bucket=head|country=de``; a null value is ``null``."""
    parts: list[Column] = []
    for name in by:
        value = F.coalesce(F.col(name).cast("string"), F.lit("null"))
        parts += [F.lit(f"|{name}=" if parts else f"{name}="), value]
    return F.concat(*parts)
