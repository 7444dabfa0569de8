"""The options of `nd.clicks` as keywords, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class GainKeywords(TypedDict, total=False):
    """What a result is worth: the options of all commands on click logs that say so."""

    events: Sequence[str] | Mapping[str, float]
    label: str
    dwell: Sequence[str] | Mapping[float, float]


class LogKeywords(GainKeywords, total=False):
    """The options of all commands on click logs."""

    date: str
    days: int
    start: str
    to: str
    arm: str
    user: str
    columns: Sequence[str] | Mapping[str, str]
    timezone: str
    buckets: int
    events_table: str


class PatternKeywords(LogKeywords, total=False):
    """Those of `patterns`."""

    segments: Sequence[str]
    bot_impressions: int
    bot_clicks: int
    deduplicate: bool


class UsersKeywords(LogKeywords, total=False):
    """Those of `users`."""

    bot_impressions: int
    bot_clicks: int


class PastKeywords(PatternKeywords, total=False):
    """Those of `past`."""

    clickless: Literal["undefined", "zero"]


class QrelsKeywords(LogKeywords, total=False):
    """Those of `qrels`."""

    method: Literal["counts", "ctr", "coec", "dwell", "ips"]
    thresholds: Sequence[str] | Mapping[float | str, float]
    per_days: bool
    prior: str
    lower: float | None
    votes: Literal["impression", "user"]


class BiasKeywords(LogKeywords, total=False):
    """Those of `bias`."""

    method: Literal["adjacent_chain", "pivot", "randomized", "naive", "power_law", "em"]
    eta: float
    depth: int
    iterations: int
    utility: Literal["dcg", "rr", "recall"]
    cutoff: int
    clip: float
    min_shown: float


class StateKeywords(GainKeywords, total=False):
    """Those of `state`, `daily` and `differences`."""

    segments: Sequence[str]
    clickless: Literal["undefined", "zero"]


class DatedStateKeywords(StateKeywords, total=False):
    date: str


class InterleavedKeywords(LogKeywords, total=False):
    """Those of `interleaved`."""

    team: str
    segments: Sequence[str]
    deduplicate: bool
    clickless: Literal["undefined", "zero"]
    baseline: Literal["A", "B"]
