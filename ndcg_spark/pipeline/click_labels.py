"""What a click log says beyond the displayed lists: judgements, propensities, other rankings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.clicks import bias, estimates
from ndcg_spark.clicks.impressions import impressions as in_our_form
from ndcg_spark.clicks.labels import PAPER, click_counts, click_qrels, shown_results
from ndcg_spark.config import ClickBiasJob, ClickLabelsJob, pairs
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.measures.batch import Array
from ndcg_spark.pipeline.clicks import opened_log
from ndcg_spark.pipeline.small import stage_rows
from ndcg_spark.session import Engine
from ndcg_spark.tables.contracts import RUNS, conform
from ndcg_spark.tables.read import read_run
from ndcg_spark.tables.write import Output

ETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
CLOSE = 1e-7  # EM ends when no propensity moves by more


def click_labels(job: ClickLabelsJob) -> dict[str, Any]:
    """Write qrels from the log's clicks; where they are, and how many judgements of which grade.

    Raises:
        UsageError: without --out, or for thresholds or a prior that are no numbers.
        InputError: E103 where nothing was shown; nothing is written then.
    """
    if not job.out:
        raise UsageError("click-labels needs --out DIR")
    thresholds = sorted(_numbers("thresholds", job.thresholds).items()) or list(PAPER)
    prior = [float(part) for part in job.prior.split(",")] if _is_pair(job.prior) else None
    if prior is None or min(prior) <= 0:
        raise UsageError(f"bad --prior {job.prior!r}; write a,b with both above 0")
    output = Output(job.out, job.partitions, [job.impressions or ""])
    with opened_log(job) as (engine, log, shape), output.writing():
        counts = click_counts(shown_results(in_our_form(log, shape, job.dates), shape))
        days = job.days if job.per_days else 1
        qrels = click_qrels(counts, job.method, thresholds, days, (prior[0], prior[1]))
        place = output.staged("qrels")
        qrels.where("query_id is not null").write.mode("error").parquet(place)
        written = engine.spark.read.schema(qrels.schema).parquet(place)
        grades = {
            row["relevance"]: int(row["count"])
            for row in written.groupBy("relevance").count().orderBy("relevance").collect()
        }
        if not grades:
            raise InputError("E103", f"nothing with a query was shown in {job.impressions}")
        output.publish(["qrels"])
    return {"path": output.published("qrels"), "judgements": grades}


def click_bias(job: ClickBiasJob) -> dict[str, Any]:
    """Propensities, and the log's (and a candidate's) value corrected by them; a sweep over eta.

    Raises:
        UsageError: for a wrong option.
        InputError: E137 for clicks at ranks without a propensity, E103 without impressions.
    """
    output = Output(job.out, job.partitions, [job.impressions or ""]) if job.out else None
    with opened_log(job) as (engine, log, shape):
        log = in_our_form(log, shape, job.dates)
        shown = shown_results(log, shape)
        found = _propensities(job, engine, click_counts(shown))
        people = log.where(~F.col("is_bot")).groupBy("bucket").count().collect()
        impressions = np.zeros(job.buckets)
        for row in people:
            impressions[row["bucket"]] = row["count"]
        deepest = shown.where("clicked").agg(F.max("rank")).collect()[0][0]
        if not impressions.sum() or deepest is None:
            raise InputError("E103", f"no click of {', '.join(job.dates)} in {job.impressions}")
        reach = min(deepest, job.cutoff or deepest) if job.candidate is None else deepest
        bare = [rank for rank in range(1, reach + 1) if rank not in found]
        if bare:
            raise InputError(
                "E137",
                f"clicks down to rank {deepest}, but no propensity for rank {bare[0]}: take "
                "--method power_law, a larger --depth, or --cutoff",
            )
        tables = {job.method: found, **_powers(deepest)}
        values = _values(job, engine, shown, tables, impressions)
        result = {
            "engine": engine.name,
            "propensities": found,
            "eta": bias.fitted_eta(found) if len(found) > 1 else None,
            **values,
        }
        if output:
            with output.writing():
                result["tables"] = _publish(job, engine, output, found, values["estimates"])
        return result


def _propensities(job: ClickBiasJob, engine: Engine, counts: DataFrame) -> dict[int, float]:
    counts = counts.where(F.col("rank") <= job.depth)
    if job.method == "power_law":
        return dict(enumerate(map(float, bias.power_law(job.eta, job.depth)), 1))
    if job.method == "em":
        return _em(counts, job.depth, job.iterations)
    rows = bias.rank_ratios(counts, job.method).collect()
    ratios = [(r["rank"], r["to_rank"], float(r["rate"]), float(r["to_rate"])) for r in rows]
    return bias.chained(ratios, job.method)


def _em(counts: DataFrame, depth: int, iterations: int) -> dict[int, float]:
    """EM on the position-based model; each iteration is one pass that sends back `depth` sums.

    A document's relevance is not kept: it is fitted anew to the current propensities.
    """
    cell = F.struct("rank", "n_impressions", "n_clicks")
    docs = counts.groupBy("query_id", "doc_id").agg(F.collect_list(cell).alias("cells"))
    docs = docs.select("cells").persist()
    propensity = 1.0 / np.arange(1, depth + 1)
    for _ in range(iterations):
        step = functools.partial(_em_step, propensity=propensity)
        sums = docs.mapInArrow(step, "rank int, examined bigint, shown bigint").groupBy("rank")
        rows = sums.agg(F.sum("examined").alias("e"), F.sum("shown").alias("n")).collect()
        new = propensity.copy()
        for row in rows:
            new[row["rank"] - 1] = row["e"] / 2**20 / row["n"] if row["n"] else np.nan
        new = new / new[0]
        moved = float(np.nanmax(np.abs(new - propensity)))
        propensity = new
        if moved < CLOSE:
            break
    docs.unpersist()
    return {rank: float(p) for rank, p in enumerate(propensity, 1) if np.isfinite(p) and p > 0}


def _em_step(batches: Iterator[pa.RecordBatch], propensity: Array) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        cells = batch.column("cells")
        flat = cells.flatten()
        row = np.repeat(
            np.arange(batch.num_rows), cells.value_lengths().to_numpy(zero_copy_only=False)
        )
        rank = flat.field("rank").to_numpy() - 1
        n, k = np.zeros((2, batch.num_rows, len(propensity)))
        n[row, rank] = flat.field("n_impressions").to_numpy()
        k[row, rank] = flat.field("n_clicks").to_numpy()
        relevance = estimates.em_relevance(propensity, n, k)
        examined = estimates.em_examined(propensity, relevance, n, k)
        yield pa.RecordBatch.from_pydict(
            {
                "rank": pa.array(np.arange(1, len(propensity) + 1), pa.int32()),
                "examined": pa.array(np.rint(examined * 2**20).astype(np.int64)),
                "shown": pa.array(n.sum(axis=0).astype(np.int64)),
            }
        )


def _powers(depth: int) -> dict[str, dict[int, float]]:
    return {
        f"eta={eta:g}": dict(enumerate(map(float, bias.power_law(eta, depth)), 1)) for eta in ETAS
    }


def _values(
    job: ClickBiasJob,
    engine: Engine,
    shown: DataFrame,
    tables: dict[str, dict[int, float]],
    impressions: Array,
) -> dict[str, Any]:
    """The estimates of the shown order and of the candidate under every table of propensities."""
    rows = [(name, rank, p) for name, found in tables.items() for rank, p in found.items()]
    table = engine.spark.createDataFrame(rows, "name string, rank int, propensity double")
    runs: dict[str, DataFrame | None] = {"shown": None}
    if job.candidate:
        run = read_run(engine.spark, job.candidate, contract=RUNS, local=engine.local_files)
        runs["candidate"] = bias.candidate_ranks(conform(run, RUNS))
    states: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for run_name, ranks in runs.items():
        state = bias.weighted_clicks(shown, table, job.utility, job.cutoff, job.clip, ranks)
        states[run_name] = {name: [] for name in tables}
        for row in state.collect():
            states[run_name][row["name"]].append(row.asDict())
    found = [
        {
            "name": name,
            "run": run_name,
            "utility": job.utility,
            **estimates.ips_estimate(states[run_name][name], impressions),
        }
        for run_name, name in itertools.product(runs, tables)
    ]
    sweep: list[dict[str, Any]] = []
    if job.candidate:
        for name in tables:
            delta, se = estimates.ips_difference(
                states["candidate"][name], states["shown"][name], impressions
            )
            sweep.append({"name": name, "delta": delta, "se": se})
    by_eta = [(float(row["name"][4:]), row["delta"]) for row in sweep if row["name"][:4] == "eta="]
    return {"estimates": found, "sweep": sweep, "sign_flips": estimates.sign_flips(by_eta)}


def _publish(
    job: ClickBiasJob,
    engine: Engine,
    output: Output,
    found: dict[int, float],
    values: list[dict[str, Any]],
) -> dict[str, str]:
    rows = [
        {"segment": "all", "rank": rank, "propensity": p, "method": job.method}
        for rank, p in found.items()
    ]
    schema = "segment string, rank int, propensity double, method string"
    written = {"propensities": (rows, schema), "ips": (values, estimates.ESTIMATES)}
    stage_rows(engine.spark, output, written)
    output.publish(list(written))
    return {name: output.published(name) for name in written}


def _numbers(what: str, items: list[str]) -> dict[float, float]:
    try:
        return {float(key): float(value) for key, value in pairs(what, items).items()}
    except ValueError:
        raise UsageError(f"--{what} takes numbers, as in 100=1, not {items}") from None


def _is_pair(text: str) -> bool:
    try:
        return len([float(part) for part in text.split(",")]) == 2
    except ValueError:
        return False
