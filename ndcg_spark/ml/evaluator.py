"""An evaluator of `pyspark.ml`, for `CrossValidator` and `TrainValidationSplit`."""

from __future__ import annotations

from typing import Any, Unpack

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, TypeConverters
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.evaluation.api import array_scores, row_scores, summarize_lists
from ndcg_spark.measures import Policies, parse_measures, resolve
from ndcg_spark.measures.fields import from_keywords
from ndcg_spark.measures.policies import PolicyKeywords

DEFAULTS = {"measure": "nDCG@10", "predictionCol": "prediction", "labelCol": "label",
            "queryCol": "query_id", "docCol": "doc_id", "relevanceCol": ""}  # fmt: skip
WHAT = {
    "measure": "name of a measure, such as nDCG@10",
    "predictionCol": "scores of documents, or arrays of document ids, best first",
    "labelCol": "grades of documents (null: not judged), or arrays of judged ids",
    "queryCol": "the query of a row",
    "docCol": "the document of a row",
    "relevanceCol": "with arrays: the grade of each judged id; empty: 1",
}


class RankingEvaluator(Evaluator):
    """The mean of a measure over the queries of predictions with graded labels.

    measure: a name or object; nDCG@10 without
    predictionCol: the score of a row's document; or an array of ids, best first, a row a query
    labelCol: the row's grade, null where nobody judged it; or an array of the judged ids
    queryCol, docCol: the row's query and document (arrays need neither)
    relevanceCol: with arrays, their grades in the order of labelCol; each is 1 without
    policies, keywords: the options of `Policies`

    `evaluate` gives a float; larger is better. All but the policies are params, which a param grid
    may set.

    Raises:
        UsageError: for an option, column or measure that does not exist.
        InputError: where no query has a value (E171); for rows that `ndcg_spark.evaluate` refuses.
    """

    def __init__(
        self,
        measure: Any = DEFAULTS["measure"],
        *,
        predictionCol: str = "prediction",  # noqa: N803 as all of pyspark.ml
        labelCol: str = "label",  # noqa: N803
        queryCol: str = "query_id",  # noqa: N803
        docCol: str = "doc_id",  # noqa: N803
        relevanceCol: str = "",  # noqa: N803
        policies: Policies | None = None,
        **keywords: Unpack[PolicyKeywords],
    ) -> None:
        super().__init__()
        self.policies = from_keywords(Policies, policies, keywords)
        given = {"measure": str(measure), "predictionCol": predictionCol, "labelCol": labelCol,
                 "queryCol": queryCol, "docCol": docCol, "relevanceCol": relevanceCol}  # fmt: skip
        parse_measures(given["measure"])
        for name, value in given.items():
            setattr(self, name, Param(self, name, WHAT[name], TypeConverters.toString))
            self._setDefault(**{name: DEFAULTS[name]})
            self._set(**{name: value})

    def isLargerBetter(self) -> bool:  # noqa: N802
        return True

    def _evaluate(self, dataset: DataFrame) -> float:
        names = {name: str(self.getOrDefault(name)) for name in DEFAULTS}
        measures = resolve(parse_measures(names["measure"]), self.policies.rel)
        if len(measures) != 1:
            raise UsageError(f"one measure is tuned, not {len(measures)}: {names['measure']}")
        prediction, label = names["predictionCol"], names["labelCol"]
        if prediction in dataset.columns and isinstance(
            dataset.schema[prediction].dataType, T.ArrayType
        ):
            judged = (label, names["relevanceCol"] or None)
            scores = array_scores(
                dataset, measures, (prediction, None), judged, None, self.policies
            )
        else:
            columns = (names["queryCol"], names["docCol"], prediction, label)
            scores = row_scores(dataset, measures, columns, self.policies)
        rows = summarize_lists(scores, measures).select("mean").collect()
        if len(rows) != 1 or rows[0]["mean"] is None:
            raise InputError("E171", f"no query has a value of {names['measure']} here")
        return float(rows[0]["mean"])
