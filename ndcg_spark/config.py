"""One typed definition per job: flags, TOML keys and Python arguments are all read into it."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import tomllib
import types
import typing
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from ndcg_spark.errors import UsageError, nearest, unknown
from ndcg_spark.kernel.clicks import Gains
from ndcg_spark.measures.fields import checked_value, hints
from ndcg_spark.measures.policies import Policies


def option(default: Any, text: str, *flags: str) -> Any:
    """A job's option: its default, its help, and further flags beside ``--its-name``."""
    meta = {"help": text, "flags": flags}
    if isinstance(default, (list, dict)):
        kind = type(default)
        return dataclasses.field(default_factory=kind, metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


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

    @property
    def settings(self) -> dict[str, str]:
        return pairs("conf", self.conf)

    @property
    def partitions(self) -> dict[str, str]:
        return pairs("partition", self.partition)

    @classmethod
    def read(cls, flags: Mapping[str, Any], config: str | None) -> Self:
        """The job that a TOML file and the flags given beside it describe; flags win.

        Raises:
            UsageError: for an unknown key or a value that an option does not allow.
        """
        return cls(**{**(_toml(config, cls.keys()) if config else {}), **flags})

    @classmethod
    def keys(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]


@dataclass(frozen=True, kw_only=True)
class EvaluateJob(Policies, Job):
    """Evaluate runs against qrels: what `evaluate` can be told, every policy included."""

    qrels: str | None = option(None, "judgements: a Parquet path or table:NAME")
    runs: list[str] = option([], "a run: a Parquet path or table:NAME; repeatable")
    measure: list[str] = option(
        [], "measures, as in P.5,10,map; repeatable (default nDCG@10, AP, RR)", "-m"
    )
    per_query: bool = option(False, "print every query's values too", "-q")
    global_gains: str | None = option(None, "gains for all gain measures, 1=1.0,2=3.0")
    dialect: Literal["seeds", "trec_eval"] = option(
        "seeds", "trec_eval: ndcg_rel, Rndcg, G, binG and ndcg_p as that program computes them"
    )
    weights: str | None = option(None, "query_id, weight: weighted means beside the plain ones")
    columns: list[str] = option([], "column names, qrels.query_id=qid,runs.score=s")
    glob: bool = option(False, "expand glob characters in the input paths")
    bucketed: bool = option(False, "the tables come from `prepare`: shuffle nothing")

    def __post_init__(self) -> None:
        Job.__post_init__(self)
        self.policies  # noqa: B018 - refuses contradictory policies now, before any session

    @property
    def column_names(self) -> dict[str, dict[str, str]]:
        """``{"qrels": {"query_id": "qid"}, "runs": {…}}``."""
        found: dict[str, dict[str, str]] = {"qrels": {}, "runs": {}, "weights": {}}
        for key, name in pairs("columns", self.columns).items():
            role, dot, column = key.partition(".")
            if not dot or role not in found:
                raise UsageError(
                    f"bad --columns {key}={name}{nearest(role, found)}; write "
                    "qrels.query_id=NAME or runs.score=NAME"
                )
            found[role][column] = name
        return found

    @property
    def policies(self) -> Policies:
        return Policies(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Policies)})


@dataclass(frozen=True, kw_only=True)
class ImportTrecJob(Job):
    """TREC text files to Parquet: what `import-trec` can be told."""

    qrels: str | None = option(None, "TREC qrels file, plain or gzip")
    runs: list[str] = option([], "TREC run file, plain or gzip; repeatable")


@dataclass(frozen=True, kw_only=True)
class PrepareJob(Job):
    """Runs and qrels as bucketed tables: what `prepare` can be told."""

    qrels: str | None = option(None, "judgements: a Parquet path or table:NAME")
    runs: list[str] = option([], "a run: a Parquet path or table:NAME; repeatable")
    name: str | None = option(None, "the tables NAME_runs and NAME_qrels are written")
    buckets: int = option(64, "buckets a table: one task each, a few times the cluster's cores")
    order_by: Literal["score", "rank"] = option("score", "which column the runs are ranked by")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets < 1:
            raise UsageError(f"--buckets must be at least 1, not {self.buckets}")

    @property
    def policies(self) -> Policies:
        return Policies(order_by=self.order_by)


@dataclass(frozen=True, kw_only=True)
class LogJob(Job):
    """What every job on a click log can be told."""

    impressions: str | None = option(None, "the log: a Parquet path or table:NAME")
    date: str | None = option(None, "the day to evaluate, 2026-11-29")
    days: int = option(1, "how many days, the last being --date")
    events: list[str] = option([], "an event column and its gain, clicks=1 (default), booking=5")
    dwell: list[str] = option([], "seconds and gain of a click, 10=0.5, 30=1; shorter ones are 0")
    columns: list[str] = option([], "column names, impressions.arm=variant; also rank, doc_id, …")
    timezone: str = option("UTC", "whose midnight separates the days of event_ts")
    buckets: int = option(1000, "buckets of users: the same in all tables that are to be added")
    glob: bool = option(False, "expand glob characters in the input paths")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.impressions or not self.date:
            raise UsageError("give --impressions SRC and --date YYYY-MM-DD")
        if self.days < 1 or self.buckets < 1:
            raise UsageError("--days and --buckets must be at least 1")
        try:
            zoneinfo.ZoneInfo(self.timezone)
            self.dates  # noqa: B018 - refuses a date that is none
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as problem:
            raise UsageError(f"bad --timezone or --date: {problem}") from None

    @property
    def dates(self) -> list[str]:
        """The days, ascending, as text."""
        last = datetime.date.fromisoformat(self.date or "")
        return [str(last - datetime.timedelta(days=n)) for n in reversed(range(self.days))]

    @property
    def gains(self) -> Gains:
        events = [(name, _float("events", g)) for name, g in pairs("events", self.events).items()]
        dwell = [
            (_float("dwell", seconds), _float("dwell", gain))
            for seconds, gain in pairs("dwell", self.dwell).items()
        ]
        return Gains(tuple(events) or (("clicks", 1.0),), tuple(sorted(dwell)))

    @property
    def column_names(self) -> dict[str, str]:
        return {
            name.removeprefix("impressions."): column
            for name, column in pairs("columns", self.columns).items()
        }


@dataclass(frozen=True, kw_only=True)
class ClicksJob(LogJob):
    """A day of impressions to mergeable state: what `clicks` can be told."""

    measure: list[str] = option(
        [], "measures of the displayed list (default nDCG@10, RR, AP, P@1, binG@10)", "-m"
    )
    segments: list[str] = option([], "columns and combinations, country, country|device")
    baseline: str | None = option(None, "the arm that the others are compared with")
    no_click: Literal["skip", "zero"] = option(
        "skip", "an impression without a click: undefined and counted, or 0"
    )
    units: list[str] = option([], "means per query or user too: query, user")
    deduplicate: bool = option(False, "the log repeats impressions: count each id once (a shuffle)")
    min_group: int = option(100, "groups with fewer impressions are counted only")
    window: int = option(7, "days before the date that the trend and --fail-if look back")
    fail_if: list[str] = option([], "exit 4 if so, as in 'nDCG@10 drop > 0.01'; repeatable")

    def __post_init__(self) -> None:
        super().__post_init__()
        for unit in self.units:
            if unit not in ("query", "user"):
                raise unknown("unit", unit, ("query", "user"))


@dataclass(frozen=True, kw_only=True)
class ClickLabelsJob(LogJob):
    """Judgements from clicks: what `click-labels` can be told."""

    method: Literal["counts", "ctr", "coec", "dwell"] = option("counts", "how clicks become labels")
    thresholds: list[str] = option([], "clicks=grade (default 100=1, 1001=2)")
    per_days: bool = option(False, "thresholds are clicks a day")
    prior: str = option("5,95", "Beta prior of click rates for ctr: a,b")


@dataclass(frozen=True, kw_only=True)
class ClickBiasJob(LogJob):
    """Propensities and estimates that they correct: what `click-bias` can be told."""

    method: Literal["adjacent_chain", "pivot", "randomized", "naive", "power_law", "em"] = option(
        "adjacent_chain", "how propensities are estimated"
    )
    eta: float = option(1.0, "exponent of the power law")
    depth: int = option(10, "ranks that get a propensity")
    iterations: int = option(50, "iterations of em")
    candidate: str | None = option(None, "a run that is judged by the log's clicks: path or table")
    utility: Literal["dcg", "rr", "recall"] = option("dcg", "what a click is worth at its rank")
    cutoff: int | None = option(None, "deepest rank that counts")
    clip: float = option(0.0, "propensities below this count as this")


def add_flags(parser: argparse.ArgumentParser, job: type[Job]) -> None:
    """One flag per option of the job; a flag that is not given leaves the TOML file's value."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with these options as keys")
    for field in dataclasses.fields(job):
        kind = hints(job)[field.name]
        names = [f"--{field.name.replace('_', '-')}", *field.metadata.get("flags", ())]
        text = field.metadata.get("help", "").replace("%", "%%")
        common: dict[str, Any] = {"dest": field.name, "default": argparse.SUPPRESS}
        if kind is bool:
            parser.add_argument(*names, action=argparse.BooleanOptionalAction, help=text, **common)
        elif _is_list(kind):
            parser.add_argument(*names, action="append", metavar="X", help=text, **common)
        else:
            choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
            shown = "|".join(map(str, choices)) or "X"
            default = f" (default: {field.default})" if field.default is not None else ""
            parser.add_argument(*names, metavar=shown, help=text + default, **common)


def pairs(what: str, items: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE items, several in one string separated by commas, as a dict."""
    found: dict[str, str] = {}
    for item in items:
        for part in item.split(",") if what == "columns" else [item]:
            key, equals, value = part.partition("=")
            if not equals or not key.strip() or not value.strip():
                raise UsageError(f"bad --{what} {part!r}; write KEY=VALUE")
            found[key.strip()] = value.strip()
    return found


def _float(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--{what}: {text!r} is no number") from None


def _toml(path: str, allowed: Sequence[str]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as problem:
        raise UsageError(f"cannot read the configuration {path!r}: {problem.strerror}") from None
    except tomllib.TOMLDecodeError as problem:
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
        values[name] = value
    return values


def _dotted(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _dotted(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is list


def _checked(name: str, value: Any, kind: Any) -> Any:
    flag = f"--{name.replace('_', '-')}"
    if _is_list(kind):
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
