"""One typed definition per job: flags, TOML keys and Python arguments are all read into it."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from ndcg_spark.errors import UsageError, nearest
from ndcg_spark.measures.fields import checked_value, hints, option
from ndcg_spark.tables.read import Access


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every job can be told."""

    engine: Literal["auto", "spark", "sail"] = option("auto", "which engine runs the plan")
    master: str | None = option(None, "Spark master URL, such as local[4] or spark://HOST:PORT")
    remote: str | None = option(None, "Spark Connect server, sc://HOST:PORT")
    conf: list[str] = option([], "a Spark setting KEY=VALUE; repeatable")
    format: Literal["table", "json", "trec"] = option("table", "what is printed")
    out: str | None = option(None, "directory for the tables; nothing is written without it")
    partition: list[str] = option([], "Hive-style partition of the output, date=2026-11-29")
    quiet: bool = option(False, "print the result only")

    def __post_init__(self) -> None:
        kinds = hints(type(self))
        for field in dataclasses.fields(self):
            value = _checked(field.name, getattr(self, field.name), kinds[field.name])
            object.__setattr__(self, field.name, value)
        if self.partition and not self.out:
            raise UsageError("--partition names a part of the output: give --out DIR too")

    @property
    def settings(self) -> dict[str, str]:
        return pairs("conf", self.conf)

    @property
    def by_rows(self) -> bool:
        """Whether the engine itself works on rows, and does not only move packed records."""
        return False

    @property
    def partitions(self) -> dict[str, str]:
        return pairs("partition", self.partition)

    @classmethod
    def command(cls) -> str:
        """The job's name in words: ``click-bias`` of ClickBiasJob.

        >>> Job.command()
        'job'
        """
        words = re.findall("[A-Z][a-z]+", cls.__name__)
        return "-".join(words[:-1] or words).lower()

    @classmethod
    def read(cls, flags: Mapping[str, Any], config: str | None) -> Self:
        """The job that a TOML file and the flags given beside it describe; flags win.

        Raises:
            UsageError: for an unknown key or a value that an option does not allow.
        """
        return cls(**{**(_toml(config, cls.aliases()) if config else {}), **flags})

    @classmethod
    def aliases(cls) -> dict[str, str]:
        """Every key that an option goes by, and the option: ``days`` and ``lookback`` are one."""
        names = {field.name: field.name for field in dataclasses.fields(cls)}
        for field in dataclasses.fields(cls):
            for flag in field.metadata.get("flags", ()):
                if flag.startswith("--"):
                    names[flag[2:].replace("-", "_")] = field.name
        return names

    @classmethod
    def keys(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]


@dataclass(frozen=True, kw_only=True)
class ReadingJob(Job):
    """What every job can be told about how its input is read."""

    glob: bool = option(False, "expand glob characters in the input paths")
    reader: Literal["auto", "arrow", "engine"] = option(
        "auto",
        "who reads Parquet files: the tasks by pyarrow, or the engine (auto: arrow if it can)",
    )
    where: str | None = option(None, "a filter on the input's partitions, \"date = '2026-11-29'\"")

    @property
    def access(self) -> Access:
        return Access(self.reader, self.glob, self.where)


SEVERAL = ("columns", "events", "dwell", "shares", "actions")  # one item may hold several pairs


def pairs(what: str, items: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE items, several in one string separated by commas, as a dict."""
    found: dict[str, str] = {}
    for item in items:
        for part in item.split(",") if what in SEVERAL else [item]:
            key, equals, value = part.partition("=")
            if not equals or not key.strip() or not value.strip():
                raise UsageError(f"bad --{what} {part!r}; write KEY=VALUE")
            found[key.strip()] = value.strip()
    return found


def _toml(path: str, allowed: Mapping[str, str]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as problem:
        raise UsageError(f"cannot read the configuration {path!r}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # not TOML, not UTF-8, nested without end
        raise UsageError(f"the configuration {path!r} is not TOML: {problem}") from None
    values = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in allowed:
            raise UsageError(
                f"{path}: unknown key {key!r}{nearest(key, allowed)}; allowed: {', '.join(allowed)}"
            )
        if isinstance(value, dict):  # [conf] and [columns] may be written as tables
            value = [f"{k}={v}" for k, v in _dotted(value).items()]
        values[allowed[name]] = value
    return values


def _dotted(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _dotted(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is list


def _checked(name: str, value: Any, kind: Any) -> Any:
    flag = f"--{name.replace('_', '-')}"
    if is_list(kind):
        if isinstance(value, Mapping):  # columns={"event_ts": "time"}
            value = [f"{key}={item}" for key, item in value.items()]
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, str) for i in items):
            raise UsageError(f"{flag} must be a list of strings, not {value!r}")
        return list(items)
    if isinstance(value, str):
        value = _converted(flag, value, kind)
    return checked_value(flag, value, kind)


def _converted(flag: str, value: str, kind: Any) -> Any:
    """A flag's text as the number that the option wants."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    for number in (int, float):
        if number in kinds:
            try:
                return number(value)
            except ValueError:
                word = "a whole number" if number is int else "a number"
                raise UsageError(f"{flag} must be {word}, not {value!r}") from None
    return value
