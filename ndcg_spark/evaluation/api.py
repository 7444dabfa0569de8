"""Evaluation for Python users, and what other features may use of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation import checks
from ndcg_spark.evaluation.beside import array_scores as array_scores
from ndcg_spark.evaluation.beside import evaluate_arrays as evaluate_arrays
from ndcg_spark.evaluation.beside import row_scores as row_scores
from ndcg_spark.evaluation.columns import by_role
from ndcg_spark.evaluation.contributions import contributions_of
from ndcg_spark.evaluation.ideals import ideals_table, judged_and_ideals
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.evaluation.job import evaluated as evaluated
from ndcg_spark.evaluation.options import EvaluateJob as EvaluateJob
from ndcg_spark.evaluation.options import ScoringJob as ScoringJob
from ndcg_spark.evaluation.plan import long as long
from ndcg_spark.evaluation.ranked import ranked_lists
from ndcg_spark.evaluation.shares import Shares
from ndcg_spark.evaluation.summarize import summarize as _summarize
from ndcg_spark.evaluation.summarize import summarize_lists as summarize_lists
from ndcg_spark.evaluation.window_plan import PlanName, lists_scored, plan_name
from ndcg_spark.measures import Measure, Policies, parse_measures, resolve
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.measures.names import MeasureLike
from ndcg_spark.measures.policies import PolicyKeywords
from ndcg_spark.tables.checks import PROBLEMS
from ndcg_spark.tables.contracts import IDEALS, conform

Measures = MeasureLike | Iterable[MeasureLike]


def evaluate(
    runs: Table,
    qrels: Table,
    measures: Measures,
    *,
    global_gains: Any = None,
    dialect: str = "ndcg_spark",
    plan: PlanName = "kernel",
    ideals: Table | None = None,
    columns: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """Per-query scores, lazily: run_id, query_id, measure, value, n_ret, n_rel, n_judged, status.

    runs: query_id, doc_id, score (or rank with ``order_by="rank"``), optionally run_id
    qrels: query_id, doc_id, relevance, optionally gain
    measures: names or objects, ``[nDCG@10, "ndcg_cut.5,20", AP(rel=2)]``; ir_measures' objects too
    global_gains: a gain for every gain measure that has none of its own
    dialect: "trec_eval" gives names that program's meaning (its release 10), "trec_eval9" that of 9
    plan: "kernel" scores whole queries in batches; "window" by window functions, for lists that no
        task can hold, and measures that are sums over documents (`contributions`)
    ideals: the table of `ideals` for the same judgements, for the plan "window"
    columns: other names of columns, ``{"runs.query_id": "qid", "qrels.relevance": "label"}``
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
        plan=plan,
        ideals=ideals,
        columns=columns,
        policies=policies,
        **keywords,
    )
    return judge.evaluate(runs)


def ranked(
    run: Table,
    *,
    columns: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """The run with every document's rank, lazily: run_id, query_id, rank, doc_id, score.

    rank: bigint from 1, by ``row_number`` over (run_id, query_id) in the total order that the
    policies ties, order_by and score_order say: score (null where it is NaN; last), then doc_id.
    ``order_by="rank"`` has no score. Documents below `depth` are left out; with
    ``duplicate_docs="max"`` each is there once.

    Raises:
        UsageError: for ties over all orders and judged_only, under which a rank is another thing.
        InputError: as `evaluate`; bad rows make the action fail with their codes.
    """
    options = from_keywords(Policies, policies, keywords)
    if options.over_orders or options.judged_only:
        raise UsageError(
            "ranked gives one rank for each document of the run: ties must be docid_desc or "
            "docid_asc, and judged_only false"
        )
    spark = session_of(run)
    rows = ranked_lists(Inputs.of(spark, [run], None, options, by_role(columns)).runs, options)
    if options.depth is not None:
        rows = rows.where(F.col("rank") <= options.depth)
    score = [] if options.order_by == "rank" else [F.col("key").alias("score")]
    return rows.select("run_id", "query_id", "rank", "doc_id", *score)


def ideals(
    qrels: Table,
    measures: Measures,
    *,
    global_gains: Any = None,
    dialect: str = "ndcg_spark",
    columns: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """What each query's sums are divided by, lazily: query_id, measure, idcg, n_rel, n_gain.

    idcg: IDCG at the cut-off for nDCG; for others what stands in its place: k for P, R for R, 1
        for what is not divided. Null where it hangs on the length of a list (``nDCG@n/5``).
    n_rel: judged documents from the measure's threshold on; n_gain: those with a gain

    For judgements that seldom change, write the table once and give it to `contributions` and
    `evaluate`; they refuse it (E139) where its counts are not those of the judgements.

    Raises:
        UsageError: for measures that are no sum over documents of gain times discount.
        InputError: as `evaluate`.
    """
    options = from_keywords(Policies, policies, keywords)
    shares = Shares.of(_resolved(measures, dialect, options, global_gains), options)
    inputs = Inputs.of(session_of(qrels), [], qrels, options, by_role(columns))
    _, queries, _ = judged_and_ideals(inputs.qrels, shares)
    return ideals_table(queries, shares)


def contributions(
    run: Table,
    qrels: Table,
    measures: Measures,
    *,
    ideals: Table | None = None,
    global_gains: Any = None,
    dialect: str = "ndcg_spark",
    columns: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """Why is it this number? A row for each document, list and measure, lazily.

    query_id, run_id, measure, rank, doc_id, score, relevance, gain, discount, contribution,
    ideal_rank, lost:

    contribution: gain x discount / ideal; over a list the sum is `evaluate`'s value, where the
        measure is defined
    ideal_rank: the document's place among those with a gain, best first; of equal gain in the
        order in which the run has them
    lost: what it would add at its ideal place, less what it adds; over a list the sum is the best
        possible value less the list's own

    A document with a gain that the run lacks, or that the policies cut off, is there with a null
    rank: all of its ideal contribution is lost. relevance is null for unjudged documents. Under RR
    and Success only the first relevant document has a gain. With ``ties="mean"`` the discount is
    the mean over the places that the score allows.

    ideals: the table of `ideals` for the same judgements, if it is kept

    Raises:
        UsageError: for measures that are no sum over documents of gain times discount.
        InputError: as `evaluate`; bad rows make the action fail with their codes.
    """
    options = from_keywords(Policies, policies, keywords)
    shares = Shares.of(_resolved(measures, dialect, options, global_gains), options)
    kept = _kept(ideals, run, qrels)
    return contributions_of(_inputs(run, qrels, options, columns), shares, kept)


class Evaluator:
    """`evaluate` as an object: the judgements and measures once, then any number of runs."""

    def __init__(
        self,
        qrels: Table,
        measures: Measures,
        *,
        global_gains: Any = None,
        dialect: str = "ndcg_spark",
        plan: PlanName = "kernel",
        ideals: Table | None = None,
        columns: Mapping[str, str] | None = None,
        policies: Policies | None = None,
        **keywords: Unpack[PolicyKeywords],
    ) -> None:
        self._qrels, self._plan, self._ideals = qrels, plan_name(plan), ideals
        self._columns = columns
        if ideals is not None and plan != "window":
            raise UsageError("ideals are read by plan='window'; the plan 'kernel' makes its own")
        self._policies = from_keywords(Policies, policies, keywords)
        self._measures = _resolved(measures, dialect, self._policies, global_gains)

    def evaluate(self, runs: Table) -> DataFrame:
        """The runs' per-query scores, as `evaluate` gives them."""
        inputs = _inputs(runs, self._qrels, self._policies, self._columns)
        kept = _kept(self._ideals, runs, self._qrels)
        return long(lists_scored(inputs, self._measures, self._plan, kept), self._measures)


def check(
    runs: Table,
    qrels: Table,
    measures: Measures = "nDCG",
    *,
    columns: Mapping[str, str] | None = None,
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
    inputs = _inputs(runs, qrels, options, columns)
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


def _resolved(
    measures: Measures, dialect: str, policies: Policies, global_gains: Any
) -> list[Measure]:
    return resolve(parse_measures(measures, dialect), policies.rel, global_gains)


def _kept(ideals: Table | None, *others: Table) -> DataFrame | None:
    """A table of ideals in its own types."""
    if ideals is None:
        return None
    return conform(table_of("ideals", ideals, session_of(*others, ideals)), IDEALS)


def _inputs(
    runs: Table, qrels: Table, policies: Policies, columns: Mapping[str, str] | None
) -> Inputs:
    return Inputs.of(session_of(runs, qrels), [runs], qrels, policies, by_role(columns))
