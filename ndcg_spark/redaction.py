"""What never leaves: passwords, tokens and signatures, wherever a text goes out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
# a name that ends in one of these words (ConnectionPassword, fs.s3a.secret.key), and one that is a
# word of its own (sig, not design)
_LONG = (
    r"pass(?:word|wd|phrase)|secret|token|credentials?|signature"
    r"|(?:api|access|account|secret|private|client|session)[-_.]?(?:key|secret|token)"
)
_SHORT = r"pass|pwd|sig|sas|auth(?:orization)?"
_KEY = (
    rf"(?:(?<![\w.-])[\w.-]*(?:{_LONG})(?:[-_.](?:key|id|value)|(?<=key)\.[\w.-]+)?"
    rf"|(?<![A-Za-z0-9])(?:{_SHORT}))"
)
_BARE = r"[\"']?[^\s&;,'\"<>)\]}]+"
_VALUE = rf"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|{_BARE})"""
_PATTERNS = [
    # name:password@ before a host; the password may hold / and @, so all up to the last @ goes
    (re.compile(r"(?i)\b([a-z][a-z0-9+.:-]{0,40}://)[^\s'\"<>/@:]*:[^\s'\"<>]*@"), rf"\1{HIDDEN}@"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.:-]{0,40}://)[^\s'\"<>/@]+@"), rf"\1{HIDDEN}@"),
    (re.compile(rf"(?i)(authorization[\"']?\s*[:=]\s*[\"']?\w+\s+){_BARE}"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)\b(bearer\s+)(?=\S{{8}}){_BARE}"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)({_KEY}[\"']?\s*[=:]\s*){_VALUE}"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), HIDDEN),
]


def redacted(text: str) -> str:
    """The text without passwords, tokens and signatures that it may carry.

    >>> redacted("s3a://key:hun/ter@2@bucket/runs")
    's3a://***@bucket/runs'
    >>> redacted("https://host/a?sig=x%2Fy&sp=r;password=p fs.s3a.secret.key=k")
    'https://host/a?sig=***&sp=r;password=*** fs.s3a.secret.key=***'
    >>> redacted("/data/a@b/runs, nDCG@10, significance=0.05")
    '/data/a@b/runs, nDCG@10, significance=0.05'
    """
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


def redacted_in(value: Any) -> Any:
    """The value with every text in it redacted: mappings and lists all through."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {key: redacted_in(item) for key, item in value.items()}
    return [redacted_in(item) for item in value] if isinstance(value, (list, tuple)) else value
