"""Publishing by one switch, where the file system has symbolic links.

::

    OUT/.ndcg_spark/PARTITION/attempt-ID/TABLE/…    what one run wrote: a generation
    OUT/.ndcg_spark/PARTITION/current               -> attempt-ID
    OUT/TABLE[/PARTITION]                           -> …/.ndcg_spark/PARTITION/current/TABLE

The one step that publishes is the rename of a new ``current`` over the old: all tables of the
partition change at once. The generation before stays for `KEEP_SECONDS`, for whoever is reading it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence

from ndcg_spark.errors import InputError
from ndcg_spark.tables.store import Store, in_partition

KEEP_SECONDS = 900.0
CURRENT = "current"
ATTEMPT = "attempt-"
REPLACED = "replaced-"  # a file that says since when a generation is no longer current


class Links:
    """The generations of one partition of an output.

    work: the partition's directory of ours, relative to the output
    partition: ``key=value``, or nothing for whole tables
    """

    def __init__(self, store: Store, work: str, partition: str) -> None:
        self._store, self._work, self._partition = store, work, partition

    def publish(self, attempt: str, tables: Sequence[str], gone: Sequence[str]) -> None:
        """Make the attempt the current generation.

        The current generation's other tables go along, but for those that are gone.
        """
        for table in [*tables, *gone]:
            self._adopt(table)
        before = self.current()
        if before is not None:
            for table in self._store.children(f"{self._work}/{before}"):
                if table not in tables and table not in gone:
                    self._carry(f"{self._work}/{before}/{table}", f"{self._work}/{attempt}/{table}")
        for table in gone:
            self._store.remove(self._place(table))
        self._switch(attempt)
        self.recover()
        if before is not None:
            with self._store.fs.open_output_stream(
                self._store.path(f"{self._work}/{REPLACED}{before}")
            ):
                pass

    def recover(self) -> None:
        """Give each table of the current generation its link: a run may have died before."""
        for table in self.tables():
            place = self._store.path(self._place(table))
            if not os.path.lexists(place):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                here = os.path.dirname(place)
                target = self._store.path(f"{self._work}/{CURRENT}/{table}")
                os.symlink(os.path.relpath(target, here), place)

    def current(self) -> str | None:
        """The name of the published generation."""
        link = self._store.path(f"{self._work}/{CURRENT}")
        return os.readlink(link) if os.path.islink(link) else None

    def tables(self) -> list[str]:
        """The tables of the current generation."""
        current = self.current()
        return self._store.children(f"{self._work}/{current}") if current else []

    def readable(self, tables: Sequence[str]) -> dict[str, list[str]]:
        """Where the tables as published now lie, whatever is published later."""
        current = self.current()
        places = {
            table: f"{self._work}/{current}/{table}" if current else self._place(table)
            for table in tables
        }
        return {t: [place] if self._store.exists(place) else [] for t, place in places.items()}

    def unfinished(self) -> list[str]:
        """What dead runs of this partition left: nobody else writes here while we hold its lock."""
        names = self._store.children(self._work)
        kept = {name.removeprefix(REPLACED) for name in names if name.startswith(REPLACED)}
        kept |= {self.current() or ""}
        dead = [name for name in names if name.startswith(ATTEMPT) and name not in kept]
        return [*dead, *(name for name in names if name.startswith(f"{CURRENT}."))]

    def _switch(self, attempt: str) -> None:
        link = self._store.path(f"{self._work}/{CURRENT}")
        aside = f"{link}.{attempt}"
        os.symlink(attempt, aside)
        os.replace(aside, link)

    def _adopt(self, table: str) -> None:
        """Take a directory that was published otherwise into a generation, behind a link."""
        place = self._store.path(self._place(table))
        if os.path.islink(place) or not os.path.lexists(place):
            return
        if not os.path.isdir(place):
            raise InputError("E153", f"cannot write the table {table!r}: {place!r} is a file")
        if self.current() is None:
            before = f"{ATTEMPT}{'0' * 32}"
            self._store.make(f"{self._work}/{before}")
            self._switch(before)
        os.rename(place, self._store.path(f"{self._work}/{self.current()}/{table}"))
        self.recover()

    def _carry(self, old: str, new: str) -> None:
        """The same files in another directory, without their bytes where links can be made."""
        if os.path.exists(self._store.path(new)):  # scratch of this run of the same name
            self._store.remove(new)
        for name in self._store.files(old):
            here, there = (self._store.path(f"{place}/{name}") for place in (old, new))
            os.makedirs(os.path.dirname(there), exist_ok=True)
            try:
                os.link(here, there)
            except OSError:
                shutil.copy2(here, there)

    def _place(self, table: str) -> str:
        return in_partition(table, self._partition)


def possible(store: Store, work: str) -> bool:
    """Whether the file system has symbolic links."""
    if not store.local:
        return False
    if os.path.islink(store.path(f"{work}/{CURRENT}")):
        return True
    probe = store.path(f"{work}/{CURRENT}.probe-{os.getpid()}-{time.monotonic_ns()}")
    try:
        os.symlink("nowhere", probe)
        os.unlink(probe)
    except (OSError, NotImplementedError):
        return False
    return True


def expire(store: Store, work: str, now: float) -> None:
    """Remove a partition's generations that were replaced long ago."""
    current = Links(store, work, "").current()
    for name in store.children(work):
        since = f"{work}/{name}"
        if name.startswith(REPLACED) and store.age(since, now) > KEEP_SECONDS:
            generation = name.removeprefix(REPLACED)
            if generation != current:
                store.remove(f"{work}/{generation}")
            store.remove(since)
