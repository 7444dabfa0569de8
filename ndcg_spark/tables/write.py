"""Writing: aside first, checked, then put in place by rename; a killed run is finished by the next.

The protocol for the tables of one run (and one partition of them):

1. A lock with owner and heartbeat keeps a second writer of the same partition out.
2. Everything is written to ``OUT/.ndcg_spark/PARTITION/attempt-ID/TABLE`` and read back.
3. A journal names the moves; from here on the attempt is complete, so recovery only rolls forward.
4. For each table: the old partition is renamed aside, the new one in. The manifest moves last.
5. The old data, the journal, dead attempts and the lock are removed.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as pafs
from pyspark.sql import DataFrame

from ndcg_spark.errors import InputError
from ndcg_spark.tables.locks import Lock
from ndcg_spark.tables.paths import filesystem, overlapping

HIDDEN = ".ndcg_spark"
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]*")


class Output:
    """An output directory, or one Hive-style partition of its tables, that a run may write."""

    def __init__(
        self, out: str, partition: Mapping[str, str] | None = None, inputs: Sequence[str] = ()
    ) -> None:
        """
        Raises:
            InputError: E150, E151 or E152 for a location that must not be written.
        """
        if re.search(r"[\[\]{}*?]", out):
            raise InputError("E150", f"the output {out!r} holds glob characters")
        for source in inputs:
            if not source.startswith("table:") and overlapping(out, source):
                raise InputError(
                    "E152", f"the output {out!r} is, holds or lies in the input {source!r}"
                )
        for key, value in (partition or {}).items():
            if not (re.fullmatch(r"[A-Za-z_]\w*", key) and _VALUE.fullmatch(value)):
                raise InputError("E151", f"bad partition {key}={value!r}; write date=2026-11-29")
        self.out = out
        self.partition = "/".join(f"{key}={value}" for key, value in (partition or {}).items())
        self._fs, self._root = filesystem(out)
        slug = self.partition.replace("/", ",") or "whole"
        self._work = f"{self._root}/{HIDDEN}/{slug}"
        self._id = uuid.uuid4().hex
        self._prefix = out.rstrip("/") if "://" in out else self._root

    @contextmanager
    def writing(self, tables: Sequence[str] = ()) -> Iterator[None]:
        """Hold the partition's lock; finish what a killed run left; clean up at the end.

        tables: those that the run will write: a layout that does not fit is refused now, not after
            the work

        Raises:
            InputError: E153 where nothing can be written, E154 where another run is writing, E155
                where a table on disk is partitioned otherwise.
        """
        for table in tables:
            self._same_layout(table)
        try:
            self._fs.create_dir(self._work, recursive=True)
        except OSError as problem:
            raise InputError("E153", f"cannot write to {self.out!r}: {problem}") from None
        lock = Lock(self._fs, f"{self._work}/lock", self._id)
        lock.take(self.out)
        try:
            self._recover()
            yield
        finally:
            self._remove(f"{self._work}/attempt-{self._id}")
            lock.release()

    def staged(self, table: str) -> str:
        """Where this run writes a table before it is published (a location for the engine)."""
        return self._location(self._attempt(table))

    def published(self, table: str) -> str:
        """Where readers find the table's partition."""
        return self._location(self._target(table))

    def write_json(self, table: str, name: str, content: Mapping[str, Any]) -> None:
        """Stage a JSON file (the manifest) as a table of its own."""
        self._fs.create_dir(self._attempt(table), recursive=True)
        with self._fs.open_output_stream(f"{self._attempt(table)}/{name}") as stream:
            stream.write(json.dumps(content, indent=1, sort_keys=True, default=str).encode())

    def read_json(self, table: str, name: str) -> dict[str, Any] | None:
        """What `write_json` wrote, as it is published; None where there is none."""
        path = f"{self._target(table)}/{name}"
        if not self._exists(path):
            return None
        with self._fs.open_input_stream(path) as stream:
            return dict(json.loads(stream.read()))

    def write_empty(self, table: str, schema: pa.Schema) -> None:
        """Stage a table without rows: engines write no file for it, and so no columns."""
        self._fs.create_dir(self._attempt(table), recursive=True)
        path = f"{self._attempt(table)}/part-00000.parquet"
        pq.write_table(schema.empty_table(), path, filesystem=self._fs)

    def publish(self, tables: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Put the staged tables in place, the last one last; all of them, or after a kill later.

        optional: tables that such a run may write; an older one of this partition is removed where
            the run has none, or it would be taken for this run's

        Raises:
            InputError: E155 where the table on disk is partitioned otherwise.
        """
        for table in tables:
            self._same_layout(table)
        moves = [
            {
                "new": self._attempt(t),
                "old": f"{self._work}/old-{self._id}-{t}",
                "to": self._target(t),
            }
            for t in tables
        ]
        gone = [t for t in optional if t not in tables and self._exists(self._target(t))]
        olds = [
            {"new": "", "old": f"{self._work}/old-{self._id}-{t}", "to": self._target(t)}
            for t in gone
        ]
        moves = [*olds, *moves]
        for move in moves:
            self._fs.create_dir(move["to"].rsplit("/", 1)[0], recursive=True)
        self._write_atomically(f"{self._work}/journal.json", json.dumps(moves))
        self._finish(moves)

    def _recover(self) -> None:
        """Finish an interrupted publication and drop what dead runs left."""
        journal = f"{self._work}/journal.json"
        if self._exists(journal):
            with self._fs.open_input_stream(journal) as stream:
                self._finish(json.loads(stream.read()))
        for info in self._fs.get_file_info(pafs.FileSelector(self._work)):
            if info.base_name.startswith(("attempt-", "old-", "journal.json.", "lock.")):
                self._remove(info.path)

    def _finish(self, moves: Sequence[Mapping[str, str]]) -> None:
        """Carry out the moves that are not done yet; every step may already have happened."""
        for move in moves:
            if move["new"] and not self._exists(move["new"]):
                continue  # this table is in place
            if self._exists(move["to"]) and not self._exists(move["old"]):
                self._fs.move(move["to"], move["old"])
            if move["new"]:
                self._fs.move(move["new"], move["to"])
        self._fs.delete_file(f"{self._work}/journal.json")
        for move in moves:
            self._remove(move["old"])

    def _same_layout(self, table: str) -> None:
        root = f"{self._root}/{table}"
        if not self._exists(root):
            return
        names = [info.base_name for info in self._fs.get_file_info(pafs.FileSelector(root))]
        key = self.partition.partition("=")[0]
        partitions = {name.partition("=")[0] for name in names if "=" in name}
        files = [name for name in names if "=" not in name and not name.startswith((".", "_"))]
        if (key and files) or (partitions and partitions != {key}):
            found = f"partitioned by {', '.join(sorted(partitions))}" if partitions else "whole"
            raise InputError(
                "E155",
                f"the table {table!r} in {self.out!r} is {found}; writing it "
                f"{'by ' + key if key else 'whole'} would leave two copies; choose another --out",
            )

    def _attempt(self, table: str) -> str:
        return f"{self._work}/attempt-{self._id}/{table}"

    def _target(self, table: str) -> str:
        return "/".join(part for part in (self._root, table, self.partition) if part)

    def _location(self, path: str) -> str:
        return self._prefix + path[len(self._root) :]

    def _exists(self, path: str) -> bool:
        return bool(self._fs.get_file_info(path).type != pafs.FileType.NotFound)

    def _remove(self, path: str) -> None:
        kind = self._fs.get_file_info(path).type
        if kind == pafs.FileType.Directory:
            self._fs.delete_dir(path)
        elif kind == pafs.FileType.File:
            self._fs.delete_file(path)

    def _write_atomically(self, path: str, text: str) -> None:
        with self._fs.open_output_stream(f"{path}.{self._id}") as stream:
            stream.write(text.encode())
        self._fs.move(f"{path}.{self._id}", path)


def write_bucketed(table: DataFrame, name: str, buckets: int) -> None:
    """Write a catalog table in buckets by query_id, replacing one of that name.

    Tables with equally many buckets meet without a shuffle.
    """
    by_query = table.write.mode("overwrite").bucketBy(buckets, "query_id").sortBy("query_id")
    by_query.format("parquet").saveAsTable(name)
