"""One writer of a partition at a time."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from typing import Any

from pyarrow import fs as pafs

from ndcg_spark.errors import InputError

STALE_SECONDS = 300.0
HEARTBEAT_SECONDS = 15.0
GRACE_SECONDS = 5.0


class Lock:
    """A lock file with an owner and a heartbeat; one whose owner is dead may be taken over.

    The host enters only as a digest, to tell whether the owner's process can be asked for.
    """

    def __init__(self, system: pafs.FileSystem, path: str, owner: str) -> None:
        self._fs, self._path, self._owner = system, path, owner
        self._done = threading.Event()
        self._host = hashlib.sha256(os.uname().nodename.encode()).hexdigest()[:16]

    def take(self, out: str) -> None:
        if not self._created():
            if self._alive():
                raise InputError(
                    "E154",
                    f"another run is writing this partition of {out!r}; wait for it (its lock is "
                    f"{self._path!r})",
                )
            self._fs.delete_file(self._path)
            if not self._created():
                raise InputError("E154", f"another run has just begun to write {out!r}")
        threading.Thread(target=self._beat, daemon=True).start()

    def release(self) -> None:
        self._done.set()
        holder = self._read()
        if holder and holder.get("owner") == self._owner:
            self._fs.delete_file(self._path)

    def _created(self) -> bool:
        if isinstance(self._fs, pafs.LocalFileSystem):
            try:
                with open(self._path, "x") as file:
                    file.write(self._text())
            except FileExistsError:
                return False
            return True
        if self._read() is not None:  # object stores have no exclusive create: best effort
            return False
        self._write()
        holder = self._read()
        return bool(holder and holder.get("owner") == self._owner)

    def _beat(self) -> None:
        while not self._done.wait(HEARTBEAT_SECONDS):
            self._write()

    def _text(self) -> str:
        facts = {"owner": self._owner, "host": self._host, "pid": os.getpid(), "at": time.time()}
        return json.dumps(facts)

    def _write(self) -> None:
        with self._fs.open_output_stream(f"{self._path}.{self._owner}") as stream:
            stream.write(self._text().encode())
        self._fs.move(f"{self._path}.{self._owner}", self._path)

    def _read(self) -> dict[str, Any] | None:
        try:
            with self._fs.open_input_stream(self._path) as stream:
                return dict(json.loads(stream.read()))
        except (OSError, ValueError):
            return None

    def _alive(self) -> bool:
        """Whether the lock's owner may still be writing."""
        holder = self._read()
        if holder is None:  # being written just now, or left unfinished by a kill
            written = self._fs.get_file_info(self._path).mtime_ns or 0
            return time.time() - written / 1e9 < GRACE_SECONDS
        if holder.get("host") != self._host:
            return time.time() - float(holder.get("at", 0)) < STALE_SECONDS
        try:
            os.kill(int(holder["pid"]), 0)
        except PermissionError:
            return True
        except (OSError, KeyError, ValueError):
            return False
        return True
