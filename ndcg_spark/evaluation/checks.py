"""Checks that name what is wrong with runs and qrels: counts and up to five keys, never rows.

A good evaluation never runs them: the scoring kernel notices bad input in the pass it makes
anyway, and only then is the input read again, to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.measures import Measure, Policies
from ndcg_spark.measures.gains import LARGEST_EXP2
from ndcg_spark.measures.ndcg import uses_exp2
from ndcg_spark.tables.checks import KEY_NAMES, Problem, is_empty, repeated, some

TWICE = (
    "Two systems without a run_id, or two dates under one path, look like this; --duplicate-docs "
    "max keeps the best score"
)
JUDGED_TWICE = "--duplicate-qrels max keeps the highest grade"


def problems(
    runs: DataFrame, qrels: DataFrame, measures: Sequence[Measure], policies: Policies
) -> list[Problem]:
    """Everything that the policies refuse in conforming runs and qrels, by reading them."""
    found = [*_run_problems(runs, policies), *_qrels_problems(qrels, measures, policies)]
    return found or list(_join_problems(runs, qrels, policies))


def _join_problems(runs: DataFrame, qrels: DataFrame, policies: Policies) -> Iterator[Problem]:
    """Good tables that do not belong together: no common query, or no judged document."""
    if policies.on_no_overlap == "zero":
        return
    asked = qrels.select("query_id").distinct()
    if is_empty(runs.join(asked, "query_id", "left_semi")):
        text = "queries are shared by the runs and the qrels"
        yield Problem("E141", text, 0, (), "--on-no-overlap zero scores every query 0")
    elif is_empty(
        runs.join(qrels.select("query_id", "doc_id"), ["query_id", "doc_id"], "left_semi")
    ):
        yield Problem("E140", "documents of the runs are judged: are the ids of one kind?", 0, ())


def _run_problems(runs: DataFrame, policies: Policies) -> Iterator[Problem]:
    keys = ["run_id", "query_id", "doc_id"]
    if is_empty(runs):
        yield Problem("E103", "rows in the runs: they are empty", 0, ())
    yield from _bad_ids("the run", runs, keys)
    if policies.order_by == "rank":
        bad = runs.where(F.col("rank").isNull())
        yield from some("E122", "rows of the runs have a null rank", bad, keys)
        yield from some(
            "E133",
            "lists whose ranks are not 1, 2, 3, … without gap or repeat",
            _bad_rankings(runs),
            keys[:2],
        )
    elif policies.nan_score == "error":
        yield from some(
            "E122", "rows of the runs have a null score", runs.where(F.col("score").isNull()), keys
        )
        if isinstance(runs.schema["score"].dataType, (T.FloatType, T.DoubleType)):
            bad = runs.where(F.isnan("score"))
            yield from some("E122", "rows of the runs have a NaN score", bad, keys)
    if policies.duplicate_docs == "error":
        twice = repeated(runs, keys)
        yield from some("E132", "documents are duplicated in the run", twice, keys, TWICE)


def _qrels_problems(
    qrels: DataFrame, measures: Sequence[Measure], policies: Policies
) -> Iterator[Problem]:
    keys = ["query_id", "doc_id"]
    grade, graded = F.col("relevance"), [*keys, "relevance"]
    if is_empty(qrels):
        yield Problem("E103", "rows in the qrels: they are empty", 0, ())
    yield from _bad_ids("the judgements", qrels, keys)
    bad = qrels.where(grade.isNull() | F.isnan(grade) | (F.abs(grade) == float("inf")))
    yield from some("E113", "judgements have a null or infinite grade", bad, keys)
    if "gain" in qrels.columns:
        gain = F.col("gain")
        bad = qrels.where(F.isnan(gain) | (gain < 0) | (gain == float("inf")))
        yield from some("E113", "judgements have a negative or infinite gain", bad, keys)
    if policies.negative == "error":
        yield from some("E134", "judgements have a negative grade", qrels.where(grade < 0), graded)
    if uses_exp2(measures):
        yield from some(
            "E114",
            f"judgements have a grade that is too large for exp2 gain (limit {LARGEST_EXP2} in "
            "double precision); use linear gain or a gain map",
            qrels.where(grade > LARGEST_EXP2),
            graded,
        )
    if policies.duplicate_qrels == "error":
        repeated = qrels.groupBy(keys).agg(
            F.count(F.lit(1)).alias("n"),
            F.min("relevance").alias("a"),
            F.max("relevance").alias("b"),
        )
        same = repeated.where((F.col("n") > 1) & (F.col("a") == F.col("b")))
        yield from some(
            "E130", "documents are judged more than once, alike", same, keys, JUDGED_TWICE
        )
        other = repeated.where(F.col("a") != F.col("b"))
        yield from some(
            "E131", "documents are judged more than once, differently", other, keys, JUDGED_TWICE
        )


def _bad_ids(where: str, table: DataFrame, keys: Sequence[str]) -> Iterator[Problem]:
    for key in keys:
        text = F.col(key).cast("string")
        others = [name for name in keys if name != key]
        for word, bad in (("a null", text.isNull()), ("an empty", text == "")):
            name = KEY_NAMES[key]
            yield from some(
                "E120", f"rows of {where} have {word} {name} id", table.where(bad), others
            )


def _bad_rankings(runs: DataFrame) -> DataFrame:
    """Lists whose ranks are not exactly 1 … n."""
    once = runs.groupBy("run_id", "query_id", "rank").agg(F.count(F.lit(1)).alias("copies"))
    lists = once.groupBy("run_id", "query_id").agg(
        F.max("copies").alias("copies"),
        F.count(F.lit(1)).alias("n"),
        F.min("rank").alias("first"),
        F.max("rank").alias("last"),
    )
    return lists.where("copies > 1 or first <> 1 or last <> n")
