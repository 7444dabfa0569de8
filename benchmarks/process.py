"""What a command costs: CPU seconds and memory of its whole process tree, and its wall time."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
POLL = 0.1


@dataclass(frozen=True)
class Cost:
    cpu: float  # seconds, user and system
    wall: float  # seconds
    peak: float  # GB: the largest sum of the tree's resident memory seen (private and shared once)
    output: str


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> Cost:
    """Run a command to its end.

    The CPU time is the operating system's own account of all descendants, which are adopted and
    reaped here even where their parents do not wait for them (Python workers of a JVM).

    Raises:
        RuntimeError: where the command fails, with the end of its output.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = _used(), time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    memory = _Memory()
    output, errors = process.communicate()
    wall = time.monotonic() - started
    while True:  # what the command left behind
        try:
            if os.waitpid(-1, 0)[0] == 0:
                break
        except ChildProcessError:
            break
    peak = memory.stop()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:6])} … failed:\n{errors[-3000:]}")
    return Cost(_used() - before, wall, peak, output)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _Memory(threading.Thread):
    """The largest memory that all descendants of this process held together."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._peak, self._done = 0.0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._done.wait(POLL):
            self._peak = max(self._peak, sum(map(_held, _descendants(os.getpid()))))

    def stop(self) -> float:
        self._done.set()
        self.join()
        return self._peak / 2**20


def _descendants(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    found, old = {root}, 0
    while len(found) > old:
        old = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return sorted(found - {root})


def _held(pid: int) -> float:
    """Proportional memory of a process in kB (pages shared by n processes count 1/n)."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next(float(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0
