"""Evaluation for Python users, and what other features may use of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from pyspark.sql import DataFrame

from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.evaluation import checks
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.job import evaluated as evaluated
from ndcg_spark.evaluation.options import EvaluateJob as EvaluateJob
from ndcg_spark.evaluation.options import ScoringJob as ScoringJob
from ndcg_spark.evaluation.plan import long as long
from ndcg_spark.evaluation.plan import score_lists
from ndcg_spark.evaluation.summarize import summarize as _summarize
from ndcg_spark.measures import Measure, Policies, parse_measures, resolve
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.measures.policies import PolicyKeywords
from ndcg_spark.tables.checks import PROBLEMS

Measures = MeasureLike | Iterable[MeasureLike]


def evaluate(
    runs: Table,
    qrels: Table,
    measures: Measures,
    *,
    global_gains: Any = None,
    dialect: str = "ndcg_spark",
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """Per-query scores, lazily: run_id, query_id, measure, value, n_ret, n_rel, n_judged, status.

    runs: query_id, doc_id, score (or rank with ``order_by="rank"``), optionally run_id
    qrels: query_id, doc_id, relevance, optionally gain
    measures: names or objects, ``[nDCG@10, "ndcg_cut.5,20", AP(rel=2)]``; ir_measures' objects too
    global_gains: a gain for every gain measure that has none of its own
    dialect: "trec_eval" gives names that program's meaning (its release 10), "trec_eval9" that of 9
    policies, keywords: the options of `Policies`, such as ``queries="intersection"``

    A table is a DataFrame, a Parquet path, or anything with an Arrow stream (pandas, Polars,
    pyarrow, DuckDB); the result is a DataFrame of the same session (`session`). A value is null
    where the measure is undefined and ``no_relevant="skip"``. Bad rows (null ids, NaN scores,
    duplicates) make the action fail with their codes and counts; `check` lists them.

    Raises:
        UsageError: for a measure or an option that does not exist.
        InputError: for missing columns, wrong types, or ids of different types.
    """
    judge = Evaluator(
        qrels,
        measures,
        global_gains=global_gains,
        dialect=dialect,
        policies=policies,
        **keywords,
    )
    return judge.evaluate(runs)


class Evaluator:
    """`evaluate` as an object: the judgements and measures once, then any number of runs."""

    def __init__(
        self,
        qrels: Table,
        measures: Measures,
        *,
        global_gains: Any = None,
        dialect: str = "ndcg_spark",
        policies: Policies | None = None,
        **keywords: Unpack[PolicyKeywords],
    ) -> None:
        self._qrels = qrels
        self._policies = from_keywords(Policies, policies, keywords)
        asked = parse_measures(measures, dialect)
        self._measures = resolve(asked, self._policies.rel, global_gains)

    def evaluate(self, runs: Table) -> DataFrame:
        """The runs' per-query scores, as `evaluate` gives them."""
        inputs = _inputs(runs, self._qrels, self._policies)
        return long(score_lists(inputs, self._measures), self._measures)


def check(
    runs: Table,
    qrels: Table,
    measures: Measures = "nDCG",
    *,
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """Everything that an evaluation would refuse: code, problem, count, examples (five keys each).

    Reads the input once per check; an evaluation does not need it, it only says more.

    Raises:
        UsageError: for a measure or an option that does not exist.
        InputError: for missing columns, wrong types, or ids of different types.
    """
    options = from_keywords(Policies, policies, keywords)
    wanted: list[Measure] = resolve(parse_measures(measures), options.rel)
    inputs = _inputs(runs, qrels, options)
    found = checks.problems(inputs.runs, inputs.qrels, wanted, options)
    rows = [(one.code, str(one), one.count, list(one.examples)) for one in found]
    return inputs.spark.createDataFrame(rows, PROBLEMS)


def summarize(
    scores: Table,
    by: Sequence[str] = (),
    attributes: Table | None = None,
    weights: Table | None = None,
) -> DataFrame:
    """The aggregate of per-query scores, lazily: one row for each run, segment and measure.

    by: columns of the scores or the attributes; beside ``all`` each combination of their values
        becomes a segment such as ``bucket=head|country=de``
    attributes: a table with one row a query_id
    weights: query_id, weight (such as a query's frequency); beside the plain rows come rows of the
        segment ``weighted``, with sum(w v) / sum(w) as mean and no interval

    `mean` is the arithmetic mean over the queries with a value; for counts their sum, for gm_
    measures the geometric mean. `std` is the sample standard deviation and (ci_low, ci_high)
    Student's 95 percent interval of the mean, null where fewer than two queries have a value, for
    counts, geometric means and weighted rows. n_queries counts the scored queries, n_undefined
    those of them without a value.

    Raises:
        UsageError: for a column that is not there. The action fails for a query without exactly
            one finite weight >= 0 (E138).
    """
    session = session_of(scores, attributes, weights)
    return _summarize(
        table_of("scores", scores, session),
        by,
        None if attributes is None else table_of("attributes", attributes, session),
        None if weights is None else table_of("weights", weights, session),
    )


def _inputs(runs: Table, qrels: Table, policies: Policies) -> Inputs:
    return Inputs.of(session_of(runs, qrels), [runs], qrels, policies)
