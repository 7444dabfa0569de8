"""What a long job says while it runs: the engine's name first, then, on a terminal, how far it is.

Nothing is said before `listen` was called: a Python user's session stays silent.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TextIO

from ndcg_spark.engine.sessions import Engine, is_remote

TAG = "ndcg_spark"
_say: Callable[[str], None] | None = None


class Stage(Protocol):
    """What Spark Connect reports of a stage."""

    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


def listen(say: Callable[[str], None] | None) -> None:
    """Where messages go; None: nowhere."""
    global _say
    _say = say


def begin(engine: Engine, job: str, quiet: bool) -> None:
    """Name the engine, tag what the session runs, and show progress where a user looks on.

    job: what the tag of the engine's jobs ends with, such as ``evaluate``
    """
    if hasattr(engine.spark, "addTag"):  # classic Spark has it from 4.0 on
        engine.spark.addTag(f"{TAG}-{job}")
    if _say is None or quiet:
        return
    _say(f"engine {engine.name}")
    if sys.stderr.isatty() and is_remote(engine.spark):
        handler = getattr(engine.spark, "registerProgressHandler", None)  # from Spark 4.0 on
        if handler:
            handler(Line(sys.stderr))


class Line:
    """One line of a terminal that is written over: stages, tasks, bytes read, time left."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._begun: dict[str, float] = {}
        self._width = 0

    def __call__(
        self,
        stages: Iterable[Stage] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
        **_: Any,
    ) -> None:
        operation = operation_id or ""
        begun = self._begun.setdefault(operation, self._clock())
        if done:
            self._begun.pop(operation, None)
            self._show("")
            return
        known = list(stages or ())
        if known:
            self._show(described(known, inflight_tasks, self._clock() - begun))

    def _show(self, text: str) -> None:
        self._out.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        self._out.flush()
        self._width = len(text)


def described(stages: list[Stage], running: int, seconds: float) -> str:
    """How far an operation is, in at most 80 characters.

    Time left is that of the stages that the engine knows of, by the tasks done so far: said from a
    twentieth of them and five seconds on.
    """
    tasks = sum(stage.num_tasks for stage in stages)
    completed = sum(stage.num_completed_tasks for stage in stages)
    parts = [
        f"stage {min(sum(stage.done for stage in stages) + 1, len(stages))} of {len(stages)}",
        f"{completed:,} of {tasks:,} tasks, {running} running",
    ]
    if read := sum(stage.num_bytes_read for stage in stages):
        parts.append(f"{_bytes(read)} read")
    if completed >= max(tasks / 20, 1) and seconds >= 5 and completed < tasks:
        parts.append(f"about {_time(seconds * (tasks - completed) / completed)} left")
    return ", ".join(parts)[:80]


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.0f} {unit}"
        n /= 1000
    return f"{n:.1f} TB"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
