"""The exceptions of ndcg_spark, their exit codes, and how a message is built."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ndcg_spark.redaction import redacted


class NdcgSparkError(Exception):
    """Anything ndcg_spark refuses to do; `exit_code` is what the command line returns."""

    exit_code = 1

    def __init__(self, *said: str) -> None:
        super().__init__(*map(redacted, said))


class UsageError(NdcgSparkError, ValueError):
    """A wrong flag, measure name, option or configuration key (exit 2)."""

    exit_code = 2


class CheckError(NdcgSparkError):
    """A check that was asked for did not hold (exit 4); what was written stays."""

    exit_code = 4


class InputError(NdcgSparkError):
    """Input or output that is refused (exit 3); `code` is a stable string such as ``E132``."""

    exit_code = 3

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = self.args

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class NdcgSparkWarning(UserWarning):
    """Anything ndcg_spark does, but has a doubt about."""

    def __init__(self, said: str) -> None:
        super().__init__(redacted(said))


class DiscountWarning(NdcgSparkWarning):
    """A discount under which the value of one query does not converge (theory: b > 1)."""


class InputWarning(NdcgSparkWarning):
    """A source that is perhaps not what was meant: without rows, or of several days."""


class JoinWarning(NdcgSparkWarning):
    """Runs and judgements that hardly meet: perhaps their ids are not of one kind."""


def nearest(value: str, allowed: Iterable[str]) -> str:
    """A hint `` (did you mean 'x'?)`` for the nearest allowed value, or an empty string."""
    folded = {name.casefold(): name for name in allowed}
    found = difflib.get_close_matches(value.casefold(), folded, n=1, cutoff=0.5)
    return f" (did you mean {folded[found[0]]!r}?)" if found else ""


def unknown(what: str, value: str, allowed: Iterable[str]) -> UsageError:
    """The error for a value outside a closed set: what, which value, the nearest, the allowed."""
    names = list(allowed)
    return UsageError(
        f"unknown {what} {value!r}{nearest(value, names)}; allowed: {', '.join(names)}"
    )
