"""Which files a source has: one rule for all engines.

Listed once, on the driver, recursively. A name that begins with ``_`` or ``.`` is not data.
Directories ``key=value`` are partitions: their values are text, and win over a column of that name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyarrow import fs as pafs

from ndcg_spark.errors import InputError, UsageError, nearest
from ndcg_spark.tables.paths import filesystem, visible

GLOB = re.compile(r"[\[\]{}*?]")
NULL = "__HIVE_DEFAULT_PARTITION__"
# directories by which a table format is known, and how such a table is read
FORMATS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_CONDITION = re.compile(r"\s*([\w.-]+)\s*(=|!=|<>|<=|>=|<|>)\s*'((?:[^']|'')*)'\s*")

Values = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class DataFile:
    """A data file: its place for the file system, its name below the source, size, partition.

    alone: the source is this file, and no directory
    """

    path: str
    name: str
    size: int
    values: Values = ()
    alone: bool = False


@dataclass(frozen=True)
class Listing:
    """The data files of a source, and the keys of its partitions."""

    source: str
    files: tuple[DataFile, ...]
    keys: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def where(self, role: str, condition: str | None) -> Listing:
        """The files whose partition fits, ``date = '2026-11-29' and country != 'de'``.

        Raises:
            UsageError: for a condition that cannot be read.
            InputError: E119 for a key that is no partition, or a value that no file has.
        """
        if condition is None:
            return self
        kept = self.files
        for key, compare, value in conditions(condition):
            if key not in self.keys:
                raise InputError(
                    "E119",
                    f"{role}: {self.source!r} is not partitioned by {key!r}"
                    f"{nearest(key, self.keys)}; its partitions: {', '.join(self.keys) or 'none'}",
                )
            fitting = tuple(f for f in kept if _fits(dict(f.values)[key], compare, value))
            if not fitting:
                there = sorted({str(dict(f.values)[key]) for f in kept})
                raise InputError(
                    "E119",
                    f"{role}: no file under {self.source!r} has {key} {compare} {value!r}; there "
                    f"are: {', '.join(there[:5])}{', …' if len(there) > 5 else ''}",
                )
            kept = fitting
        return dataclasses.replace(self, files=kept)

    def several(self) -> str | None:
        """A hint where the source has several values of a partition that looks like a date."""
        for key in self.keys:
            found = sorted({value for f in self.files if (value := dict(f.values)[key])})
            if len(found) > 1 and all(re.fullmatch(r"\d{4}-?\d\d-?\d\d.*", v) for v in found):
                some = f"{', '.join(found[:3])}{', …' if len(found) > 3 else ''}"
                return (
                    f"{len(found)} values of {key} ({some}) under {self.source!r} are read "
                    f"together; --where \"{key} = '{found[-1]}'\" reads one"
                )
        return None


def conditions(text: str) -> list[tuple[str, str, str]]:
    """Keys, comparisons and values of a filter on partitions."""
    found = []
    for part in re.split(r"\s+and\s+(?=[\w.-]+\s*[=!<>])", text.strip(), flags=re.IGNORECASE):
        match = _CONDITION.fullmatch(part)
        if not match:
            raise UsageError(
                f"cannot read the condition {part!r}; write date = '2026-11-29', joined by and "
                "(=, !=, <, <=, >, >= compare text)"
            )
        found.append((match[1], match[2], match[3].replace("''", "'")))
    return found


def _fits(own: str | None, compare: str, value: str) -> bool:
    if own is None:
        return False
    answers = {
        "=": own == value, "!=": own != value, "<>": own != value, "<": own < value,
        "<=": own <= value, ">": own > value, ">=": own >= value,
    }  # fmt: skip
    return answers[compare]


def listed(role: str, source: str, glob: bool = False) -> Listing:
    """The data files of a path, file or directory (or of what a glob pattern matches).

    Raises:
        InputError: E101, E102, E104, E117, E118, E150, E156, naming role, source and files.
    """
    refuse_glob(role, source, glob)
    system, path = filesystem(source)
    roots = _matching(role, source, system, path) if GLOB.search(source) else [path]
    files = [file for root in roots for file in _below(role, source, system, root)]
    refuse_empty(role, source, [(file.name, file.size) for file in files])
    return Listing(source, tuple(files), _keys(role, source, files))


def refuse_glob(role: str, source: str, glob: bool) -> None:
    """Refuse a pattern that nobody asked to expand (E150)."""
    if GLOB.search(source) and not glob:
        raise InputError(
            "E150", f"{role}: the path {source!r} holds glob characters; pass --glob to expand them"
        )


def refuse_empty(role: str, source: str, files: Sequence[tuple[str, int]]) -> None:
    """Refuse a source without a file (E102), or with files of zero bytes (E104), by name."""
    if not files:
        raise InputError("E102", f"{role}: there is no Parquet file under {source!r}")
    empty = sorted(name for name, size in files if size == 0)
    if empty:
        raise InputError(
            "E104",
            f"{role}: {len(empty)} file(s) of zero bytes in {source!r}: {', '.join(empty[:5])}",
        )


def _below(role: str, source: str, system: pafs.FileSystem, root: str) -> list[DataFile]:
    info = system.get_file_info(root)
    if info.type == pafs.FileType.NotFound:
        raise InputError("E101", f"{role}: the path {source!r} does not exist")
    if info.type == pafs.FileType.File:
        return [DataFile(info.path, info.base_name, info.size or 0, alone=True)]
    every = system.get_file_info(pafs.FileSelector(root, recursive=True))
    _refuse_formats(role, source, root, every)
    found = []
    for info in sorted(every, key=lambda info: info.path):
        name = info.path[len(root) :].strip("/")
        if info.type == pafs.FileType.File and visible(info.path, root):
            found.append(DataFile(info.path, name, info.size or 0, partition(name)))
    return found


def partition(name: str) -> Values:
    """The partition of a file by the directories of its name.

    >>> partition("date=2026-11-29/country=d%2Fe/part-0.parquet")
    (('date', '2026-11-29'), ('country', 'd/e'))
    """
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return tuple(
        (unquote(key), None if value == NULL else unquote(value))
        for key, equals, value in pairs
        if equals and key
    )


def _refuse_formats(role: str, source: str, root: str, every: Iterable[pafs.FileInfo]) -> None:
    """A table format's directory also holds files that are no longer part of the table."""
    for info in every:
        parts = info.path[len(root) :].strip("/").split("/")
        found = [kind for name, kind in FORMATS.items() if name in parts]
        if parts[-2:-1] == ["metadata"] and parts[-1].endswith(".metadata.json"):
            found.append("Iceberg")
        if found:
            raise InputError(
                "E118",
                f"{role}: {source!r} is a {found[0]} table, whose directory holds files of older "
                "versions too; read it as a table of the catalog (table:NAME), or export its "
                f"current version as Parquet with {found[0]}'s own reader",
            )


def _keys(role: str, source: str, files: Sequence[DataFile]) -> tuple[str, ...]:
    """The keys of the partitions, which all files must share."""
    by_keys = {tuple(key for key, _ in file.values): file.name for file in files}
    if len(by_keys) > 1:
        (some, one), (others, other) = list(by_keys.items())[:2]
        words = [
            f"{name} (by {', '.join(k) or 'none'})" for k, name in ((some, one), (others, other))
        ]
        raise InputError(
            "E117",
            f"{role}: the files under {source!r} are not partitioned alike: {words[0]} and "
            f"{words[1]}; give the directories one by one",
        )
    return next(iter(by_keys))


def _matching(role: str, source: str, system: pafs.FileSystem, path: str) -> list[str]:
    """The files and directories that a glob pattern matches."""
    fixed = path[: GLOB.search(path).start()].rsplit("/", 1)[0]  # type: ignore[union-attr]
    info = system.get_file_info(fixed or "/")
    pattern = re.compile(_regex(path))
    found = []
    if info.type == pafs.FileType.Directory:
        every = system.get_file_info(pafs.FileSelector(fixed or "/", recursive=True))
        found = sorted(info.path for info in every if pattern.fullmatch(info.path))
    if not found:
        raise InputError("E101", f"{role}: nothing matches {source!r}")
    return [one for one in found if not any(one.startswith(f"{other}/") for other in found)]


def _regex(glob: str) -> str:
    """The pattern as Hadoop reads it: * and ? within a name, [a-c], {a,b}.

    >>> _regex("a/*.{parquet,pq}")
    'a/[^/]*\\\\.(?:parquet|pq)'
    """
    found, depth, place = "", 0, 0
    while place < len(glob):
        char = glob[place]
        if char == "[" and "]" in glob[place:]:
            end = glob.index("]", place)
            found += glob[place : end + 1].replace("[!", "[^")
            place = end
        elif char == "{":
            found, depth = found + "(?:", depth + 1
        elif char == "}" and depth:
            found, depth = found + ")", depth - 1
        elif char == "," and depth:
            found += "|"
        else:
            found += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
        place += 1
    return found
