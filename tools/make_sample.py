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


if __name__ == "__main__":
    main()
