"""What never leaves: passwords, tokens and signatures, wherever a text goes out."""

from __future__ import annotations

import re

HIDDEN = "***"
_SECRET = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|sig|signature|sas|api[-_.]?key"
    r"|access[-_.]?key(?:[-_.]?id)?|account[-_.]?key|secret[-_.]?key|private[-_.]?key|auth(?:orization)?"
)
# a name that ends in one of these words, or is all of it: fs.s3a.secret.key, X-Amz-Signature
_KEY = rf"(?<![A-Za-z0-9])(?:[\w.-]*[-_.])?(?:{_SECRET})(?:[-_.]\w+)?"
_VALUE = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s&;,'"<>)\]}]+)"""
_PATTERNS = [
    # name:password@ before a host; the password may hold / and @, so all up to the last @ goes
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s'\"<>/@:]*:[^\s'\"<>]*@"), rf"\1{HIDDEN}@"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s'\"<>/@]+@"), rf"\1{HIDDEN}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
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
