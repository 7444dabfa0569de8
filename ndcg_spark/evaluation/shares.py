"""The vectorized functions of the window plan: measures applied to columns."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import pandas_udf

from ndcg_spark.errors import UsageError
from ndcg_spark.evaluation import shares_kernel as kernel
from ndcg_spark.measures import Measure, Policies
from ndcg_spark.measures.additive import AdditiveMeasure, PlacedMeasure, in_parts

TYPES = {"double": T.DoubleType(), "bigint": T.LongType(), "boolean": T.BooleanType()}


@dataclass(frozen=True)
class Shares:
    """Measures that are the sum of what each document adds, and which columns they have in common.

    measures: in the order in which they were asked for
    worth:    per measure the number of its column `worth_…`
    rel:      per measure the number of its column `n_rel_…`
    """

    measures: tuple[PlacedMeasure, ...]
    policies: Policies
    worth: tuple[int, ...]
    rel: tuple[int, ...]

    @classmethod
    def of(cls, measures: Sequence[Measure], policies: Policies) -> Shares:
        """The measures with the columns that they share.

        Raises:
            UsageError: for measures that have no such form, naming all of them.
        """
        found: list[PlacedMeasure] = []
        others: list[str] = []
        for measure in measures:
            if in_parts(measure) and not _over_orders(measure, policies):
                found.append(measure)
            else:
                others.append(str(measure))
        if others:
            of_ties = f" with ties={policies.ties!r}" if policies.over_orders else ""
            raise UsageError(
                f"{', '.join(others)} is no sum over documents of gain times discount{of_ties}; "
                "the plan `kernel` has every measure"
            )
        keys = list(dict.fromkeys(measure.worth_key() for measure in found))
        rels = list(dict.fromkeys(map(kernel.threshold, found)))
        return cls(
            tuple(found),
            policies,
            tuple(keys.index(measure.worth_key()) for measure in found),
            tuple(rels.index(kernel.threshold(measure)) for measure in found),
        )

    @property
    def by_worth(self) -> list[PlacedMeasure]:
        """A measure for each column `worth_…`."""
        return [self.measures[self.worth.index(k)] for k in range(max(self.worth) + 1)]

    @property
    def rels(self) -> list[float]:
        """The threshold of each column `n_rel_…`."""
        return [
            kernel.threshold(self.measures[self.rel.index(k)]) for k in range(max(self.rel) + 1)
        ]

    @property
    def worth_columns(self) -> list[str]:
        return [f"worth_{k}" for k in sorted(set(self.worth))]

    @property
    def n_rel_columns(self) -> list[str]:
        return [f"n_rel_{k}" for k in sorted(set(self.rel))]

    @functools.cached_property
    def ideal_orders(self) -> Shares:
        """The measures without a cut-off whose ideal is an ideal order's sum, each once."""
        whole: dict[PlacedMeasure, int] = {}
        for i in self.which(lambda measure: measure.by_ideal_order):
            whole.setdefault(self._whole(i), i)
        by = tuple(whole.values())
        numbers = (tuple(of[i] for i in by) for of in (self.worth, self.rel))
        return Shares(tuple(whole), self.policies, *numbers)

    def ideal_order(self, i: int) -> int:
        """The number in `ideal_orders` of what this measure's ideal is cut from."""
        return self.ideal_orders.measures.index(self._whole(i))

    def _whole(self, i: int) -> PlacedMeasure:
        return dataclasses.replace(self.measures[i], **{self.measures[i].at: None})

    def which(self, chosen: Callable[[PlacedMeasure], bool]) -> list[int]:
        """The numbers of the measures that are so."""
        return [i for i, measure in enumerate(self.measures) if chosen(measure)]

    def n_rel(self, which: Sequence[int] | None = None) -> list[Column]:
        """Per measure the number of relevant documents of its query; 0 without judgements."""
        chosen = range(len(self.measures)) if which is None else which
        return [F.coalesce(F.col(f"n_rel_{self.rel[i]}"), F.lit(0)) for i in chosen]


def with_gains(judgements: DataFrame, shares: Shares) -> DataFrame:
    """Judgements with worth_… (0, …) and, per measure, defined_…: whether it gives a value."""
    own = [F.col("gain")] if "gain" in judgements.columns else []
    by_worth, every = shares.by_worth, shares.measures

    def gains(label: pd.Series, *gain: pd.Series) -> pd.DataFrame:
        labels = label.to_numpy("float64", na_value=float("nan"))
        given = gain[0].to_numpy("float64", na_value=float("nan")) if gain else None
        worth = kernel.worths(by_worth, labels, given)
        defined = kernel.defining(every, labels, given)
        return pd.DataFrame(dict(zip(names, [*worth, *defined], strict=True)))

    kinds = {f"worth_{k}": "double" for k in range(len(by_worth))}
    kinds |= {f"defined_{i}": "boolean" for i in range(len(every))}
    names = list(kinds)
    return _unpacked(judgements, _udf(gains, kinds)(F.col("relevance"), *own), names)


def with_discounts(
    rows: DataFrame,
    shares: Shares,
    ranks: Sequence[Column],
    name: str = "discount",
    spread: Sequence[Column] = (),
) -> DataFrame:
    """Rows with `name`_0, …: per measure what its rank is worth; null where the rank is.

    Rows have n_rel_…, and n_ret where a measure looks at the length of lists.

    ranks:  per measure
    spread: first place and number of the documents that share a score, of which to take the mean
    """
    measures, n = shares.measures, len(shares.measures)
    if not n:
        return rows
    n_ret = F.col("n_ret") if "n_ret" in rows.columns else F.lit(0)

    def discounts(*columns: pd.Series) -> pd.DataFrame:
        own, relevant, (length, *tied) = _split(columns, n)
        found = kernel.weights(
            measures, own, length, relevant, (tied[0], tied[1]) if tied else None
        )
        return pd.DataFrame(dict(zip(names, found, strict=True)))

    names = [f"{name}_{i}" for i in range(n)]
    made = _udf(discounts, dict.fromkeys(names, "double"))(*ranks, *shares.n_rel(), n_ret, *spread)
    found = _unpacked(rows, made, names)
    own = {
        own: F.when(rank.isNotNull(), F.col(own)) for own, rank in zip(names, ranks, strict=True)
    }
    return found.withColumns(own)


def with_counted_ideals(lists: DataFrame, shares: Shares, which: Sequence[int]) -> DataFrame:
    """Rows (n_ret, n_rel_…) with ideal_… for these measures: a count of places or documents."""
    return _with_numbers(lists, shares, which, "ideal", "double", kernel.ideals)


def with_last_places(lists: DataFrame, shares: Shares, which: Sequence[int]) -> DataFrame:
    """Rows (n_ret, n_rel_…) with last_place_… for these measures: their cut-off."""
    return _with_numbers(lists, shares, which, "last_place", "bigint", kernel.last_places)


def _with_numbers(
    lists: DataFrame,
    shares: Shares,
    which: Sequence[int],
    name: str,
    kind: str,
    make: Callable[[Sequence[PlacedMeasure], Any, Sequence[Any]], Sequence[Any]],
) -> DataFrame:
    if not which:
        return lists
    measures = [shares.measures[i] for i in which]

    def numbers(*columns: pd.Series) -> pd.DataFrame:
        length, *relevant = _integers(columns)
        return pd.DataFrame(dict(zip(names, make(measures, length, relevant), strict=True)))

    names = [f"{name}_{i}" for i in which]
    made = _udf(numbers, dict.fromkeys(names, kind))(F.col("n_ret"), *shares.n_rel(which))
    return _unpacked(lists, made, names)


def _over_orders(measure: Measure, policies: Policies) -> bool:
    """Whether the mean over tied orders is another sum than the measure's own."""
    return policies.ties == "mean" and not isinstance(measure, AdditiveMeasure)


def _split(columns: Sequence[pd.Series], n: int) -> tuple[list[Any], list[Any], list[Any]]:
    arrays = _integers(columns)
    return arrays[:n], arrays[n : 2 * n], arrays[2 * n :]


def _integers(columns: Sequence[pd.Series]) -> list[Any]:
    """As arrays; a null is 1, for a place that nothing is asked of."""
    return [column.to_numpy("int64", na_value=1) for column in columns]


def _unpacked(rows: DataFrame, made: Column, names: Sequence[str]) -> DataFrame:
    """Rows with the fields of a struct as columns."""
    fields = [F.col(f"_made.{name}").alias(name) for name in names]
    kept = [F.col(name) for name in rows.columns]
    return rows.select(*kept, made.alias("_made")).select(*kept, *fields)


def _udf(function: Callable[..., pd.DataFrame], kinds: dict[str, str]) -> Any:
    kind = T.StructType([T.StructField(name, TYPES[of]) for name, of in kinds.items()])
    return pandas_udf(function, kind)  # type: ignore[call-overload]
