"""The tables that jobs published, found by their names in any number of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.dataset as ds
from pyarrow import fs as pafs

from ndcg_spark.errors import InputError
from ndcg_spark.tables.paths import filesystem, located
from ndcg_spark.tables.write import Output

# tables that a page shows as they are; more rows of one are left out, and the page says so
SMALL = ("aggregate", "comparison", "queries", "documents", "daily", "arm_differences",
         "propensities", "ips", "curves", "pairs")  # fmt: skip
MOST = 100_000
PER_QUERY = "per_query"


@dataclass
class Stored:
    """Rows by table, manifests by job, where the per-query scores lie, and what was left out."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    manifests: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def of(self, table: str) -> list[dict[str, Any]]:
        return self.rows.get(table, [])


def stored(outputs: Sequence[str], partitions: Mapping[str, str]) -> Stored:
    """Read what is small of all outputs.

    Raises:
        InputError: E101 for an output that is not there, E102 for one without a table of ours, E105
            for a table that cannot be read, E156 without a client for its file system.
    """
    found = Stored()
    for out in outputs:
        system, path = filesystem(out)
        if system.get_file_info(path).type != pafs.FileType.Directory:
            raise InputError("E101", f"tables: the directory {out!r} does not exist")
        known = 0
        places = places_of(out, partitions)
        for table, locations in places.items():
            if table == PER_QUERY:
                found.scores += locations
                known += 1
            elif table in SMALL:
                rows = _read(table, locations)
                if len(rows) > MOST:
                    found.left_out.append(
                        f"{table} of {out}: only the first {MOST:,} rows are shown"
                    )
                found.rows.setdefault(table, []).extend(rows[:MOST])
                known += 1
        if "manifest" in places:
            manifest = Output(out, partitions).read_json("manifest", "_manifest.json")
            if manifest:
                found.manifests[str(manifest.get("job", out))] = manifest
        if not known:
            raise InputError(
                "E102", f"tables: no table of evaluate, compare, clicks, … under {out!r}"
            )
    return found


def places_of(out: str, partitions: Mapping[str, str]) -> dict[str, list[str]]:
    """Directories or files by table: as published, or as they lie there."""
    published = Output(out, partitions).snapshot()
    system, path = filesystem(out)
    for info in system.get_file_info(pafs.FileSelector(path)):
        name = info.base_name
        if name in published or name[0] in "._" or info.type != pafs.FileType.Directory:
            continue
        published[name] = [f"{located(out).rstrip('/')}/{name}"]
    return published


def _read(table: str, locations: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for location in locations:
        system, path = filesystem(location)
        try:
            found = ds.dataset(path, filesystem=system, format="parquet", partitioning="hive")
            rows += found.head(MOST + 1 - len(rows)).to_pylist()
        except (OSError, ValueError) as problem:
            raise InputError("E105", f"tables: {table} cannot be read: {problem}") from None
    return rows
