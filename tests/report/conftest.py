"""What the jobs write of the sample data, once for all tests of the report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from ndcg_spark import cli, sample
from ndcg_spark.engine import sessions
from ndcg_spark.engine.sessions import Engine

SAMPLE = Path(sample.__file__).parent
DAY = "2026-11-29"
JOBS = {
    "tables": "evaluate --qrels qrels --runs runs -m nDCG@5,nDCG@10,nDCG@20,AP,RR,P@5,P@10",
    "comparison": "compare --scores tables --baseline bm25",
    "explained": "explain --qrels qrels --runs runs -m nDCG@10 --baseline bm25 --worst 14",
    "clicks": f"clicks --impressions impressions --date {DAY} --days 2 --segments country --baseline A",
    "bias": f"click-bias --impressions impressions --date {DAY} --depth 5",
    "verdicts": "distinguishability --runs runs --qrels qrels --grid 5,10,20 --min-docs 10 "
    "-m nDCG,nDCG(dis='exp2'),nDCG@10",
}


@dataclass(frozen=True)
class Outputs:
    folder: Path

    @property
    def all(self) -> list[str]:
        return [str(self.folder / name) for name in JOBS]

    @property
    def tables(self) -> str:
        return str(self.folder / "tables")

    @property
    def comparison(self) -> str:
        return str(self.folder / "comparison")


@pytest.fixture(scope="package")
def outputs(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    before = os.getcwd()
    with pytest.MonkeyPatch.context() as patch:
        shared = Engine(engine.spark, engine.name, engine.embedded, engine.local_files)
        patch.setattr(Engine, "stop", lambda self: None)
        patch.setattr(sessions, "open_engine", lambda *_: shared)
        os.chdir(folder)
        try:
            for name, line in JOBS.items():
                words = [
                    str(SAMPLE / f"{word}.parquet")
                    if word in ("qrels", "runs", "impressions")
                    else word
                    for word in line.split(" ")
                ]
                assert cli.main([*words, "--out", name]) == 0, name
        finally:
            os.chdir(before)
    return Outputs(folder)
