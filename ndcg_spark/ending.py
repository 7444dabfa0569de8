"""How the program ends when it is told to: soon, with nothing left behind.

An engine that is busy may not hear that it should stop. So a signal is an exception, whose
unwinding removes what the run wrote; the engine is not waited for; and where the unwinding hangs in
the engine's client, a watch removes it and ends the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import ClassVar, NoReturn

PATIENCE = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal that ends the program."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class _Ending:
    """Whether this process is the program itself, and is ending."""

    program = False
    begun = False
    said: Callable[[], None] | None = None
    cleanups: ClassVar[list[Callable[[], None]]] = []


@contextlib.contextmanager
def as_program(said: Callable[[], None]) -> Iterator[None]:
    """In the block the process is the command itself: a signal ends it within seconds.

    A second signal ends it at once. A signal that is ignored (nohup) stays so.

    said: tells the user that the run was interrupted
    """
    old = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        if old[number] != signal.SIG_IGN:
            signal.signal(number, _end)
    _Ending.program, _Ending.said = True, said
    try:
        yield
    finally:
        _Ending.program = False
        for number in SIGNALS:
            signal.signal(number, old[number])


def _end(number: int, _: object) -> NoReturn:
    if _Ending.begun:
        os._exit(128 + number)
    watch(128 + number)
    raise Interrupted(number)


def ending() -> bool:
    """Whether the program is on its way out, so that nothing is worth waiting for."""
    return _Ending.begun


def watch(code: int) -> None:
    """End the program with this code after `PATIENCE`, whatever it is doing."""
    if _Ending.program and not _Ending.begun:
        _Ending.begun = True
        timer = threading.Timer(PATIENCE, _leave_anyway, [code])
        timer.daemon = True
        timer.start()


def _leave_anyway(code: int) -> None:
    for cleanup in reversed(_Ending.cleanups):
        with contextlib.suppress(Exception):
            cleanup()
    if _Ending.said:
        _Ending.said()
    leave(code)


@contextlib.contextmanager
def cleaned_by(cleanup: Callable[[], None]) -> Iterator[None]:
    """After the block, clean up; also where the program ends without coming to its end."""
    _Ending.cleanups.append(cleanup)
    try:
        yield
    finally:
        cleanup()
        _Ending.cleanups.remove(cleanup)


def leave(code: int) -> None:
    """End the process now, where it is the program: no engine is asked, no thread awaited."""
    if not _Ending.program:
        return
    remove_temporary()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


_MADE: list[str] = []


def temporary(prefix: str) -> str:
    """A new directory that is removed when the program ends."""
    _MADE.append(tempfile.mkdtemp(prefix=prefix))
    return _MADE[-1]


@atexit.register
def remove_temporary() -> None:
    """Remove the directories of `temporary`."""
    while _MADE:
        shutil.rmtree(_MADE.pop(), ignore_errors=True)
