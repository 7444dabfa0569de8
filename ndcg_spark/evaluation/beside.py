"""Predictions and labels beside each other in one table: arrays in a row a query, or a row a
document. The table is read once, and lists become scores without a join."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import InputError, UsageError, nearest
from ndcg_spark.evaluation.plan import long, score
from ndcg_spark.evaluation.score_kernel import score_batches
from ndcg_spark.measures import Measure, Policies, parse_measures, refuse_ties, resolve
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.measures.policies import PolicyKeywords

DOC = "doc_id"


def evaluate_arrays(
    table: Table,
    measures: Any,
    *,
    prediction: str = "prediction",
    label: str = "label",
    relevance: str | None = None,
    score: str | None = None,
    query_id: str | None = None,
    dialect: str = "ndcg_spark",
    policies: Policies | None = None,
    **keywords: Unpack[PolicyKeywords],
) -> DataFrame:
    """Per-query scores of a table with a row a query, lazily: the columns of `evaluate`.

    prediction: column with an array of document ids, best first (as MLlib's RankingMetrics has it)
    label: column with an array of the judged documents' ids
    relevance: column with the label of each of these, in their order; 1 without
    score: column with the score of each prediction, by which they are then ranked
    query_id: column with the query; without it rows are numbered, in no order that lasts
    measures, dialect, policies, keywords: as `evaluate`

    A null array of predictions is a query that the run lacks, a null array of labels one that
    nobody judged. Ids that are floating-point numbers are compared as their text.

    Raises:
        UsageError: for a column that is not there or no array; for a measure or an option that
            does not exist.
        InputError: E140 for predictions and labels with ids of different types. The action fails
            for a document that is twice in a list (E132; ``duplicate_docs="max"`` counts it once)
            or arrays of different lengths (E113, E122).
    """
    own = table_of("table", table, session_of(table))
    chosen = from_keywords(Policies, policies, keywords)
    wanted = resolve(parse_measures(measures, dialect), chosen.rel)
    columns = (prediction, score), (label, relevance)
    return long(array_scores(own, wanted, *columns, query_id, chosen), wanted)


def array_scores(
    table: DataFrame,
    measures: Sequence[Measure],
    predicted: tuple[str, str | None],
    judged: tuple[str, str | None],
    query_id: str | None,
    policies: Policies,
) -> DataFrame:
    """SCORES (plan.py) of arrays: predictions and their scores, labels and their relevance."""
    for name in (*predicted, *judged):
        if name is not None and not isinstance(_type(table, name), T.ArrayType):
            raise UsageError(f"column {name!r} has {_type(table, name).simpleString()}, no array")
    ids, id_type = _ids(table, predicted[0], judged[0])
    places = F.transform(ids[0], lambda _, i: (i + 1).cast("double"))
    if predicted[1]:
        places = F.transform(F.col(predicted[1]), lambda x: x.cast("double"))
    else:
        policies = dataclasses.replace(policies, order_by="rank")
    grades = F.transform(ids[1], lambda _: F.lit(1.0))
    if judged[1]:
        grades = F.transform(F.col(judged[1]), lambda x: x.cast("double"))
    listed = _documents(ids[0], places, "place", id_type)
    labelled = _documents(ids[1], grades, "relevance", id_type)
    if query_id is not None:
        _type(table, query_id)
    query = F.monotonically_increasing_id() if query_id is None else F.col(query_id)
    rows = table.select(query.alias("query_id"), F.concat(listed, labelled).alias("docs"))
    return _scored(rows, measures, policies)


def row_scores(
    table: DataFrame,
    measures: Sequence[Measure],
    columns: tuple[str, str, str, str],
    policies: Policies,
) -> DataFrame:
    """SCORES (plan.py) of a table with a row a document.

    columns: query, document, score, label; a null label is a document that nobody judged
    """
    query, doc, place, label = columns
    for name in columns:
        _type(table, name)
    id_type = _type(table, doc)
    listed = _document(F.lit("run"), F.col(doc), F.col(place), None, id_type)
    judged = _document(None, F.col(doc), None, F.col(label), id_type)
    rows = table.select(F.col(query).alias("query_id"), F.explode(F.array(listed, judged)))
    kept = rows.where("col.run_id is not null or col.relevance is not null")
    lists = kept.groupBy("query_id").agg(F.collect_list("col").alias("docs"))
    return _scored(lists, measures, policies)


def _scored(lists: DataFrame, measures: Sequence[Measure], policies: Policies) -> DataFrame:
    refuse_ties(measures, policies)
    kernel = functools.partial(score_batches, measures=tuple(measures), policies=policies)
    named = lists.select(F.array(F.lit("run")).alias("names"), "query_id", "docs")
    return score(named, kernel, lists)


def _documents(ids: Column, numbers: Column, number: str, id_type: T.DataType) -> Column:
    """An array of documents; of arrays that differ in length the shorter goes on with nulls, which
    the kernel refuses."""
    pairs = F.arrays_zip(ids.alias("id"), numbers.alias("number"))
    place = number == "place"
    made = F.transform(
        pairs,
        lambda one: _document(
            F.lit("run") if place else None,
            one["id"],
            one["number"] if place else None,
            None if place else one["number"],
            id_type,
        ),
    )
    return F.coalesce(made, F.array().cast(_made(id_type)))


def _document(
    run: Column | None, doc: Column, place: Column | None, label: Column | None, id_type: T.DataType
) -> Column:
    def or_null(column: Column | None, kind: str) -> Column:
        return F.lit(None).cast(kind) if column is None else column.cast(kind)

    return F.struct(
        or_null(run, "string").alias("run_id"),
        doc.cast(id_type).alias(DOC),
        or_null(place, "double").alias("place"),
        or_null(label, "double").alias("relevance"),
    )


def _made(id_type: T.DataType) -> T.ArrayType:
    fields = [("run_id", T.StringType()), (DOC, id_type), ("place", T.DoubleType()),
              ("relevance", T.DoubleType())]  # fmt: skip
    return T.ArrayType(T.StructType([T.StructField(name, kind) for name, kind in fields]))


def _ids(table: DataFrame, prediction: str, label: str) -> tuple[tuple[Column, Column], Any]:
    """Both arrays of ids, of one type."""
    kinds = [_type(table, name).elementType for name in (prediction, label)]  # type: ignore[attr-defined]
    whole = [isinstance(kind, T.IntegralType) for kind in kinds]
    if all(whole):
        target: T.DataType = T.LongType()
    elif kinds[0] == kinds[1] and isinstance(kinds[0], (T.StringType, T.FractionalType)):
        target = T.StringType()
    else:
        names = " and ".join(kind.simpleString() for kind in kinds)
        raise InputError("E140", f"{prediction} and {label} have documents of types {names}")
    own = [F.transform(F.col(name), lambda x: x.cast(target)) for name in (prediction, label)]
    return (own[0], own[1]), target


def _type(table: DataFrame, name: str) -> T.DataType:
    if name not in table.columns:
        known = ", ".join(table.columns)
        raise UsageError(f"no column {name!r}{nearest(name, table.columns)}; there are: {known}")
    return table.schema[name].dataType
