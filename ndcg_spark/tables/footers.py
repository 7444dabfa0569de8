"""What the footers of Parquet files say without reading them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ndcg_spark.tables.files import Files
from ndcg_spark.tables.files_kernel import opened
from ndcg_spark.tables.listing import DataFile
from ndcg_spark.tables.text_kernel import TextTable

MOST_FOOTERS, AT_ONCE = 256, 16


def most_of_one_value(files: Files, column: str) -> tuple[Any, int]:
    """A value of the contract's column, and how many rows have it at least; (None, 0) if unknown.

    Only row groups whose statistics name one value count, of the largest files: where rows are in
    order by the column, a value with very many rows fills such groups.
    """
    largest = sorted(files.listing.files, key=lambda file: -file.size)[:MOST_FOOTERS]
    found: Counter[Any] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for counts in pool.map(lambda file: _of_file(files, file, column), largest):
            found.update(counts)
    return found.most_common(1)[0] if found else (None, 0)


def _of_file(files: Files, file: DataFile, column: str) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    own = {c.name: c.own for c in files.reading.columns}.get(column, column)
    with opened(files.reading, file) as parquet:
        if isinstance(parquet, TextTable):
            return counts
        places = [
            place
            for place in range(parquet.metadata.num_columns)
            if parquet.schema.column(place).path.casefold() == own.casefold()
        ]
        for number in range(parquet.metadata.num_row_groups if places else 0):
            group = parquet.metadata.row_group(number)
            known = group.column(places[0]).statistics
            if known is not None and known.has_min_max and known.min == known.max:
                counts[known.min] += group.num_rows
    return counts
