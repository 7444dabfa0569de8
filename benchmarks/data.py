"""Seeded makers of benchmark data, of any size, in bounded memory: the same rows for a seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RUNS = ("baseline", "candidate")
ROWS_A_FILE = 2_000_000


@dataclass(frozen=True)
class Lists:
    """Ranked lists: every run answers `queries` queries with `docs` documents each."""

    queries: int
    docs: int
    judged: int  # judged documents a query, half of them retrieved by everybody
    runs: tuple[str, ...] = RUNS

    @property
    def rows(self) -> int:
        return len(self.runs) * self.queries * self.docs


def deep(rows: int) -> Lists:
    """1,000 documents a query, as a TREC run has."""
    return Lists(max(rows // 2_000, 1), 1_000, 60)


def short(rows: int) -> Lists:
    """10 documents a query, as a result page has."""
    return Lists(max(rows // 20, 1), 10, 20)


def make_lists(place: Path, lists: Lists, seed: int = 1) -> Path:
    """Write runs/ and qrels/ as zstd Parquet, shuffled within a file; a made one is kept.

    Documents of a query are numbered; a run retrieves a contiguous range of a shuffled numbering,
    so that no document comes twice. Scores are quantized: one list in some has ties.
    """
    if (place / "_done").exists():
        return place
    for table in ("runs", "qrels"):
        (place / table).mkdir(parents=True, exist_ok=True)
    per_file = max(ROWS_A_FILE // lists.docs, 1)
    for start in range(0, lists.queries, per_file):
        queries = np.arange(start, min(start + per_file, lists.queries))
        rng = np.random.default_rng([seed, start])
        name = f"part-{start // per_file:05d}.parquet"
        for number, run in enumerate(lists.runs):
            _write(place / "runs" / f"{run}-{name}", _run(lists, queries, run, number, rng))
        _write(place / "qrels" / name, _qrels(lists, queries, rng))
    (place / "_done").touch()
    return place


def make_impressions(place: Path, rows: int, seed: int = 1) -> Path:
    """Write impressions of ten results with clicks, one day, two arms; a made one is kept."""
    if (place / "_done").exists():
        return place
    place.mkdir(parents=True, exist_ok=True)
    size, per_file = 10, 1_000_000
    for start in range(0, rows, per_file):
        n = min(per_file, rows - start)
        rng = np.random.default_rng([seed, start])
        chance = 0.35 / np.arange(1, size + 1)
        clicks = (rng.random((n, size), dtype=np.float32) < chance).astype(np.int32).ravel()
        offsets = pa.array(np.arange(n + 1) * size, pa.int32())
        results = pa.StructArray.from_arrays(
            [
                _ids("d", rng.integers(0, 100_000, n * size)),
                pa.array(np.tile(np.arange(1, size + 1, dtype=np.int32), n)),
                pa.array(clicks),
            ],
            names=["doc_id", "rank", "clicks"],
        )
        table = pa.table(
            {
                "impression_id": _ids("i", np.arange(start, start + n)),
                "event_date": pa.array(["2026-11-29"]).take(pa.array(np.zeros(n, np.int8))),
                "query_id": _ids("q", rng.zipf(1.3, n) % 1_000_000),
                "user_id": _ids("u", rng.integers(0, max(rows // 8, 1), n)),
                "arm": pa.array(["A", "B"]).take(pa.array(rng.integers(0, 2, n))),
                "results": pa.ListArray.from_arrays(offsets, results),
            }
        )
        _write(place / f"part-{start // per_file:05d}.parquet", table)
    (place / "_done").touch()
    return place


SYSTEMS = ("bm25", "dense", "rerank")
SCORED = ("AP", "RR", "nDCG@10", "P@10", "R@100")


def make_scores(place: Path, rows: int, seed: int = 1) -> Path:
    """Write per-query scores of three systems by five measures, `rows` rows; a made one is kept."""
    if (place / "_done").exists():
        return place
    place.mkdir(parents=True, exist_ok=True)
    queries, per_file = max(rows // (len(SYSTEMS) * len(SCORED)), 1), 200_000
    for start in range(0, queries, per_file):
        n = min(per_file, queries - start)
        rng = np.random.default_rng([seed, start])
        hidden = rng.random((len(SCORED), n))
        own = 0.15 * rng.standard_normal((len(SYSTEMS), len(SCORED), n))
        better = 0.002 * np.arange(len(SYSTEMS))[:, None, None]
        every = np.arange(len(SYSTEMS) * len(SCORED) * n)
        table = pa.table(
            {
                "run_id": pa.array(SYSTEMS).take(pa.array(every // (len(SCORED) * n))),
                "query_id": _ids("q", start + every % n),
                "measure": pa.array(SCORED).take(pa.array(every // n % len(SCORED))),
                "value": np.clip(hidden + better + own, 0, 1).ravel(),
            }
        )
        _write(place / f"part-{start // per_file:05d}.parquet", table)
    (place / "_done").touch()
    return place


def make_ranked(place: Path, rows: int, docs: int = 5_000, seed: int = 1) -> Path:
    """Write scores/ of three systems for the same documents, `rows` rows, and qrels/ of the tenth
    that is relevant; a made one is kept."""
    if (place / "_done").exists():
        return place
    for table in ("scores", "qrels"):
        (place / table).mkdir(parents=True, exist_ok=True)
    queries, per_file = max(rows // (len(SYSTEMS) * docs), 1), 100
    for start in range(0, queries, per_file):
        n = min(per_file, queries - start)
        rng = np.random.default_rng([seed, start])
        name = f"part-{start // per_file:05d}.parquet"
        hidden = rng.random(n * docs)
        query = _ids("q", np.repeat(np.arange(start, start + n), docs))
        doc = _ids("d", np.tile(np.arange(docs), n))
        for number, run in enumerate(SYSTEMS):
            score = hidden + (1.0 - 0.2 * number) * rng.standard_normal(len(hidden))
            names = pa.array([run]).take(pa.array(np.zeros(len(hidden), np.int8)))
            table = {"run_id": names, "query_id": query, "doc_id": doc, "score": score}
            _write(place / "scores" / f"{run}-{name}", pa.table(table))
        good = pa.array(hidden > 0.9)
        grade = pa.array(np.where(hidden > 0.98, 2, 1))
        judged = {"query_id": query, "doc_id": doc, "relevance": grade}
        _write(place / "qrels" / name, pa.table(judged).filter(good))
    (place / "_done").touch()
    return place


def _run(
    lists: Lists, queries: np.ndarray, run: str, number: int, rng: np.random.Generator
) -> pa.Table:
    shape = (len(queries), lists.docs)
    docs = np.broadcast_to(np.arange(lists.docs), shape) + number * (lists.judged // 8)
    score = rng.normal(size=shape) + 2.0 * (docs < lists.judged // 2) * (1 + number)
    rank = np.argsort(np.argsort(-score, axis=1, kind="stable"), axis=1) + 1
    order = rng.permutation(score.size)
    return pa.table(
        {
            "run_id": pa.array([run]).take(pa.array(np.zeros(score.size, np.int8))),
            "query_id": _ids("q", np.repeat(queries, lists.docs)[order]),
            "doc_id": _ids("doc-", docs.ravel()[order] * 7919 % 1_000_003),
            "score": np.round(score.ravel()[order], 3),
            "rank": rank.ravel()[order].astype(np.int32),
        }
    )


def _qrels(lists: Lists, queries: np.ndarray, rng: np.random.Generator) -> pa.Table:
    half = lists.judged // 2
    docs = np.concatenate((np.arange(half), lists.docs * 3 + np.arange(lists.judged - half)))
    grade = rng.choice(4, size=(len(queries), lists.judged), p=[0.7, 0.15, 0.1, 0.05])
    grade[:, 0] = 1  # every query has something to find
    return pa.table(
        {
            "query_id": _ids("q", np.repeat(queries, lists.judged)),
            "doc_id": _ids("doc-", np.tile(docs, len(queries)) * 7919 % 1_000_003),
            "relevance": grade.ravel().astype(np.int64),
        }
    )


def _ids(prefix: str, numbers: np.ndarray) -> pa.Array:
    text = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise(prefix, text, "")


def _write(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, compression="zstd")
