"""The peers, each as a user would write it: `python -m benchmarks.peers NAME DATA` prints means.

The output is a JSON object, run -> measure -> mean, for the measures it has in our sense.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

Means = dict[str, dict[str, float]]
MEASURES = ("nDCG", "nDCG@10", "AP", "RR", "R@1000", "P@10")

DUCKDB = """
with ranked as (
  select run_id, query_id, doc_id,
    row_number() over (partition by run_id, query_id order by score desc, doc_id desc) as rank
  from read_parquet('{data}/runs/*.parquet')),
qrels as (select * from read_parquet('{data}/qrels/*.parquet')),
hits as (
  select run_id, query_id, rank, relevance,
    sum((relevance > 0)::int) over (partition by run_id, query_id order by rank) as n_relevant
  from ranked join qrels using (query_id, doc_id) where relevance > 0),
lists as (
  select run_id, query_id,
    sum(relevance / log2(rank + 1)) as dcg,
    sum(relevance / log2(rank + 1)) filter (rank <= 10) as dcg10,
    sum(n_relevant / rank) as ap, 1 / min(rank) as rr,
    count(*) filter (rank <= 1000) as hits1000, count(*) filter (rank <= 10) as hits10
  from hits group by all),
places as (
  select query_id, relevance,
    row_number() over (partition by query_id order by relevance desc) as rank
  from qrels),
ideal as (
  select query_id, sum(relevance / log2(rank + 1)) as idcg,
    sum(relevance / log2(rank + 1)) filter (rank <= 10) as idcg10, count(*) as n_rel
  from places where relevance > 0 group by all),
judged as (select distinct query_id from qrels),
runs as (select distinct run_id from ranked)
select run_id, avg(coalesce(dcg / idcg, 0)), avg(coalesce(dcg10 / idcg10, 0)),
  avg(coalesce(ap / n_rel, 0)), avg(coalesce(rr, 0)), avg(coalesce(hits1000 / n_rel, 0)),
  avg(coalesce(hits10 / 10, 0))
from judged cross join runs left join ideal using (query_id)
  left join lists using (run_id, query_id)
group by run_id
"""


def duckdb(data: Path) -> Means:
    import duckdb

    rows = duckdb.sql(DUCKDB.format(data=data)).fetchall()
    return {run: dict(zip(MEASURES, values, strict=True)) for run, *values in rows}


def polars(data: Path) -> Means:
    import polars as pl

    query, lists = "query_id", ["run_id", "query_id"]
    qrels = pl.scan_parquet(data / "qrels")
    ranked = (
        pl.scan_parquet(data / "runs")
        .select("run_id", "query_id", "doc_id", "score")
        .sort([*lists, "score", "doc_id"], descending=[False, False, True, True])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over(lists))
    )
    gain = pl.col("relevance") / (pl.col("rank") + 1).log(2)
    top = pl.col("rank") <= 10
    hits = (
        ranked.join(qrels.filter(pl.col("relevance") > 0), on=["query_id", "doc_id"])
        .sort([*lists, "rank"])
        .with_columns(n_relevant=pl.int_range(1, pl.len() + 1).over(lists))
        .group_by(lists)
        .agg(
            dcg=gain.sum(),
            dcg10=gain.filter(top).sum(),
            ap=(pl.col("n_relevant") / pl.col("rank")).sum(),
            rr=1 / pl.col("rank").min(),
            hits1000=(pl.col("rank") <= 1000).sum(),
            hits10=top.sum(),
        )
    )
    ideal = (
        qrels.filter(pl.col("relevance") > 0)
        .sort([query, "relevance"], descending=[False, True])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over(query))
        .group_by(query)
        .agg(idcg=gain.sum(), idcg10=gain.filter(top).sum(), n_rel=pl.len())
    )
    runs = pl.scan_parquet(data / "runs").select("run_id").unique()
    n_rel = pl.col("n_rel")
    values = {
        "nDCG": pl.col("dcg") / pl.col("idcg"),
        "nDCG@10": pl.col("dcg10") / pl.col("idcg10"),
        "AP": pl.col("ap") / n_rel,
        "RR": pl.col("rr"),
        "R@1000": pl.col("hits1000") / n_rel,
        "P@10": pl.col("hits10") / 10,
    }
    means = (
        qrels.select(query)
        .unique()
        .join(runs, how="cross")
        .join(ideal, on=query, how="left")
        .join(hits, on=lists, how="left")
        .group_by("run_id")
        .agg([value.fill_null(0).mean().alias(name) for name, value in values.items()])
        .collect(engine="streaming")
    )
    return {row.pop("run_id"): row for row in means.to_dicts()}


def pytrec_eval(data: Path) -> Means:
    import pytrec_eval

    names = {
        "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10", "AP": "map", "RR": "recip_rank",
        "R@1000": "recall_1000", "P@10": "P_10",
    }  # fmt: skip
    wanted = {"ndcg", "ndcg_cut.10", "map", "recip_rank", "recall.1000", "P.10"}
    qrels = _nested(_columns(data / "qrels", ["query_id", "doc_id", "relevance"]))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, wanted)
    found: Means = {}
    for run, files in _runs(data).items():
        table = _columns(files, ["query_id", "doc_id", "score"])
        scores = evaluator.evaluate(_nested(table))
        found[run] = {
            ours: sum(values[theirs] for values in scores.values()) / len(qrels)
            for ours, theirs in names.items()
        }
    return found


def ir_measures(data: Path) -> Means:
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    qrels = _columns(data / "qrels", ["query_id", "doc_id", "relevance"]).to_pandas()
    evaluator = ir_measures.evaluator([nDCG, nDCG @ 10, AP, RR, R @ 1000, P @ 10], qrels)
    return {
        run: {
            str(measure): value
            for measure, value in evaluator.calc_aggregate(
                _columns(files, ["query_id", "doc_id", "score"]).to_pandas()
            ).items()
        }
        for run, files in _runs(data).items()
    }


def ranx(data: Path) -> Means:
    import ranx

    names = {
        "ndcg": "nDCG", "ndcg@10": "nDCG@10", "map": "AP", "mrr": "RR", "recall@1000": "R@1000",
        "precision@10": "P@10",
    }  # fmt: skip
    table = _columns(data / "qrels", ["query_id", "doc_id", "relevance"]).to_pandas()
    qrels = ranx.Qrels.from_df(
        table, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance"
    )
    found: Means = {}
    for run, files in _runs(data).items():
        frame = _columns(files, ["query_id", "doc_id", "score"]).to_pandas()
        ranking = ranx.Run.from_df(
            frame, q_id_col="query_id", doc_id_col="doc_id", score_col="score"
        )
        means = ranx.evaluate(qrels, ranking, list(names), make_comparable=True)
        found[run] = {names[name]: float(value) for name, value in means.items()}
    return found


def mllib(data: Path) -> Means:
    """RankingEvaluator: binary, one measure a pass; its nDCG ignores grades and is left out."""
    from pyspark.ml.evaluation import RankingEvaluator
    from pyspark.sql import functions as F

    from benchmarks.ours import jvm

    spark = jvm()
    number = F.xxhash64("doc_id").cast("double")  # it takes documents as doubles only
    relevant = (
        spark.read.parquet(f"{data}/qrels")
        .groupBy("query_id")
        .agg(F.collect_list(F.when(F.col("relevance") > 0, number)).alias("label"))
    )
    found: Means = {}
    for run, files in _runs(data).items():
        place = F.struct((-F.col("score")).alias("score"), number.alias("doc"))
        lists = (
            spark.read.parquet(*map(str, files))
            .groupBy("query_id")
            .agg(F.sort_array(F.collect_list(place)).alias("docs"))
            .select("query_id", F.col("docs.doc").alias("prediction"))
            .join(relevant, "query_id")
            .cache()
        )
        found[run] = {}
        for ours, theirs, k in (
            ("AP", "meanAveragePrecision", 1),
            ("R@1000", "recallAtK", 1000),
            ("P@10", "precisionAtK", 10),
        ):
            evaluator = RankingEvaluator(metricName=theirs, k=k)
            found[run][ours] = evaluator.evaluate(lists)
        for metric, k in (("ndcgAtK", 10), ("ndcgAtK", 1000), ("meanAveragePrecisionAtK", 1)):
            RankingEvaluator(metricName=metric, k=k).evaluate(lists)  # same work, other meaning
        lists.unpersist()
    spark.stop()
    return found


def _runs(data: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for path in sorted((data / "runs").glob("*.parquet")):
        files.setdefault(path.name.split("-part-")[0], []).append(path)
    return files


def _columns(place, columns):
    return pq.read_table(place, columns=columns)


def _nested(table):
    """{query: {document: number}}, the form that pytrec_eval takes."""
    found: dict[str, dict] = {}
    queries, docs, numbers = (column.to_pylist() for column in table.columns)
    for query, doc, number in zip(queries, docs, numbers, strict=True):
        found.setdefault(query, {})[doc] = number
    return found


def patterns(log: Path) -> Means:
    """Mean nDCG@10 of clicked impressions by arm, by click pattern, in DuckDB."""
    import duckdb

    found: Means = {}
    gains = "+".join(f"((mask >> {i}) & 1) / log2({i + 2})" for i in range(10))
    ideals = "+".join(f"(bit_count(mask) > {i})::int / log2({i + 2})" for i in range(10))
    masks = "+".join(f"((results[{i + 1}].clicks > 0)::bigint << {i})" for i in range(10))
    rows = duckdb.sql(f"""
        with patterns as (
          select arm, hash(user_id) % 1000 as bucket, {masks} as mask, count(*) as n
          from read_parquet('{log}/*.parquet') group by all)
        select arm, sum(n * ({gains}) / ({ideals})) / sum(n)
        from patterns where mask > 0 group by arm""").fetchall()
    for arm, mean in rows:
        found[arm] = {"nDCG@10": mean}
    return found


def differences(scores: Path) -> Means:
    """Mean and deviation of the differences of all pairs, in DuckDB: what a t test needs."""
    import duckdb

    found: Means = {}
    pairs = (("bm25", "dense"), ("bm25", "rerank"), ("dense", "rerank"))
    moments = ", ".join(
        f"avg({b} - {a}), stddev_samp({b} - {a}), regr_count({b}, {a})" for a, b in pairs
    )
    rows = duckdb.sql(f"""
        with wide as (pivot (from '{scores}/*.parquet') on run_id using first(value)
                      group by query_id, measure)
        select measure, {moments} from wide group by measure""").fetchall()
    for measure, *values in rows:
        for (a, b), mean in zip(pairs, values[::3], strict=True):
            found.setdefault(f"{b} - {a}", {})[measure] = mean
    return found


def paired_t(scores: Path) -> Means:
    """The same by a pandas pivot and scipy's paired t test, as a notebook would do it."""
    import pandas as pd
    from scipy.stats import ttest_rel

    found: Means = {}
    table = pd.read_parquet(scores)
    wide = table.pivot(index="query_id", columns=["measure", "run_id"], values="value")
    for a, b in (("bm25", "dense"), ("bm25", "rerank"), ("dense", "rerank")):
        for measure in wide.columns.levels[0]:
            x, y = wide[measure, a], wide[measure, b]
            ttest_rel(y, x, nan_policy="omit")
            found.setdefault(f"{b} - {a}", {})[measure] = float((y - x).mean())
    return found


PEERS: dict[str, Callable[[Path], Means]] = {
    f.__name__: f for f in (duckdb, polars, pytrec_eval, ir_measures, ranx, mllib)
}

if __name__ == "__main__":
    others = {f.__name__: f for f in (patterns, differences, paired_t)}
    print(json.dumps({**PEERS, **others}[sys.argv[1]](Path(sys.argv[2]))))
