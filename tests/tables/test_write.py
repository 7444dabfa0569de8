"""The write protocol: killed at any moment, run again, one right copy; never two writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.tables import locks
from ndcg_spark.tables.write import Output

TABLES = ("per_query", "aggregate", "manifest")


def stage(output, text):
    for table in TABLES:
        output.write_json(table, "part-0.json", {"text": text})


def publish(out, text, partition=None):
    output = Output(str(out), partition)
    with output.writing():
        stage(output, text)
        output.publish(TABLES)


def found(out, partition=""):
    return {
        json.loads(p.read_text())["text"]
        for table in TABLES
        for p in (out / table / partition).glob("*.json")
    }


class Killed(BaseException):
    """Stands for SIGKILL: nothing may clean up after it."""


KEPT_OPEN = []  # contexts of killed runs: closing them would clean up


@pytest.mark.parametrize("old", [True, False], ids=["over an old table", "into nothing"])
def test_a_kill_before_or_after_any_step(tmp_path, monkeypatch, old):
    """Stop before every file-system call of a publication; run again; compare with a clean run."""
    steps = 0
    while True:
        out = tmp_path / str(steps)
        if old:
            publish(out, "old")
        killed = _killed_run(out, steps, monkeypatch)
        if killed:
            # a reader sees whole tables, old or new; one is away for the moment of its swap
            assert found(out) <= {"old", "new"}
            for table in TABLES:
                assert len(list((out / table).glob("*.json"))) <= 1
        publish(out, "again")
        assert found(out) == {"again"}
        assert [p.name for p in (out / ".ndcg_spark" / "whole").iterdir()] == []
        if not killed:
            break
        steps += 1
    assert steps > 15


def _killed_run(out, survive, monkeypatch):
    output = Output(str(out))
    left = [survive]

    class Dying:
        def __init__(self, system):
            self._system = system

        def __getattr__(self, name):
            method = getattr(self._system, name)

            def call(*args, **kwargs):
                if name in ("get_file_info", "open_input_stream"):
                    return method(*args, **kwargs)
                if left[0] == 0:
                    raise Killed
                left[0] -= 1
                return method(*args, **kwargs)

            return call

    output._fs = Dying(output._fs)
    with monkeypatch.context() as patch:
        patch.setattr(locks.Lock, "_created", _dead_owner(locks.Lock._created))
        patch.setattr(locks, "HEARTBEAT_SECONDS", 1e6)
        context = output.writing()
        KEPT_OPEN.append(context)
        try:
            context.__enter__()
            stage(output, "new")
            output.publish(TABLES)
            context.__exit__(None, None, None)
        except Killed:
            return True
        return False


def _dead_owner(created):
    """A lock as a killed process leaves it: its process no longer exists."""

    def create(self):
        done = created(self)
        if done:
            with open(self._path) as file:
                content = json.load(file)
            with open(self._path, "w") as file:
                json.dump({**content, "pid": 2**22 + 1}, file)
        return done

    return create


def test_an_interrupted_swap_is_finished_by_the_next_run(tmp_path, monkeypatch):
    publish(tmp_path, "old")
    moves = []
    output = Output(str(tmp_path))
    original = output._fs.move

    class Half:
        def __getattr__(self, name):
            return getattr(original.__self__, name)

        def move(self, a, b):
            moves.append((a, b))
            if len(moves) == 5:  # journal, old and new of the first table, old of the second
                raise Killed
            original(a, b)

    output._fs = Half()
    monkeypatch.setattr(locks.Lock, "_created", _dead_owner(locks.Lock._created))
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 1e6)
    with pytest.raises(Killed):
        context = output.writing()
        KEPT_OPEN.append(context)
        context.__enter__()
        stage(output, "new")
        output.publish(TABLES)
    monkeypatch.undo()
    fresh = Output(str(tmp_path))
    with fresh.writing():
        pass  # recovery alone completes what was verified before the kill
    assert found(tmp_path) == {"new"}


def test_two_writers_of_one_partition(tmp_path):
    first = Output(str(tmp_path), {"date": "2026-11-29"})
    with first.writing():
        with pytest.raises(InputError, match="E154: another run is writing"):
            publish(tmp_path, "second", {"date": "2026-11-29"})
        publish(tmp_path, "other", {"date": "2026-11-30"})
        stage(first, "first")
        first.publish(TABLES)
    assert found(tmp_path, "date=2026-11-29") == {"first"}
    assert found(tmp_path, "date=2026-11-30") == {"other"}


def test_a_lock_that_is_just_being_written_counts_as_held(tmp_path):
    folder = tmp_path / ".ndcg_spark" / "whole"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    with pytest.raises(InputError, match="E154"):
        publish(tmp_path, "x")
    os.utime(folder / "lock", (time.time() - 60,) * 2)
    publish(tmp_path, "x")
    assert found(tmp_path) == {"x"}


def test_a_failing_run_leaves_the_old_table_and_nothing_else(tmp_path):
    publish(tmp_path, "old")
    output = Output(str(tmp_path))
    with pytest.raises(RuntimeError), output.writing():
        stage(output, "new")
        raise RuntimeError
    assert found(tmp_path) == {"old"}
    assert list((tmp_path / ".ndcg_spark" / "whole").iterdir()) == []


def test_no_password_reaches_a_manifest():
    from ndcg_spark.tables.paths import redacted

    assert redacted("s3a://key:hunter2@bucket/runs") == "s3a://***@bucket/runs"
    assert redacted("/data/a@b/runs") == "/data/a@b/runs"


def test_layouts_do_not_mix(tmp_path):
    publish(tmp_path, "whole")
    with pytest.raises(InputError, match="E155"):
        publish(tmp_path, "part", {"date": "2026-11-29"})
    publish(tmp_path / "p", "part", {"date": "2026-11-29"})
    with pytest.raises(InputError, match="E155"):
        publish(tmp_path / "p", "whole")
    with pytest.raises(InputError, match="E155"):
        publish(tmp_path / "p", "part", {"day": "2026-11-29"})


@pytest.mark.cluster
def test_a_real_kill_and_a_real_rerun(tmp_path):
    """SIGKILL the whole process while it computes; the old output stays; the next run is clean."""
    demo = [
        sys.executable,
        "-m",
        "ndcg_spark",
        "demo",
        "--engine",
        "sail",
        "--out",
        str(tmp_path / "o"),
    ]
    subprocess.run([*demo, "-m", "RR"], check=True, capture_output=True)
    before = {p: p.read_bytes() for p in (tmp_path / "o").rglob("*.parquet")}
    for delay in (0.0, 0.05, 0.2):
        running = subprocess.Popen(demo, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lock = tmp_path / "o" / ".ndcg_spark" / "whole" / "lock"
        while not lock.exists() and running.poll() is None:
            time.sleep(0.002)
        time.sleep(delay)
        running.kill()
        running.wait()
        assert {p: p.read_bytes() for p in before if p.exists()}  # the tables are still read
    subprocess.run(demo, check=True, capture_output=True)
    assert not list((tmp_path / "o" / ".ndcg_spark" / "whole").iterdir())
    assert sorted(p.name for p in (tmp_path / "o").iterdir() if p.name[0] != ".") == [
        "aggregate",
        "manifest",
        "per_query",
    ]
