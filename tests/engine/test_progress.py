"""The engine's name first, and a line of progress on a terminal only."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ndcg_spark import sample
from ndcg_spark.engine.progress import Line, described

SAMPLE = Path(sample.__file__).parent


@dataclass
class Stage:
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int = 0
    done: bool = False


@pytest.mark.parametrize(("stages", "seconds", "text"), [
    ([Stage(4, 0)], 1, "stage 1 of 1, 0 of 4 tasks, 2 running"),
    ([Stage(10, 10, 2_500_000, True), Stage(30, 10)], 60,
     "stage 2 of 2, 20 of 40 tasks, 2 running, 2 MB read, about 60 s left"),
    ([Stage(1000, 100, 3 * 10**12)], 3600,
     "stage 1 of 1, 100 of 1,000 tasks, 2 running, 3.0 TB read, about 9.0 h left"),
    ([Stage(1000, 10)], 3600, "stage 1 of 1, 10 of 1,000 tasks, 2 running"),  # too early to say
    ([Stage(2, 2, 0, True)], 9, "stage 1 of 1, 2 of 2 tasks, 2 running"),
])  # fmt: skip
def test_described(stages, seconds, text):
    assert described(stages, 2, seconds) == text


def test_the_line_is_written_over_and_cleared():
    out = io.StringIO()
    line = Line(out, clock=iter(range(100)).__next__)
    line([Stage(4, 0)], 2, "a", False)
    line(None, 0, "a", False)
    line([Stage(4, 4, 0, True)], 0, "a", True)
    shown = "stage 1 of 1, 0 of 4 tasks, 2 running"
    assert out.getvalue() == f"\r{shown}\r{' ' * len(shown)}\r"


def test_the_engine_is_named_first_and_quiet_says_nothing(run_cli):
    judged = ("--qrels", SAMPLE / "qrels.parquet", "--runs", SAMPLE / "runs.parquet")
    for command in (("evaluate", *judged), ("compare", *judged), ("explain", *judged),
                    ("clicks", "--impressions", SAMPLE / "impressions.parquet", "--date",
                     "2026-11-29")):  # fmt: skip
        code, _, err = run_cli(*command)
        assert code == 0
        assert err.startswith("ndcg-spark: engine "), command
        assert err.count("engine ") == 1
        code, _, err = run_cli(*command, "--quiet")
        assert (code, "engine" in err) == (0, False)


def test_jobs_are_tagged(run_cli, spark):
    if not hasattr(spark, "getTags"):
        pytest.skip("this Spark has no tags")
    run_cli("evaluate", "--qrels", SAMPLE / "qrels.parquet", "--runs", SAMPLE / "runs.parquet")
    assert "ndcg_spark-evaluate" in spark.getTags()
    spark.clearTags()


@pytest.mark.spark
def test_on_a_terminal(tmp_path):
    """A command on a real pseudo-terminal: the result is whole, and the line is gone at its end."""
    parent, child = pty.openpty()
    program = subprocess.run(
        [sys.executable, "-m", "ndcg_spark", "demo", "--engine", "sail", "--out", str(tmp_path / "t")],
        stdout=subprocess.PIPE, stderr=child, timeout=120, check=False,
    )  # fmt: skip
    os.close(child)
    err = os.read(parent, 2**16).decode()
    os.close(parent)
    assert program.returncode == 0, err
    assert b"nDCG@10" in program.stdout
    assert err.startswith("ndcg-spark: engine sail")
    last = err.splitlines()[-1]
    assert "stage" not in last.split("\r")[-1]
