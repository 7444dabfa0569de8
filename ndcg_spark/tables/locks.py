"""One writer of a partition at a time.

A lock is a small file with the random id of its owner, which the owner writes anew every
`HEARTBEAT_SECONDS`. An owner that has not done so for `STALE_SECONDS` is dead, wherever it ran. One
that ran here, on this boot and among these processes, is dead as soon as its process is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from ndcg_spark.errors import InputError
from ndcg_spark.tables.store import Store

STALE_SECONDS = 120.0
HEARTBEAT_SECONDS = 10.0
GRACE_SECONDS = 5.0
SETTLE_SECONDS = 1.0


class Lock:
    """The lock of one partition, at a name in the store, for one owner."""

    def __init__(self, store: Store, name: str, owner: str) -> None:
        self._store, self._name, self._owner = store, name, owner
        self._done = threading.Event()
        self._mine = {"owner": owner, **_process(os.getpid())}

    def take(self, out: str) -> None:
        """Take the lock, from a dead owner too.

        Raises:
            InputError: E154 where another run holds it.
        """
        if not self._created():
            with self._alone():  # of many that find a dead owner one takes over
                holder = self._read()
                if self._alive(holder):
                    raise InputError("E154", _held(out, holder))
                self._set_aside(holder)
                if not self._created():
                    raise InputError("E154", _held(out, self._read()))
        threading.Thread(target=self._beat, daemon=True).start()

    def check(self, out: str) -> None:
        """Refuse to go on where the lock is no longer ours: we were taken for dead (E154)."""
        holder = self._read()
        if not holder or holder.get("owner") != self._owner:
            raise InputError(
                "E154",
                f"this run lost its lock of {out!r}: it gave no sign of life for "
                f"{STALE_SECONDS:.0f} s and another run took over; nothing was published",
            )

    def release(self) -> None:
        self._done.set()
        holder = self._read()
        if holder and holder.get("owner") == self._owner:
            self._store.remove(self._name)

    def _created(self) -> bool:
        if self._store.local:
            return self._created_here()
        if self._store.exists(self._name):
            return False
        self._store.write(self._name, self._text().encode(), self._owner)
        time.sleep(SETTLE_SECONDS)  # object stores have no exclusive create: the last one stays
        return (self._read() or {}).get("owner") == self._owner

    def _created_here(self) -> bool:
        """By a link to a file that is whole: a kill at any moment leaves no lock without owner."""
        whole, lock = (self._store.path(n) for n in (f"{self._name}.{self._owner}", self._name))
        try:
            with open(whole, "w") as file:
                file.write(self._text())
            try:
                os.link(whole, lock)
            except (FileExistsError, FileNotFoundError):  # another's; or one cleaned up ours
                return False
            except OSError:  # a file system without hard links
                with open(lock, "x") as file:
                    file.write(self._text())
            return True
        except FileExistsError:
            return False
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(whole)

    def _set_aside(self, dead: dict[str, Any] | None) -> None:
        """Take a dead owner's lock away; put it back if it was another's by then."""
        aside = f"{self._name}.{self._owner}.dead"
        try:
            self._store.fs.move(self._store.path(self._name), self._store.path(aside))
        except FileNotFoundError:  # released just now
            return
        if (self._read(aside) or {}).get("owner") != (dead or {}).get("owner"):
            self._store.replace(aside, self._name)
        self._store.remove(aside)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold off other processes of this machine; the system lets go when a process dies."""
        if not self._store.local:
            yield
            return
        folder = os.open(os.path.dirname(self._store.path(self._name)), os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system without such locks
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _beat(self) -> None:
        while not self._done.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(OSError):  # the next beat may succeed; check() has the word
                holder = self._read()
                if (holder or {}).get("owner") != self._owner:
                    return
                self._store.write(self._name, self._text().encode(), self._owner)

    def _text(self) -> str:
        return json.dumps({**self._mine, "at": time.time()})

    def _read(self, name: str | None = None) -> dict[str, Any] | None:
        """What the lock says; None where it is absent, being written or damaged."""
        try:
            found = json.loads(self._store.read(name or self._name) or b"")
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("owner"), str) else None

    def _alive(self, holder: dict[str, Any] | None) -> bool:
        """Whether the lock's owner may still be writing."""
        if not self._store.exists(self._name):
            return False
        age = self._store.age(self._name, time.time())
        if holder is None:  # being written just now, or left unfinished by a kill
            return age < GRACE_SECONDS
        here = self._mine["space"] is not None and holder.get("space") == self._mine["space"]
        if here and isinstance(holder.get("pid"), int):
            return bool(_process(holder["pid"]).get("born") == holder.get("born"))
        return age < STALE_SECONDS


def _held(out: str, holder: dict[str, Any] | None) -> str:
    at = (holder or {}).get("at")
    seen = ""
    if isinstance(at, (int, float)):
        seen = f" (its last sign of life was {time.time() - at:.0f} s ago)"
    return (
        f"another run is writing this partition of {out!r}{seen}; wait for it. The lock "
        f"of a dead run is free after {STALE_SECONDS:.0f} s"
    )


def _process(pid: int) -> dict[str, Any]:
    """A process: its number, when it was born, and among which processes that number counts.

    The space is a digest of the boot and the process namespace: two containers of one host differ.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        spaces = f"{boot} {os.readlink('/proc/self/ns/pid')}"
        space = hashlib.sha256(spaces.encode()).hexdigest()[:16]
    except OSError:  # not Linux: only the heartbeat tells
        return {"pid": pid, "born": None, "space": None}
    try:
        with open(f"/proc/{pid}/stat") as file:
            state, *more = file.read().rpartition(")")[2].split()
        born = "never" if state == "Z" else more[18]
    except OSError:
        born = "never"
    return {"pid": pid, "born": born, "space": space}
