"""Runs and judgements from where they are: files that the tasks read, and tables of the engine."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.engine.inputs import Table, engine_table, file_source, filtered
from ndcg_spark.engine.sessions import cores_of
from ndcg_spark.engine.shuffle import SHUFFLE, is_on, parts_of_session
from ndcg_spark.errors import InputError, InputWarning
from ndcg_spark.evaluation.pack_kernel import PACKED, Packing, pack
from ndcg_spark.evaluation.packed_lists import packed_table, packing
from ndcg_spark.measures import Policies
from ndcg_spark.tables.contracts import QRELS, RANKED_RUNS, RUNS, Contract, conform, same_ids
from ndcg_spark.tables.files import Files, contract_files, in_tasks, rows_of_files, tasks_of
from ndcg_spark.tables.files_kernel import Reading
from ndcg_spark.tables.read import Access, run_name

DOCUMENTS_A_PART, DOCUMENT_BYTES = 400_000, 8  # compressed: a score and an id
MOST_PARTS = 4096
Columns = Mapping[str, str]


def runs_contract(policies: Policies) -> Contract:
    """The columns that runs must have: a score, or under ``order_by="rank"`` a rank."""
    return RANKED_RUNS if policies.order_by == "rank" else RUNS


@dataclass(frozen=True)
class Inputs:
    """Conforming runs and judgements: files, which the tasks read, and tables of the engine."""

    spark: SparkSession
    policies: Policies
    runs_files: list[Files] = field(default_factory=list)
    qrels_files: list[Files] = field(default_factory=list)
    runs_tables: list[DataFrame] = field(default_factory=list)
    qrels_tables: list[DataFrame] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)  # what may have gone wrong, for errors

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        runs: Sequence[Table],
        qrels: Table | None,
        policies: Policies,
        columns: Mapping[str, Columns] | None = None,
        access: Access | None = None,
    ) -> Inputs:
        """The sources, looked at: what they have, and whether it fits together.

        Without runs, or without qrels, the inputs are only good for the other.

        Raises:
            InputError: E101 to E105, E110 to E119, E140, E150, naming the source.
        """
        found = cls(spark, policies)
        access, columns = access or Access(), columns or {}
        names: list[str] = []
        for table in runs:
            found._add_run(table, columns.get("runs", {}), access, names)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                "E116", f"two sources without a run_id are both named {twice[0]!r}; rename one"
            )
        if qrels is not None:
            found._add_qrels(qrels, columns.get("qrels", {}), access)
        if runs and qrels is not None:
            same_ids(found.runs, found.qrels)
        return found

    def _add_run(self, table: Table, columns: Columns, access: Access, names: list[str]) -> None:
        contract = runs_contract(self.policies)
        own = columns.get("run_id", "run_id")
        if (source := self._file_source(table, access)) is not None:
            listing = filtered("runs", source, access)
            name = None if "run_id" in columns else run_name(source)
            files = contract_files(listing, contract, columns, {"run_id": name} if name else {})
            self.runs_files.append(files)
            if not files.has(own):
                names.append(run_name(source))
            if files.empty:
                _warn(f"E103: the source {source!r} of the runs has no rows")
            if hint := listing.several():
                self.hints.append(f"{hint[0].upper()}{hint[1:]}")
                _warn(f"runs: {hint}")
            return
        rows = engine_table(self.spark, "runs", table, access)
        added = None
        if own.casefold() not in {column.casefold() for column in rows.columns}:
            added = "run"
            if isinstance(table, (str, os.PathLike)):
                added = run_name(os.fspath(table))
                names.append(added)
            rows = rows.withColumn(own, F.lit(added))
        conforming = conform(rows, contract, columns, own if added else None)
        self.runs_tables.append(conforming)

    def _add_qrels(self, table: Table, columns: Columns, access: Access) -> None:
        if (source := self._file_source(table, access)) is not None:
            listing = filtered("qrels", source, access)
            self.qrels_files.append(contract_files(listing, QRELS, columns))
        else:
            rows = engine_table(self.spark, "qrels", table, access)
            self.qrels_tables.append(conform(rows, QRELS, columns))

    def _file_source(self, table: Table, access: Access) -> str | None:
        """The path of files that the tasks can read; None for a table, and where they cannot."""
        return file_source(self.spark, table, access) if is_on(self.spark, SHUFFLE) else None

    @functools.cached_property
    def runs(self) -> DataFrame:
        """The runs' rows, lazily: run_id, query_id, doc_id, score or rank."""
        rows = self._rows(self.runs_files, self.runs_tables, "runs")
        if self.policies.ignore_identical_ids:
            same = F.col("query_id").cast("string") == F.col("doc_id").cast("string")
            rows = rows.where(~F.coalesce(same, F.lit(False)))
        return rows

    @functools.cached_property
    def qrels(self) -> DataFrame:
        """The judgements' rows, lazily: query_id, doc_id, relevance, gain if there is one."""
        return self._rows(self.qrels_files, self.qrels_tables, "qrels")

    def _rows(self, files: list[Files], tables: list[DataFrame], role: str) -> DataFrame:
        every = list(tables)
        for source in files:
            every.append(rows_of_files(self.spark, [source], cores_of(self.spark)))
        first = every[0]
        for other in every[1:]:
            same_ids(first, other, (f"first source of the {role}", "another"))
        return functools.reduce(lambda a, b: a.unionByName(b), every)

    @property
    def reader(self) -> str:
        """Which reader reads: arrow, engine, or both."""
        files, tables = self.runs_files + self.qrels_files, self.runs_tables + self.qrels_tables
        return "arrow and engine" if files and tables else "arrow" if files else "engine"

    def packed(self, deepest: int | None) -> DataFrame:
        """PACKED (pack_kernel.py), lazily: the lists of all sources, packed where they are read."""
        how = packing(self.policies, self._parts(), deepest)
        found = [packed_table(table, how) for table in self.runs_tables + self.qrels_tables]
        sources = [*self.runs_files, *self.qrels_files]
        if sources:
            tasks = tasks_of([source.listing for source in sources], cores_of(self.spark))
            readings = [source.reading for source in sources]
            found.append(in_tasks(self.spark, tasks, readings, Packer(how), PACKED))
        return functools.reduce(lambda a, b: a.unionAll(b), found)

    def _parts(self) -> int:
        """Into how many parts the queries go: a part is held in memory, and so is a record."""
        if self.runs_tables or self.qrels_tables:
            return parts_of_session(self.spark)
        size = sum(files.listing.size for files in self.runs_files + self.qrels_files)
        parts = -(-size // (DOCUMENTS_A_PART * DOCUMENT_BYTES))
        return max(min(parts, MOST_PARTS), 2 * cores_of(self.spark))


@dataclass(frozen=True)
class Packer:
    """Packs the rows of a task."""

    packing: Packing

    def __call__(
        self, reading: Reading, rows: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        yield from pack(map(_placed, rows), self.packing)


def _placed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """With a run's score or rank called place."""
    return rows.rename_columns(
        ["place" if name in ("score", "rank") else name for name in rows.schema.names]
    )


def _warn(text: str) -> None:
    warnings.warn(text, InputWarning, stacklevel=2)
