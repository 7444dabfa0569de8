"""Many nights with kills at any moment: the tables must be those of one clean run, and nothing may
stay behind. usage: python -m tools.soak [NIGHTS] [SEED]
"""

from __future__ import annotations

import datetime
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FIRST = datetime.date(2026, 1, 1)


def write_night(place: pathlib.Path, day: datetime.date, seed: int) -> None:
    """Impressions of one night: 400 of ten results, of two arms and two countries."""
    rng = np.random.default_rng(seed)
    n = 400
    noon = datetime.datetime.combine(day, datetime.time(12), datetime.UTC)
    clicked = rng.random((n, 10)) < 0.3 / np.arange(1, 11)
    table = pa.table(
        {
            "impression_id": [f"{day}-{i}" for i in range(n)],
            "query_id": [f"q{i}" for i in rng.integers(0, 40, n)],
            "event_ts": pa.array([noon] * n, pa.timestamp("us", "UTC")),
            "user_id": [f"u{i}" for i in rng.integers(0, 120, n)],
            "arm": [str(arm) for arm in rng.choice(["A", "B"], n)],
            "country": [str(c) for c in rng.choice(["de", "fr"], n)],
            "doc_id": [[f"d{k}" for k in range(10)]] * n,
            "clicks": [[int(c) for c in row] for row in clicked],
        }
    )
    pq.write_table(table, place / f"{day}.parquet")


def command(log: pathlib.Path, out: pathlib.Path, day: datetime.date) -> list[str]:
    return [
        sys.executable, "-m", "ndcg_spark", "clicks", "--engine", "sail", "--impressions",
        str(log / f"{day}.parquet"), "--date", str(day), "--segments", "country", "--baseline", "A",
        "--since", str(max(FIRST, day - datetime.timedelta(days=6))), "--out", str(out), "--format",
        "json",
    ]  # fmt: skip


def content(out: pathlib.Path, table: str) -> list[str]:
    """The rows of a table by day, in an order of their own."""
    found = []
    for part in sorted((out / table).glob("event_date=*")):
        rows = pq.read_table(part).to_pylist()
        found += sorted(f"{part.name} {sorted(row.items())!r}" for row in rows)
    return found


def unpublished(work: pathlib.Path) -> set[str]:
    """What lies in a directory of ours but for what is published now or was a moment ago."""
    names = {p.name for p in work.iterdir()}
    current = work / "current"
    kept = {"current", "current.json", os.readlink(current) if current.is_symlink() else ""}
    for name in names:
        if name.startswith("replaced-"):
            kept |= {name, name.removeprefix("replaced-")}
    return names - kept


def main(nights: int = 200, seed: int = 1) -> int:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="ndcg_spark_soak_") as folder:
        place = pathlib.Path(folder)
        (place / "log").mkdir()
        (place / "tmp").mkdir()
        os.environ["TMPDIR"] = str(place / "tmp")
        kills = interrupts = 0
        usual = 4.0
        start = time.monotonic()
        for night in range(nights):
            day = FIRST + datetime.timedelta(days=night)
            write_night(place / "log", day, seed * 100_000 + night)
            job = command(place / "log", place / "out", day)
            for _ in range(chance.choice([0, 0, 1, 1, 2])):
                running = subprocess.Popen(
                    job, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                try:
                    running.wait(chance.uniform(0.4, 1.1) * usual)
                except subprocess.TimeoutExpired:
                    if chance.random() < 0.3:
                        running.terminate()
                        interrupts += 1
                    else:
                        running.kill()
                        kills += 1
                    running.wait()
            began = time.monotonic()
            done = subprocess.run(job, capture_output=True, text=True)
            usual = 0.8 * usual + 0.2 * (time.monotonic() - began)
            if done.returncode:
                print(f"night {day}: exit {done.returncode}: {done.stderr[-500:]}")
                return 1
            if (night + 1) % 20 == 0:
                took = time.monotonic() - start
                print(f"{night + 1} nights, {kills} kills, {interrupts} interrupts, {took:.0f} s",
                      flush=True)  # fmt: skip
        for night in range(nights):
            day = FIRST + datetime.timedelta(days=night)
            subprocess.run(command(place / "log", place / "clean", day), check=True,
                           capture_output=True)  # fmt: skip
        tables = sorted(p.name for p in (place / "clean").iterdir()
                        if p.name[0] != "." and "manifest" not in p.name)  # fmt: skip
        wrong = [t for t in tables if content(place / "out", t) != content(place / "clean", t)]
        works = (place / "out" / ".ndcg_spark").iterdir()
        left = [f"{work.name}/{name}" for work in works for name in unpublished(work)]
        stray = [p.name for p in (place / "tmp").iterdir() if "ndcg_spark" in p.name]
        rows = sum(len(content(place / "out", t)) for t in tables)
        took = time.monotonic() - start
        print(f"{nights} nights, {kills} kills, {interrupts} interrupts, {rows} rows, {took:.0f} s")
        print(f"tables: {', '.join(tables)}")
        print(f"tables unlike a clean run: {wrong}; left in the output: {left}; of killed runs in "
              f"the temporary directory: {len(stray)}")  # fmt: skip
        return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
