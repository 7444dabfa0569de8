"""Writing: aside first, checked, then published by one switch; the next run mends a killed one.

The protocol for the tables of one run (and one partition of them):

1. A lock with owner and heartbeat keeps a second writer of the same partition out.
2. Everything is written to ``OUT/.ndcg_spark/PARTITION/attempt-ID/TABLE`` and read back.
3. The attempt is published: where there are symbolic links by one rename (`links`), elsewhere by
   new files beside the old and one small file that names them (`copies`).
4. Old data, dead attempts and the lock are removed.
"""

from __future__ import annotations

import functools
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from ndcg_spark.ending import cleaned_by
from ndcg_spark.errors import InputError
from ndcg_spark.redaction import redacted, redacted_in
from ndcg_spark.tables import links
from ndcg_spark.tables.copies import Copies
from ndcg_spark.tables.locks import Lock
from ndcg_spark.tables.paths import filesystem, located, overlapping
from ndcg_spark.tables.store import Store, decoded, in_partition

HIDDEN = ".ndcg_spark"
KEYS = {"run_id", "query_id", "doc_id", "measure", "value", "segment", "arm"}
_DONE: list[str] = []
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
            if key.casefold() in KEYS:
                raise InputError("E151", _taken(key))
        self.out = out
        self.partition = "/".join(f"{key}={value}" for key, value in (partition or {}).items())
        system, root = filesystem(out)
        self._store = Store(system, root)
        self._prefix = located(out).rstrip("/")
        slug = self.partition.replace("/", ",") or "whole"
        self._work = f"{HIDDEN}/{slug}"
        self._id = uuid.uuid4().hex
        self._lock = Lock(self._store, f"{self._work}/lock", self._id)
        self._published = False

    @contextmanager
    def writing(self, tables: Sequence[str] = ()) -> Iterator[None]:
        """Hold the partition's lock; finish what a killed run left; clean up at the end.

        tables: those that the run will write: a layout that does not fit is refused now, not after
            the work

        Raises:
            InputError: E153 where nothing can be written, E154 where another run is writing, E155
                where a table on disk is partitioned otherwise, E157 where what an interrupted run
                left is damaged.
        """
        self._refuse_files([HIDDEN, self._work, *tables])
        for table in tables:
            self._same_layout(table)
        with cleaned_by(self._clean_up):  # from before the lock is ours: a signal may come between
            with self._refusing():
                self._store.make(self._work)
                self._lock.take(self.out)
            self._recover()
            yield

    def _clean_up(self) -> None:
        """Remove what is not published, and the lock; once the rest is away, nothing is left."""
        for name in [self._scratch] + [f"{self._work}/{self._attempt}"] * (not self._published):
            for _ in range(3):  # an engine that was not told to stop may still be writing
                try:
                    self._store.remove(name)
                    break
                except OSError:  # the next run removes what stays
                    time.sleep(0.1)
        self._lock.release()

    def staged(self, table: str) -> str:
        """Where this run writes a table before it is published (a location for the engine)."""
        return self._location(self._staged(table))

    def scratch(self, name: str) -> str:
        """Where this run may keep a table that is not published (a location for the engine)."""
        return self._location(f"{self._scratch}/{name}")

    def location(self, table: str) -> str:
        """Where readers find the table's partition."""
        return self._location(self._target(table))

    def published(self, table: str) -> str:
        """The same, to be shown: without a password that it may hold."""
        return redacted(self.location(table))

    def write_json(self, table: str, name: str, content: Mapping[str, Any]) -> None:
        """Stage a JSON file (the manifest) as a table of its own; no secret gets into it."""
        folder = self._staged(table)
        text = json.dumps(redacted_in(content), indent=1, sort_keys=True, default=str)
        with self._refusing():
            self._store.make(folder)
            place = self._store.path(f"{folder}/{name}")
            with self._store.fs.open_output_stream(place) as stream:
                stream.write(text.encode())

    def read_json(self, table: str, name: str) -> dict[str, Any] | None:
        """What `write_json` wrote, as it is published; None where there is none.

        Raises:
            InputError: E157 where it is damaged.
        """
        path = f"{self._target(table)}/{name}"
        content = self._store.read(path)
        return None if content is None else dict(decoded(content, repr(self._location(path))))

    def write_empty(self, table: str, schema: pa.Schema) -> None:
        """Stage a table without rows: engines write no file for it, and so no columns."""
        folder = self._staged(table)
        path = self._store.path(f"{folder}/part-00000.parquet")
        with self._refusing():
            self._store.make(folder)
            pq.write_table(schema.empty_table(), path, filesystem=self._store.fs)

    def publish(self, tables: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Put the staged tables in place, all at once (`links`) or the last one last (`copies`).

        optional: tables that such a run may write; an older one of this partition is removed where
            the run has none, or it would be taken for this run's

        Raises:
            InputError: E154 where the lock was lost, E155 where the table on disk is partitioned
                otherwise, E158 where a table was not written where we look for it.
        """
        self._refuse_files(tables)
        for table in tables:
            self._same_layout(table)
            self._refuse_unseen(table)
        gone = [t for t in optional if t not in tables and self._store.exists(self._target(t))]
        self._lock.check(self.out)
        with self._refusing():
            self._layout.publish(self._attempt, tables, gone)
        self._published = True
        _DONE.append(self.partition)

    def snapshot(self, tables: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Locations of tables (default: of all) as they are published now, all of one run.

        They hold what they hold for `links.KEEP_SECONDS` after the next run (`links`), or until it
        has ended (`copies`). A table that is not there has no location.
        """
        layout = self._layout
        tables = layout.tables() if tables is None else tables
        found = layout.readable(tables)
        return {table: [self._location(name) for name in found[table]] for table in tables}

    @property
    def _attempt(self) -> str:
        return f"{links.ATTEMPT}{self._id}"

    @property
    def _scratch(self) -> str:
        return f"{self._work}/scratch-{self._id}"

    @functools.cached_property
    def _layout(self) -> links.Links | Copies:
        """How this file system publishes."""
        kind = links.Links if links.possible(self._store, self._work) else Copies
        return kind(self._store, self._work, self.partition)

    def _recover(self) -> None:
        """Finish an interrupted publication and drop what dead runs left."""
        layout = self._layout
        layout.recover()
        names = self._store.children(self._work)
        dead = [name for name in names if name.startswith(("scratch-", "lock."))]
        for name in [*layout.unfinished(), *dead]:
            self._store.remove(f"{self._work}/{name}")
        if isinstance(layout, links.Links):
            for other in self._store.children(HIDDEN):
                links.expire(self._store, f"{HIDDEN}/{other}", time.time())

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """A file system that refuses is a message."""
        try:
            yield
        except OSError as problem:
            raise InputError("E153", f"cannot write to {self.out!r}: {problem}") from None

    def _refuse_unseen(self, table: str) -> None:
        """Refuse a table that is not where we look, or has the partition's key as a column."""
        folder = self._staged(table)
        files = self._store.files(folder)
        if not files:
            raise InputError(
                "E158",
                f"the engine wrote no {table!r} that can be seen at {self.staged(table)!r}: it has "
                "another file system there; give an --out that all machines see alike",
            )
        keys = [part.partition("=")[0] for part in self.partition.split("/") if part]
        for name in [name for name in files if keys and name.endswith(".parquet")][:1]:
            path = self._store.path(f"{folder}/{name}")
            columns = {c.casefold() for c in pq.read_schema(path, filesystem=self._store.fs).names}
            for key in keys:
                if key.casefold() in columns:
                    raise InputError("E151", _taken(key))

    def _refuse_files(self, names: Sequence[str]) -> None:
        for name in names:
            if self._store.kind(name) == pafs.FileType.File:
                place = self._location(name)
                raise InputError("E153", f"cannot write to {self.out!r}: {place!r} is a file")

    def _same_layout(self, table: str) -> None:
        names = self._store.children(table)
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

    def _target(self, table: str) -> str:
        return in_partition(table, self.partition)

    def _staged(self, table: str) -> str:
        return f"{self._work}/{self._attempt}/{table}"

    def _location(self, name: str) -> str:
        return f"{self._prefix}/{name}"


def _taken(key: str) -> str:
    return (
        f"the partition key {key!r} is a column of the tables already, whose values it would hide; "
        "take another, as in date=2026-11-29"
    )


def publications() -> int:
    """How many times this process has published something."""
    return len(_DONE)


def published(out: str, partition: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Where the tables of an output lie as one run published them, whatever is published later.

    Who reads one table needs no more than its directory, ``OUT/per_query``. Who reads several, or
    reads for long while a nightly job may replace them, asks here once, and gives each table's
    locations to ``spark.read.parquet(*locations)``: they hold what they hold for a quarter of an
    hour after they were replaced (in object stores: until they are replaced).

    Args:
        out: what a job was given as ``out``
        partition: the one that was written, ``{"date": "2026-11-29"}``

    Returns:
        By table, directories or files; empty where no job has published anything.

    Raises:
        InputError: E156 for a file system without a client here, E157 where our own files are
            damaged.
    """
    return Output(out, partition).snapshot()
