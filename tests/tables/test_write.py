"""The write protocol: killed at any moment, run again, one right copy; never two writers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from pyarrow import fs as pafs

from ndcg_spark.errors import InputError
from ndcg_spark.tables import links, locks, store
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.write import Output
from tools.soak import unpublished

TABLES = ("per_query", "aggregate", "manifest")


@pytest.fixture(params=["links", "copies"])
def layout(request, monkeypatch):
    """How tables are published: by links, or as on a file system that has none."""
    if request.param == "copies":
        monkeypatch.setattr(links, "possible", lambda *_: False)
    return request.param


def stage(output, text, tables=TABLES):
    for table in tables:
        name = "_manifest.json" if table == "manifest" else "part-0.json"
        output.write_json(table, name, {"text": text})


def publish(out, text, partition=None, tables=TABLES, optional=()):
    output = Output(str(out), partition)
    with output.writing():
        stage(output, text, tables)
        output.publish(tables, optional)
    return output


def found(out, partition="", tables=TABLES):
    return {
        json.loads(p.read_text())["text"]
        for table in tables
        for p in (out / table / partition).glob("*.json")
        if not re.match("_[0-9a-f]{32}-", p.name)  # the manifest is there under two names
    }


def leftovers(out, slug="whole"):
    return unpublished(out / ".ndcg_spark" / slug)


def pinned_texts(out):
    """What the tables of one run say, read as it is told."""
    texts = set()
    for (place,) in Output(str(out)).snapshot(TABLES).values():
        system, path = filesystem(place)
        if system.get_file_info(path).type == pafs.FileType.Directory:
            (path,) = (f.path for f in system.get_file_info(pafs.FileSelector(path)))
        with system.open_input_stream(path) as stream:
            texts.add(json.loads(stream.read())["text"])
    return texts


class Killed(BaseException):
    """Stands for SIGKILL: nothing may clean up after it."""


READS = {"get_file_info", "open_input_stream", "path", "readlink", "getpid", "fspath", "O_RDONLY",
         "open", "close", "uname", "environ", "sep", "listdir"}  # fmt: skip


class Gone:
    """A file system for what must not happen any more: nothing is there, and nothing is done."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: pafs.FileInfo("", pafs.FileType.NotFound)

    def open_input_stream(self, path):
        raise FileNotFoundError(path)


class Dying:
    """The calls of a file system, of which so many succeed; the next never returns."""

    def __init__(self, system, left):
        self._system, self._left = system, left

    def __getattr__(self, name):
        method = getattr(self._system, name)
        if name in READS:
            return method

        def call(*args, **kwargs):
            if self._left[0] == 0:
                raise Killed
            self._left[0] -= 1
            return method(*args, **kwargs)

        return call


def killed_run(out, survive, monkeypatch):
    """Publish "new", stopped before one of the calls that change anything; whether it was."""
    output = Output(str(out))
    left = [survive]
    output._store.fs = Dying(output._store.fs, left)
    with monkeypatch.context() as patch:
        patch.setattr(links, "os", Dying(os, left))
        patch.setattr(store, "os", Dying(os, left))
        patch.setattr(locks, "HEARTBEAT_SECONDS", 1e6)
        output._lock._mine["born"] = "another process, that has ended"
        context = output.writing()
        try:
            context.__enter__()
            stage(output, "new")
            output.publish(TABLES)
            context.__exit__(None, None, None)
        except Killed:
            output._store.local, output._store.fs = False, Gone()  # what ends now does nothing
            return True
        return False


@pytest.mark.parametrize("old", ["ours", "plain", None])
def test_a_kill_before_or_after_any_step(tmp_path, monkeypatch, layout, old):
    """Stop before every call of a publication; move the output; run again; one right copy."""
    steps = 0
    while True:
        out = tmp_path / str(steps)
        out.mkdir()
        if old == "ours":
            publish(out, "old")
        elif old == "plain":  # as an earlier version, or a copy that followed links, has it
            for table in TABLES:
                (out / table).mkdir(parents=True)
                name = "_manifest.json" if table == "manifest" else "part-0.json"
                (out / table / name).write_text('{"text": "old"}')
        killed = killed_run(out, steps, monkeypatch)
        if killed and layout == "links":
            assert found(out) in ({"old"}, {"new"}, set()) if old else ({"new"}, set())
            for table in TABLES:
                assert len(list((out / table).glob("*.json"))) <= 1
        if killed and old == "ours":
            assert pinned_texts(out) in ({"old"}, {"new"})
        moved = out.rename(tmp_path / f"moved-{steps}")
        publish(moved, "again")
        assert found(moved) == {"again"}
        assert leftovers(moved) == set()
        if not killed:
            break
        steps += 1
    assert steps > 9


@pytest.mark.parametrize("old", [True, False])
def test_an_interrupted_switch_is_finished_by_the_next_run(tmp_path, monkeypatch, layout, old):
    """Once the attempt is published or its journal written, recovery alone completes it."""
    steps = seen = 0
    while True:
        out = tmp_path / str(steps)
        out.mkdir()
        if old:
            publish(out, "old")
        killed = killed_run(out, steps, monkeypatch)
        work = out / ".ndcg_spark" / "whole"
        done = ((work / "current").is_symlink() and found(
            work / "current") == {"new"}) or (work / "journal.json").exists()  # fmt: skip
        out = out.rename(tmp_path / f"moved-{steps}") if killed else out
        if killed:
            with Output(str(out)).writing():
                pass
            expected = {"new"} if done else {"old"} if old else set()
            if found(out) != expected:  # the switch was the last of all steps
                assert found(out) == {"new"}
            seen += done
        else:
            break
        steps += 1
    assert seen >= 2


def test_readers_see_old_or_new_and_never_a_mix(tmp_path):
    """200 replacements: no table is ever absent, and pinned pairs are of one run."""
    publish(tmp_path, "0")
    done = threading.Event()
    counts = {"plain": 0, "pairs": 0}
    absent, mixed = [], []

    def plain():
        while not done.is_set():
            for table in TABLES[:2]:
                if not os.path.isdir(tmp_path / table):
                    absent.append(table)
                counts["plain"] += 1

    def pairs():
        while not done.is_set():
            pinned = Output(str(tmp_path)).snapshot(TABLES[:2])
            texts = set()
            for (place,) in pinned.values():
                with open(f"{place}/part-0.json") as file:
                    texts.add(json.load(file)["text"])
            if len(texts) != 1:
                mixed.append(texts)
            counts["pairs"] += 1

    readers = [threading.Thread(target=read) for read in (plain, pairs)]
    problems = []
    hook, threading.excepthook = threading.excepthook, problems.append
    try:
        for reader in readers:
            reader.start()
        for n in range(200):
            publish(tmp_path, str(n + 1))
    finally:
        done.set()
        for reader in readers:
            reader.join()
        threading.excepthook = hook
    assert (problems, absent, mixed) == ([], [], [])
    assert min(counts.values()) > 200
    assert found(tmp_path) == {"200"}


def test_a_replaced_generation_stays_for_its_readers_and_goes_in_time(tmp_path, monkeypatch):
    publish(tmp_path, "old")
    pinned = Output(str(tmp_path)).snapshot(["per_query"])["per_query"]
    publish(tmp_path, "new")
    with open(f"{pinned[0]}/part-0.json") as file:
        assert json.load(file)["text"] == "old"
    monkeypatch.setattr(links, "KEEP_SECONDS", -1.0)
    publish(tmp_path, "other", {"date": "2026-11-30"}, tables=("nightly",))
    assert not os.path.exists(pinned[0])
    assert len(list((tmp_path / ".ndcg_spark" / "whole").iterdir())) == 2


def test_tables_of_other_commands_stay(tmp_path, layout):
    publish(tmp_path, "first", tables=("per_query", "segments", "manifest"))
    publish(tmp_path, "second", tables=("comparison", "manifest"))
    assert found(tmp_path, tables=("per_query", "segments")) == {"first"}
    assert found(tmp_path, tables=("comparison", "manifest")) == {"second"}
    publish(tmp_path, "third", tables=("per_query", "manifest"), optional=("segments",))
    assert not (tmp_path / "segments").exists()
    assert not (tmp_path / "segments").is_symlink()
    assert found(tmp_path, tables=("per_query", "manifest")) == {"third"}
    assert found(tmp_path, tables=("comparison",)) == {"second"}
    assert leftovers(tmp_path) == set()


def test_a_table_that_the_engine_wrote_elsewhere(tmp_path, layout):
    publish(tmp_path, "old")
    output = Output(str(tmp_path))
    with pytest.raises(InputError, match="E158: the engine wrote no 'aggregate'"), output.writing():
        stage(output, "new", ("per_query", "manifest"))
        output.publish(TABLES)
    assert found(tmp_path) == {"old"}
    assert leftovers(tmp_path) == set()


def journal(out, content):
    work = out / ".ndcg_spark" / "whole"
    work.mkdir(parents=True, exist_ok=True)
    (work / "journal.json").write_text(content)


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "7", '{"attempt": "x"}',
        '[{"new": "/etc", "old": "/tmp/x", "to": "/etc"}]',
        '{"attempt": "../..", "new": {}, "old": {}}',
        '{"attempt": "attempt-%s", "new": {}, "old": {"../other": ["a"]}}' % ("0" * 32),
        '{"attempt": "attempt-%s", "new": {}, "old": {"per_query": ["../../x"]}}' % ("0" * 32),
        '{"attempt": "attempt-%s", "new": {"per_query": ["gone.json"]}, "old": {}}' % ("0" * 32),
    ],
)  # fmt: skip
def test_a_journal_that_is_not_ours_is_refused_and_nothing_is_deleted(
    tmp_path, monkeypatch, content
):
    monkeypatch.setattr(links, "possible", lambda *_: False)
    publish(tmp_path, "old")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").touch()
    before = sorted(p for p in tmp_path.rglob("*") if ".ndcg_spark" not in str(p))
    journal(tmp_path, content)
    with pytest.raises(InputError, match="E157: the journal"):
        publish(tmp_path, "new")
    assert sorted(p for p in tmp_path.rglob("*") if ".ndcg_spark" not in str(p)) == before
    assert found(tmp_path) == {"old"}


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


def lock_file(out, content, old=0.0):
    folder = out / ".ndcg_spark" / "whole"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lock").write_text(content)
    os.utime(folder / "lock", (time.time() - old,) * 2)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"owner": 7}', "\0" * 64, "[" * 100_000])
def test_a_lock_that_cannot_be_read_is_being_written_or_damaged(tmp_path, content):
    lock_file(tmp_path, content)
    with pytest.raises(InputError, match="E154"):
        publish(tmp_path, "x")
    lock_file(tmp_path, content, old=60)
    publish(tmp_path, "x")
    assert found(tmp_path) == {"x"}
    assert leftovers(tmp_path) == set()


def owner(**facts):
    own = {"owner": "0" * 32, **locks._process(os.getpid()), "at": time.time()}
    return json.dumps({**own, **facts})


@pytest.mark.parametrize(
    ("facts", "old", "alive"),
    [
        ({}, 1e4, True),  # this very process: slow, but alive
        ({"space": "another container", "pid": 2**22 + 1}, 30, True),
        ({"space": "another container"}, 1e4, False),
        ({"space": None, "pid": None}, 30, True),
        ({"pid": 2**22 + 1}, 0, False),
        ({"born": "1"}, 0, False),  # the number was given to another process since
        ({"pid": "x", "at": "x"}, 30, True),
    ],
)
def test_who_is_alive(tmp_path, facts, old, alive):
    lock_file(tmp_path, owner(**facts), old)
    if alive:
        with pytest.raises(InputError, match="E154: another run is writing"):
            publish(tmp_path, "x")
    else:
        publish(tmp_path, "x")
        assert found(tmp_path) == {"x"}


def test_a_killed_child_that_nobody_waited_for_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert locks._process(child.pid)["born"] != "never"
    child.kill()
    while locks._process(child.pid)["born"] != "never":
        time.sleep(0.01)
    child.wait()


TAKE = """
import sys
from ndcg_spark.tables.locks import Lock
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.store import Store
store = Store(*filesystem(sys.argv[1]))
for line in sys.stdin:  # the sign to begin
    name = line.strip()
    try:
        Lock(store, name, sys.argv[2]).take("out")
        print("held", flush=True)
    except Exception as problem:
        print(str(problem)[:4], flush=True)
"""


@pytest.mark.parametrize("moment", ["lock.Lock._text", "os.link", "os.unlink"])
def test_killed_while_it_takes_the_lock(tmp_path, moment):
    """A lock has its owner's name from its first moment, so the next run need not wait."""
    whole = TAKE.replace("for line", f"lock = sys.modules['ndcg_spark.tables.locks']\n"
                         f"import os\n{moment} = lambda *_: os._exit(9)\nfor line")  # fmt: skip
    taker = [sys.executable, "-c", whole, str(tmp_path), "1" * 32]
    assert subprocess.run(taker, input="7\n", text=True, check=False).returncode == 9
    place = store.Store(*filesystem(str(tmp_path)))
    locks.Lock(place, "7", "2" * 32).take("out")
    assert json.loads((tmp_path / "7").read_text())["owner"] == "2" * 32


def test_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    publish(tmp_path, "x")
    assert found(tmp_path) == {"x"}
    assert leftovers(tmp_path) == set()


def test_one_of_many_takes_over_a_dead_lock(tmp_path):
    """Six processes find a dead owner's lock at once, fifty times: each has one heir."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE, str(tmp_path), f"{n:032d}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for n in range(6)
    ]  # fmt: skip
    try:
        for turn in range(50):
            (tmp_path / str(turn)).write_text(owner(pid=2**22 + 1))
            for racer in racers:
                racer.stdin.write(f"{turn}\n")
                racer.stdin.flush()
            said = sorted(racer.stdout.readline().strip() for racer in racers)
            assert said == ["E154"] * 5 + ["held"]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


def test_a_run_that_was_taken_for_dead_publishes_nothing(tmp_path, layout):
    publish(tmp_path, "old")
    output = Output(str(tmp_path))
    with pytest.raises(InputError, match="E154: this run lost its lock"), output.writing():
        stage(output, "late")
        lock_file(tmp_path, owner(space="another container"))
        output.publish(TABLES)
    assert found(tmp_path) == {"old"}
    assert (tmp_path / ".ndcg_spark" / "whole" / "lock").exists()  # the other's


@pytest.mark.parametrize("name", [".ndcg_spark", ".ndcg_spark/whole", "per_query"])
def test_a_file_where_a_directory_must_be(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"E153: cannot write .* is a file"):
        publish(tmp_path, "x")
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize("form", ["file:{}", "file://{}", "file://localhost{}", "FILE://{}"])
def test_one_place_in_every_form(tmp_path, form):
    publish(form.format(tmp_path), "x")
    assert found(tmp_path) == {"x"}
    assert Output(form.format(tmp_path)).staged("t").startswith(f"{tmp_path}/.ndcg_spark/")


@pytest.mark.parametrize("out", ["file://elsewhere/x", "s4://bucket/x", "ftp://host/x"])
def test_a_place_that_nobody_can_write_is_refused_at_once(out):
    with pytest.raises(InputError, match="E156"):
        Output(out)


def test_a_failing_run_leaves_the_old_table_and_nothing_else(tmp_path):
    publish(tmp_path, "old")
    output = Output(str(tmp_path))
    with pytest.raises(RuntimeError), output.writing():
        stage(output, "new")
        raise RuntimeError
    assert found(tmp_path) == {"old"}
    assert leftovers(tmp_path) == set()


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
    assert leftovers(tmp_path / "o") == set()
    assert sorted(p.name for p in (tmp_path / "o").iterdir() if p.name[0] != ".") == [
        "aggregate",
        "manifest",
        "per_query",
    ]
