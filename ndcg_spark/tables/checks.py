"""What is wrong with a table, as a code, a count and up to five keys; never rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import InputError

EXAMPLES = 5
PROBLEMS = "code string, problem string, count bigint, examples array<string>"
KEY_NAMES = {"run_id": "run", "query_id": "query", "doc_id": "document", "relevance": "grade"}


@dataclass(frozen=True)
class Problem:
    """Something wrong with the input: a stable code, how many rows, and up to five keys."""

    code: str
    text: str
    count: int
    examples: tuple[str, ...]
    hint: str = ""

    def __str__(self) -> str:
        shown = "; ".join(self.examples)
        more = ", …" if self.count > len(self.examples) else ""
        keys = f" ({shown}{more})" if shown else ""
        return f"{self.code}: {self.count} {self.text}{keys}{self.hint and '. ' + self.hint}"


def refusal(found: Sequence[Problem]) -> InputError:
    """All problems in one error, under the code of the first."""
    first, *others = map(str, found)
    return InputError(found[0].code, ". ".join([first.removeprefix(f"{found[0].code}: "), *others]))


def repeated(table: DataFrame, keys: Sequence[str]) -> DataFrame:
    return table.groupBy(*keys).agg(F.count(F.lit(1)).alias("n")).where("n > 1")


def repeats(table: DataFrame, keys: Sequence[str]) -> str:
    """Up to five keys that are there more than once, for a message."""
    rows = repeated(table, keys).select(*keys).orderBy(*keys).limit(EXAMPLES).collect()
    return "; ".join(_key(row.asDict()) for row in rows)


def is_empty(table: DataFrame) -> bool:
    return not table.limit(1).take(1)


def some(
    code: str, text: str, bad: DataFrame, keys: Sequence[str], hint: str = ""
) -> Iterator[Problem]:
    count = bad.count()
    if not count:
        return
    rows = bad.select(*keys).orderBy(*keys).limit(EXAMPLES).collect() if keys else []
    yield Problem(code, text, count, tuple(_key(row.asDict()) for row in rows), hint)


def _key(row: dict[str, object]) -> str:
    return ", ".join(f"{KEY_NAMES.get(name, name)} {_short(value)}" for name, value in row.items())


def _short(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else text[:77] + "…"
