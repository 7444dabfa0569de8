"""Make the sample data that ships with the package (seeded: the same files every time).

300 queries of a made-up product search, grades 0 to 3, three systems: `bm25` (lexical: coarse
scores with ties), `dense` (better, but it misses some queries' vocabulary) and `rerank` (the best,
over dense's candidates). One query has no relevant document, each system misses a few queries,
and about a third of what is retrieved was never judged.
"""

from __future__ import annotations

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent.parent / "ndcg_spark" / "sample"
QUERIES, POOL, DEPTH = 300, 140, 100
SYSTEMS = {"bm25": (0.8, 0.5), "dense": (1.4, 0.0), "rerank": (2.2, 0.0)}  # signal, rounding


def main() -> None:
    rng = np.random.default_rng(2013)
    qrels: dict[str, list] = {"query_id": [], "doc_id": [], "relevance": []}
    runs: dict[str, list] = {"run_id": [], "query_id": [], "doc_id": [], "score": []}
    for number in range(QUERIES):
        query = f"q{number + 1:03d}"
        docs = [f"p{d:05d}" for d in rng.choice(20_000, POOL, replace=False)]
        hidden = rng.gamma(0.6, 1.0, POOL)
        grade = np.digitize(hidden, [0.9, 1.7, 2.8]) if number != 7 else np.zeros(POOL, int)
        judged = rng.random(POOL) < 0.35 + 0.6 * (grade > 0)
        for doc, relevance in zip(np.array(docs)[judged], grade[judged], strict=True):
            qrels["query_id"].append(query)
            qrels["doc_id"].append(str(doc))
            qrels["relevance"].append(int(relevance))
        for system, (signal, rounding) in SYSTEMS.items():
            if rng.random() < 0.02:
                continue  # this system returns nothing for the query
            score = signal * hidden + rng.normal(size=POOL)
            score = np.round(score / rounding) * rounding if rounding else np.round(score, 4)
            for place in np.argsort(-score, kind="stable")[: rng.integers(DEPTH // 2, DEPTH + 1)]:
                runs["run_id"].append(system)
                runs["query_id"].append(query)
                runs["doc_id"].append(docs[place])
                runs["score"].append(float(score[place]))
    for name, table in (("qrels", qrels), ("runs", runs)):
        pq.write_table(pa.table(table), HERE / f"{name}.parquet", compression="zstd")


def make_log() -> None:
    """Two days of 1,500 impressions of five results, arms A and B; B puts the wanted result higher."""
    rng = np.random.default_rng(2026)
    fields = ("doc_id", "rank", "clicks", "dwell_s")
    rows = []
    for day in ("2026-11-28", "2026-11-29"):
        for number in range(1_500):
            arm = "AB"[int(rng.integers(2))]
            worth = rng.beta(1, 2, 5)
            order = np.argsort(-(worth + rng.normal(0, 0.5 if arm == "A" else 0.2, 5)))
            clicked = rng.random(5) < 0.7 * worth[order] / np.arange(1, 6)
            dwell = [
                float(d) if c else None
                for c, d in zip(clicked, rng.integers(1, 90, 5), strict=True)
            ]
            query = int(rng.integers(40))
            items = [
                (f"p{query}-{d}", r, int(c), s)
                for r, (d, c, s) in enumerate(zip(order, clicked, dwell, strict=True), 1)
            ]
            rows.append(
                {
                    "impression_id": f"{day}-{number}",
                    "event_date": day,
                    "query_id": f"q{query:03d}",
                    "user_id": f"u{rng.integers(600)}",
                    "arm": arm,
                    "country": str(rng.choice(["DE", "FR", "US"])),
                    "results": [dict(zip(fields, item, strict=True)) for item in items],
                }
            )
    pq.write_table(pa.Table.from_pylist(rows), HERE / "impressions.parquet", compression="zstd")


if __name__ == "__main__":
    main()
    make_log()
