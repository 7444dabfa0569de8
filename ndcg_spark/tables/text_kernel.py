"""Runs and judgements as text, to Arrow batches: TREC, CSV and TSV with a header, JSON lines.

Compressed by gzip, bzip2, xz or Zstandard; UTF-8 with or without a mark, UTF-16 by its mark; lines
that end as on any system. A wrong line is named by its number.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import lzma
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import InputError
from ndcg_spark.tables import values_kernel as values
from ndcg_spark.tables.lines_kernel import COMPRESSED, MARKS, lines_of, uncompressed

LINES = 200_000  # rows of a batch
NUMBERS, WHOLE = ("relevance", "score", "gain"), ("rank",)
ALIASES = {"query_id": ("query-id",), "doc_id": ("corpus-id", "doc-id"), "relevance": ("score",)}
TREC = {
    "qrels": ("query_id iteration doc_id relevance", (0, 2, 3, 1)),
    "runs": ("query_id iteration doc_id rank score run_id", (5, 0, 2, 4, 3)),
}  # the line, and the places of the columns below in it
COLUMNS = {
    "qrels": ("query_id", "doc_id", "relevance", "iteration"),
    "runs": ("run_id", "query_id", "doc_id", "score", "rank"),
}
NAMES = re.compile(
    r"\.(txt|tsv|csv|jsonl|ndjson|json|trec|qrels?|runs?|res|gz|bz2|xz|zst)$", re.IGNORECASE
)
Rows = list[Sequence[Any]]
Fields = Callable[[bytes], Sequence[Any] | None]


def is_text(name: str, head: bytes, alone: bool) -> bool:
    """Whether a file is to be read as text, by its name and first bytes.

    alone: it was named itself, so that its name may be any
    """
    if head[:4] in (b"PAR1", b"PARE") or re.search(r"\.(parquet|pq)$", name, re.IGNORECASE):
        return False
    if not (alone or NAMES.search(name)):
        return False
    return head.startswith((*COMPRESSED, *MARKS)) or b"\0" not in head


@dataclass
class TextTable:
    """The rows of a text, whose columns are known by its first line.

    role: runs or qrels; names: our name -> the text's name of each column that is wanted
    where: names the file in errors
    """

    stream: Any
    role: str
    names: Mapping[str, str]
    where: str

    def __post_init__(self) -> None:
        places = zip(COLUMNS[self.role], TREC[self.role][1], strict=True)
        asked = [(self.names[name], place) for name, place in places if name in self.names]
        self.form, self._own = "TREC", [own for own, _ in asked]
        self._places = [place for _, place in asked]
        self._lines = self._numbered(self.stream)
        first = next(self._lines, None)
        self.has_rows = first is not None
        self._pending: list[tuple[int, bytes]] = [] if first is None else [first]
        if first is not None:
            self._look(*first)
        kinds = {**dict.fromkeys(NUMBERS, pa.float64()), **dict.fromkeys(WHOLE, pa.int64())}
        ours = {own: name for name, own in self.names.items()}
        self.schema_arrow = pa.schema(
            [(own, kinds.get(ours.get(own, own), pa.string())) for own in self._own]
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """
        Raises:
            InputError: E160, naming the file, the line and what is wrong with it.
        """
        numbers: list[int] = []
        rows: Rows = []
        for number, fields in self._fields():
            numbers.append(number)
            rows.append(fields)
            if len(rows) == LINES:
                yield self._batch(numbers, rows)
                numbers, rows = [], []
        if rows:
            yield self._batch(numbers, rows)

    def _look(self, number: int, line: bytes) -> None:
        """Of which form the text is, by its first line."""
        wanted = {
            alias.casefold(): own
            for name, own in self.names.items()
            for alias in (own, *(ALIASES.get(name, ()) if own == name else ()))
        }
        if line.lstrip().startswith(b"{"):
            record = self._record(number, line)
            self.form, header = "JSON lines", list(record)
        else:
            found = [
                (form, next(csv.reader([self._decoded(number, line)], delimiter=mark)))
                for form, mark in (("CSV", ","), ("TSV", "\t"))
            ]
            known = [
                (form, fields)
                for form, fields in found
                if sum(field.strip().casefold() in wanted for field in fields) > 1
            ]
            if not known:
                return
            self.form, header = known[0]
            self._pending = []
        self._name([field.strip() for field in header], wanted)

    def _name(self, header: list[str], wanted: Mapping[str, str]) -> None:
        """The columns of a header; those that nobody asks for are left out."""
        exact = {field.casefold() for field in header}
        own, places = [], []
        for place, field in enumerate(header):
            name = wanted.get(field.casefold(), field)
            if name.casefold() != field.casefold() and name.casefold() in exact:
                name = field  # the name itself is there, so this is no other name for it
            if name in self.names.values():
                own.append(name)
                places.append(place)
        self._header, self._own, self._places = header, own, places

    def _fields(self) -> Iterator[tuple[int, Sequence[Any]]]:
        if self.form in ("CSV", "TSV"):
            yield from self._separated("," if self.form == "CSV" else "\t")
            return
        lines = itertools.chain(self._pending, self._lines)
        if self.form == "TREC":
            yield from self._trec(lines)
            return
        for number, line in lines:
            record = self._record(number, line)
            yield number, [record.get(self._header[place]) for place in self._places]

    def _trec(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Sequence[Any]]]:
        text = TREC[self.role][0]
        n, more = len(text.split()), self.role == "runs"  # after the run's name anything may stand
        chosen = operator.itemgetter(*self._places)
        for number, line in lines:
            fields = line.split()  # at ASCII space, as trec_eval does: ids may hold other space
            if len(fields) != n and not (more and len(fields) > n):
                raise self._wrong(number, f"{len(fields)} fields instead of {n} ({text})")
            yield number, chosen(fields)

    def _separated(self, mark: str) -> Iterator[tuple[int, Sequence[Any]]]:
        last, n = 0, len(self._header)

        def texts() -> Iterator[str]:
            nonlocal last
            for number, line in self._lines:
                last = number
                yield self._decoded(number, line) + "\n"

        for fields in csv.reader(texts(), delimiter=mark):
            if len(fields) != n:
                raise self._wrong(last, f"{len(fields)} fields instead of {n}, as in the header")
            yield last, [fields[place] for place in self._places]

    def _record(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(self._decoded(number, line))
        except ValueError as problem:
            raise self._wrong(number, f"no JSON: {problem}") from None
        if not isinstance(found, dict):
            raise self._wrong(number, "no JSON object")
        return found

    def _batch(self, numbers: list[int], rows: Rows) -> pa.RecordBatch:
        columns = []
        for field, column in zip(self.schema_arrow, zip(*rows, strict=True), strict=True):
            columns.append(self._column(field, column, numbers))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema_arrow)

    def _column(self, field: pa.Field, column: Sequence[Any], numbers: list[int]) -> pa.Array:
        if self.form != "JSON lines" and not pa.types.is_integer(field.type):
            with contextlib.suppress(pa.ArrowInvalid):  # else found again below, with its line
                kind = pa.binary() if self.form == "TREC" else pa.string()
                found = pa.array(column, kind).cast(pa.string()).cast(field.type)
                if pa.types.is_string(field.type) or not values.has_large(found):
                    return found
        convert = {pa.float64(): values.number, pa.int64(): values.whole}.get(
            field.type, values.text
        )
        found = []
        for number, value in zip(numbers, column, strict=True):
            own = self._decoded(number, value) if isinstance(value, bytes) else value
            try:
                found.append(convert(own, self.form))
            except ValueError as problem:
                raise self._wrong(number, f"{field.name} {problem}") from None
        return pa.array(found, field.type)

    def _decoded(self, number: int, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise self._wrong(number, "not UTF-8 text") from None

    def _wrong(self, number: int, what: str) -> InputError:
        return InputError("E160", f"{self.where}, line {number}: {what}")

    def _numbered(self, stream: Any) -> Iterator[tuple[int, bytes]]:
        """Numbers and content of lines; empty ones and comments are left out."""
        number = 0
        try:
            for lines in lines_of(uncompressed(stream)):
                for line in lines:
                    number += 1
                    content = line.strip()
                    if content and not (self.form == "TREC" and content.startswith(b"#")):
                        yield number, line
        except UnicodeDecodeError:
            raise self._wrong(number + 1, "not UTF-16 text, as its mark says") from None
        except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as problem:
            raise InputError("E105", f"{self.where} cannot be read: {problem}") from None
