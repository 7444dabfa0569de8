"""A provider for ir_measures, so that its functions and PyTerrier's compute with this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ndcg_spark.engine.inputs import Table, session_of, table_of
from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation.api import evaluate
from ndcg_spark.measures import parse_measures


def ir_measures_provider() -> Any:
    """A provider of ir_measures: ``calc_aggregate``, ``iter_calc``, ``evaluator`` with their rules.

    Queries that the run lacks have the measure's default. Takes what `ndcg_spark.evaluate` takes as
    runs and qrels. What comes back are Python objects, a value each: for large data `evaluate` is
    the way.

    Raises:
        UsageError: where ir_measures is not installed.
    """
    try:
        from ir_measures.providers.base import Evaluator, Provider
        from ir_measures.util import Metric
    except ImportError:
        raise UsageError("this needs ir_measures: pip install ir_measures") from None

    class Judge(Evaluator):  # type: ignore[misc]
        def __init__(self, measures: Iterable[Any], qrels: Table) -> None:
            self._qrels = table_of("qrels", qrels, session_of(qrels))
            queries = self._qrels.select("query_id").distinct().collect()
            super().__init__(list(measures), {row["query_id"] for row in queries})

        def _iter_calc(self, run: Table) -> Iterator[Any]:
            names = [next(iter(parse_measures(one))) for one in self.measures]
            theirs = dict(zip(map(str, names), self.measures, strict=True))
            for row in evaluate(run, self._qrels, names).where("status != 'missing'").collect():
                yield Metric(
                    query_id=row["query_id"], measure=theirs[row["measure"]], value=row["value"]
                )

    class NdcgSpark(Provider):  # type: ignore[misc]
        NAME = "ndcg_spark"

        def supports(self, measure: Any) -> bool:
            try:
                return len(list(parse_measures(measure))) == 1
            except UsageError:
                return False

        def _evaluator(self, measures: Iterable[Any], qrels: Table) -> Any:
            return Judge(measures, qrels)

    return NdcgSpark()


def use_in_ir_measures() -> None:
    """Let `ir_measures.calc_aggregate` and the like ask this package first.

    Raises:
        UsageError: where ir_measures is not installed.
    """
    provider = ir_measures_provider()
    import ir_measures

    asked = ir_measures.DefaultPipeline.providers
    if not any(one.NAME == provider.NAME for one in asked):
        asked.insert(0, provider)
