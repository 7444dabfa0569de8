"""Run everything side by side and print one table: `python -m benchmarks [--rows N] [--runs N]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import data, ours, peers, process

TOLERANCE = 1e-9
SMALL = 1_000_000
# evaluation by single scores differs where scores tie: ranx leaves their order open
APPROXIMATE = {"ranx": 5e-3, "mllib": 5e-3}


@dataclass
class Task:
    """A command to measure on some data; `means` reads run -> measure -> mean off its output."""

    workload: str
    tool: str
    command: list[str]
    means: Callable[[str], peers.Means] | None = None
    slow: bool = False
    costs: list[process.Cost] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        return statistics.median(cost.cpu for cost in self.costs)


def tasks(
    deep: Path, short: Path, log: Path, scores: Path, ranked: Path, small: bool
) -> list[Task]:
    """What is compared with what."""
    six = list(peers.MEASURES)
    found = []
    for place, workload in ((deep, "deep"), (short, "short")):
        for engine in ("sail", "spark"):
            command = ours.command(engine, place, six)
            found.append(Task(workload, f"ndcg_spark {engine}", command, _ours))
        for tool in peers.PEERS:
            command = [sys.executable, "-m", "benchmarks.peers", tool, str(place)]
            if tool == "ranx" and workload == "short" and not small:
                continue  # it takes a second for every few thousand queries
            slow = tool not in ("duckdb", "polars")
            found.append(Task(workload, tool, command, json.loads, slow))
        window = [sys.executable, "-m", "benchmarks.ours", "spark", str(place)]
        found.append(Task(workload, "bare window spark", window))
    for engine in ("sail", "spark"):
        cut = ours.command(engine, deep, ["nDCG@10", "P@10"])
        found.append(Task("deep, cut-offs only", f"ndcg_spark {engine}", cut, _ours))
        found.append(Task("deep, pruned", f"ndcg_spark {engine}", [*cut, "--prune"], _ours))
        ranks = ours.command(engine, deep, six, "--order-by", "rank")
        found.append(Task("deep, ranks given", f"ndcg_spark {engine}", ranks))
        thirty = ours.command(engine, deep, ours.THIRTY)
        found.append(Task("deep, 30 measures", f"ndcg_spark {engine}", thirty))
    for engine in ("sail", "spark"):
        found.append(Task("impressions", f"ndcg_spark {engine}", ours.clicks(engine, log), _clicks))
    found.append(
        Task(
            "impressions",
            "duckdb",
            [sys.executable, "-m", "benchmarks.peers", "patterns", str(log)],
            json.loads,
        )
    )
    for engine in ("sail", "spark"):
        t = ours.compare(engine, scores, "--test", "t")
        found.append(Task("comparison", f"ndcg_spark {engine}", t, _differences))
        both = ours.compare(engine, scores, "--test", "t,bootstrap")
        found.append(Task("comparison, bootstrap", f"ndcg_spark {engine}", both))
        growing = ours.distinguish(engine, ranked)
        found.append(Task("distinguishability", f"ndcg_spark {engine}", growing))
    for tool, name in (("duckdb", "differences"), ("pandas, scipy", "paired_t")):
        command = [sys.executable, "-m", "benchmarks.peers", name, str(scores)]
        found.append(Task("comparison", tool, command, json.loads, name == "paired_t"))
    return found


def _differences(output: str) -> peers.Means:
    found: peers.Means = {}
    for row in json.loads(output)["comparison"]:
        pair = f"{row['candidate']} - {row['baseline']}"
        found.setdefault(pair, {})[row["measure"]] = row["delta"]
    return found


def _ours(output: str) -> peers.Means:
    found: peers.Means = {}
    for row in json.loads(output)["aggregate"]:
        found.setdefault(row["run_id"], {})[row["measure"]] = row["mean"]
    return found


def _clicks(output: str) -> peers.Means:
    return {
        row["arm"]: {row["measure"]: row["mean"]}
        for row in json.loads(output)["daily"]
        if row["segment"] == "all" and row["measure"] == "nDCG@10"
    }


def check(done: list[Task]) -> None:
    """Compare every tool's means with those of pytrec_eval, or else of the first tool.

    Raises:
        SystemExit: where two tools disagree; no figure is printed then.
    """
    for workload in ("deep", "short", "impressions", "comparison"):
        found = {
            task.tool: task.means(task.costs[0].output)
            for task in done
            if task.means and task.workload.split(",")[0] == workload
        }
        reference = "pytrec_eval" if "pytrec_eval" in found else next(iter(found), None)
        for tool, means in found.items():
            for run, values in means.items():
                for measure, value in values.items():
                    right = found[reference][run].get(measure)
                    if right is None:
                        continue
                    if abs(value - right) > APPROXIMATE.get(tool, TOLERANCE):
                        raise SystemExit(
                            f"{workload}: {tool} gives {measure} of {run} as {value}, "
                            f"{reference} as {right}"
                        )


def machine() -> str:
    """What a reader must know of the machine: processors, memory, versions; no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = []
    for name in ("pyspark", "pysail", "duckdb", "polars", "pytrec_eval-terrier", "ir_measures",
                 "ranx", "numpy", "pyarrow"):  # fmt: skip
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} -")
    return (
        f"{os.cpu_count()} processors, {memory:.0f} GB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; {', '.join(packages)}"
    )


def table(done: list[Task]) -> str:
    """Markdown: CPU, wall and memory, and CPU as a multiple of DuckDB's and the bare window's."""
    lines = [
        "| workload | tool | CPU s (min–max) | wall s | peak GB | runs | × DuckDB | × window |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cpu = {(task.workload, task.tool): task.cpu for task in done}
    for task in done:
        base = task.workload.split(",")[0]
        low, high = min(c.cpu for c in task.costs), max(c.cpu for c in task.costs)
        wall = statistics.median(c.wall for c in task.costs)
        peak = statistics.median(c.peak for c in task.costs)
        ratios = [
            f"{task.cpu / cpu[base, peer]:.2f}" if (base, peer) in cpu else "-"
            for peer in ("duckdb", "bare window spark")
        ]
        lines.append(
            f"| {task.workload} | {task.tool} | {task.cpu:.1f} ({low:.1f}–{high:.1f}) | "
            f"{wall:.1f} | {peak:.2f} | {len(task.costs)} | {' | '.join(ratios)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, default=16_000_000, help="run rows of each workload")
    parser.add_argument("--runs", type=int, default=3, help="runs of each tool (slow peers: one)")
    parser.add_argument("--jvm-once", action="store_true", help="run JVM Spark once only")
    parser.add_argument("--only", default="", help="workloads and tools whose name holds this text")
    parser.add_argument("--data", default="bench_data", help="where the data are made and kept")
    given = parser.parse_args()
    place = Path(given.data).resolve()
    deep = data.make_lists(place / f"deep-{given.rows}", data.deep(given.rows))
    short = data.make_lists(place / f"short-{given.rows}", data.short(given.rows))
    log = data.make_impressions(place / f"impressions-{given.rows}", given.rows)
    scores = data.make_scores(place / f"scores-{given.rows}", given.rows)
    ranked = data.make_ranked(place / f"ranked-{given.rows}", given.rows)
    wanted = [
        task
        for task in tasks(deep, short, log, scores, ranked, given.rows <= SMALL)
        if given.only in f"{task.workload} {task.tool}"
    ]
    for number in range(given.runs):  # in turns, so that a slow minute hits all alike
        for task in wanted:
            if number and (task.slow or (given.jvm_once and "spark" in task.command)):
                continue
            task.costs.append(process.run(task.command))
            cost = task.costs[-1]
            print(
                f"{task.workload}: {task.tool}: {cost.cpu:.1f} CPU s, {cost.wall:.1f} s, "
                f"{cost.peak:.2f} GB",
                file=sys.stderr,
                flush=True,
            )
    check(wanted)
    print(f"{given.rows:,} run rows; {machine()}\n")
    print(table(wanted))


if __name__ == "__main__":
    main()
