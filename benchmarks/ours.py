"""Our side: the installed command, and the bare window query that bounds it on JVM Spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

MEMORY = "4g"
THIRTY = [
    *(f"nDCG@{k}" for k in (1, 3, 5, 10, 20, 100)), "nDCG", "nDCG(gain='exp2')", "AP", "RR",
    *(f"P@{k}" for k in (1, 5, 10, 20, 100)), *(f"R@{k}" for k in (5, 10, 100, 1000)),
    *(f"AP@{k}" for k in (10, 100)), *(f"Success@{k}" for k in (1, 5)), "Rprec", "bpref", "RBP",
    "ERR(max_rel=3)@10", "Judged@10", "NumRet", "NumRelRet",
]  # fmt: skip


def command(engine: str, data: Path, measures: list[str], *flags: str) -> list[str]:
    """`ndcg-spark evaluate` as a user types it; on one machine the driver is the executor."""
    tables = ["--qrels", f"{data}/qrels", "--runs", f"{data}/runs", "-m", ",".join(measures)]
    return [*_job("evaluate", engine), *tables, *flags]


def clicks(engine: str, log: Path, *flags: str) -> list[str]:
    """`ndcg-spark clicks` on a day of impressions: patterns, state, summary."""
    return [*_job("clicks", engine), "--impressions", str(log), "--date", "2026-11-29", *flags]


def compare(engine: str, scores: Path, *flags: str) -> list[str]:
    """`ndcg-spark compare` of all pairs of systems."""
    return [*_job("compare", engine), "--scores", str(scores), *flags]


def distinguish(engine: str, ranked: Path) -> list[str]:
    """`ndcg-spark distinguishability`: twelve sizes, six measures."""
    sizes = "20,50,100,200,300,500,700,1000,1500,2000,3000,5000"
    tables = ["--runs", f"{ranked}/scores", "--qrels", f"{ranked}/qrels", "--grid", sizes]
    return [*_job("distinguishability", engine), *tables]


def _job(name: str, engine: str) -> list[str]:
    memory = ["--conf", f"spark.driver.memory={MEMORY}"] if engine == "spark" else []
    program = str(Path(sys.executable).with_name("ndcg-spark"))
    return [program, name, "--engine", engine, "--format", "json", *memory]


def jvm() -> Any:
    """A local session with the settings that the command uses."""
    from ndcg_spark.engine.sessions import open_engine

    return open_engine("spark", conf={"spark.driver.memory": MEMORY}).spark


def window(engine: str, data: Path) -> None:
    """Rank every list, and no more: scan, shuffle, sort."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from ndcg_spark.engine.sessions import open_engine

    opened = open_engine(engine, conf={"spark.driver.memory": MEMORY} if engine == "spark" else {})
    runs = opened.spark.read.parquet(f"{data}/runs")
    lists = Window.partitionBy("run_id", "query_id").orderBy(F.desc("score"), F.desc("doc_id"))
    ranked = runs.select("run_id", "query_id", "doc_id", F.row_number().over(lists).alias("rank"))
    ranked.agg(F.sum("rank"), F.max("doc_id")).collect()
    opened.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    window(sys.argv[1], Path(sys.argv[2]))
