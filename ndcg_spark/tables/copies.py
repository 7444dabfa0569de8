"""Publishing where there are no links: object stores, HDFS.

::

    OUT/TABLE[/PARTITION]/ID-part-00000.parquet      the files of attempt ID
    OUT/.ndcg_spark/PARTITION/current.json           which files of which tables are published

New files come beside the old ones under names of their own; then `current.json` is replaced, which
is the switch for readers who go by it; then the old files are removed. Who only lists a directory
sees both copies between the first and the last step. A journal lets the next run finish.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.errors import InputError
from ndcg_spark.tables.links import ATTEMPT
from ndcg_spark.tables.store import Store, decoded, in_partition

CURRENT = "current.json"
JOURNAL = "journal.json"
_TABLE = re.compile(r"\w[\w.-]*")
_ATTEMPT = re.compile(rf"{ATTEMPT}[0-9a-f]{{32}}")

Files = dict[str, list[str]]


class Copies:
    """The published files of one partition of an output."""

    def __init__(self, store: Store, work: str, partition: str) -> None:
        self._store, self._work, self._partition = store, work, partition

    def publish(self, attempt: str, tables: Sequence[str], gone: Sequence[str]) -> None:
        """Put the attempt's files in place; all of them, or after a kill later."""
        new = {
            table: [f for f in self._store.files(f"{self._work}/{attempt}/{table}") if _wanted(f)]
            for table in tables
        }
        old = {
            table: [f for f in self._here(table) if f not in new.get(table, ()) or not _small(f)]
            for table in [*gone, *tables]
        }
        self._write(JOURNAL, {"attempt": attempt, "new": new, "old": old}, attempt)
        self._finish(attempt, new, old)

    def recover(self) -> None:
        """Finish an interrupted publication.

        Raises:
            InputError: E157 for a journal that is damaged, or names what is not of this output.
        """
        name = f"{self._work}/{JOURNAL}"
        content = self._store.read(name)
        if content is None:
            return
        what = f"the journal {self._store.path(name)!r} of a run that was interrupted"
        attempt, new, old = _checked(decoded(content, what), what)
        for table, files in new.items():
            there = set(self._here(table))
            lost = [
                file
                for file in files
                if _named(attempt, file) not in there
                and not self._store.exists(f"{self._work}/{attempt}/{table}/{file}")
            ]
            if lost:
                raise InputError(
                    "E157", f"{what} names a file that is not there: {table}/{lost[0]}"
                )
        self._finish(attempt, new, old)

    def current(self) -> str | None:
        """The name of the published attempt."""
        found = self._current()
        return str(found["attempt"]) if found else None

    def tables(self) -> list[str]:
        """The tables that were published."""
        return sorted((self._current() or {}).get("tables", {}))

    def readable(self, tables: Sequence[str]) -> dict[str, list[str]]:
        """The files of the tables as published now; a directory where no run of ours wrote it."""
        known = (self._current() or {}).get("tables", {})
        return {
            table: [f"{self._place(table)}/{file}" for file in known[table]]
            if table in known
            else [self._place(table)] * self._store.exists(self._place(table))
            for table in tables
        }

    def unfinished(self) -> list[str]:
        """What dead runs left: nobody else writes here while we hold the lock."""
        names = self._store.children(self._work)
        return [name for name in names if name.startswith((ATTEMPT, f"{JOURNAL}.", f"{CURRENT}."))]

    def _finish(self, attempt: str, new: Files, old: Files) -> None:
        """Carry out what is not done yet; every step may already have happened."""
        for table, files in new.items():
            self._store.make(self._place(table))
            for file in files:
                here = f"{self._work}/{attempt}/{table}/{file}"
                self._store.put(here, f"{self._place(table)}/{_named(attempt, file)}")
        known = (self._current() or {}).get("tables", {})
        tables = {table: files for table, files in known.items() if table not in old}
        tables |= {t: [_named(attempt, file) for file in files] for t, files in new.items()}
        self._write(CURRENT, {"attempt": attempt, "tables": tables}, attempt)
        for table, file in (
            (t, file) for t, files in new.items() for file in filter(_small, files)
        ):
            content = self._store.read(f"{self._place(table)}/{_named(attempt, file)}")
            self._store.write(f"{self._place(table)}/{file}", content or b"", attempt)
        for table, files in old.items():
            for file in files:
                self._store.remove(f"{self._place(table)}/{file}")
            if table not in new:
                self._store.remove(self._place(table))
        self._store.remove(f"{self._work}/{JOURNAL}")
        self._store.remove(f"{self._work}/{attempt}")

    def _here(self, table: str) -> list[str]:
        return self._store.files(self._place(table))

    def _current(self) -> dict[str, Any] | None:
        content = self._store.read(f"{self._work}/{CURRENT}") or self._about_to_be()
        if content is None:
            return None
        what = repr(self._store.path(f"{self._work}/{CURRENT}"))
        found = decoded(content, what)
        if not (isinstance(found, dict) and isinstance(found.get("tables"), dict)):
            raise InputError("E157", f"{what} is damaged: it names no tables")
        return found

    def _about_to_be(self) -> bytes | None:
        """The next `current.json`, whole, where the old one is gone: see `Store.replace`."""
        for name in self._store.children(self._work) if not self._store.overwrites else ():
            if name.startswith(f"{CURRENT}."):
                content = self._store.read(f"{self._work}/{name}")
                with contextlib.suppress(ValueError):
                    json.loads(content or b"")
                    return content
        return None

    def _write(self, name: str, content: Mapping[str, Any], by: str) -> None:
        self._store.write(f"{self._work}/{name}", json.dumps(content).encode(), by)

    def _place(self, table: str) -> str:
        return in_partition(table, self._partition)


def _wanted(file: str) -> bool:
    """Whether the file is data or a manifest, not an engine's own mark or checksum."""
    return _small(file) or not file.rpartition("/")[2].startswith(("_", "."))


def _small(file: str) -> bool:
    """Whether the file is a manifest, which is also found under its plain name."""
    name = file.rpartition("/")[2]
    return name.startswith("_") and name.endswith(".json")


def _named(attempt: str, file: str) -> str:
    """A name that no other attempt's file has; what is hidden stays so.

    >>> _named("attempt-0f3e", "part-0.parquet"), _named("attempt-0f3e", "_manifest.json")
    ('0f3e-part-0.parquet', '_0f3e-manifest.json')
    """
    folder, slash, name = file.rpartition("/")
    mark = "_" if name.startswith("_") else ""
    return f"{folder}{slash}{mark}{attempt.removeprefix(ATTEMPT)}-{name.removeprefix(mark)}"


def _checked(found: Any, what: str) -> tuple[str, Files, Files]:
    """The journal's attempt, new files and old files, if all of them lie in the output."""
    try:
        attempt, new, old = found["attempt"], dict(found["new"]), dict(found["old"])
        names = [*new, *old]
        files = [file for group in (new, old) for of_table in group.values() for file in of_table]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InputError("E157", f"{what} is damaged: it holds no lists of files") from None
    outside = [name for name in names if not _TABLE.fullmatch(str(name))]
    outside += [file for file in files if not _inside(file)]
    if not _ATTEMPT.fullmatch(str(attempt)) or outside:
        raise InputError(
            "E157", f"{what} names what does not lie in the output: {[attempt, *outside][-1]!r}"
        )
    return attempt, new, old


def _inside(file: Any) -> bool:
    return isinstance(file, str) and not ({"", ".", ".."} & set(file.split("/")))
