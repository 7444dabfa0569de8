"""The one vectorized function: Arrow batches of judged lists in, every measure's value out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from ndcg_spark.errors import InputError
from ndcg_spark.measures import Batch, Measure, Policies, prepared, scores
from ndcg_spark.measures.batch import Array, Ints, Mask, rows_of
from ndcg_spark.measures.gains import LARGEST_EXP2
from ndcg_spark.measures.ndcg import uses_exp2

REFUSED = "ndcg_spark refused its input"
ENTRIES = 2_000_000  # ragged entries a kernel call works on: bounds memory, not the result


def score(
    lists: DataFrame, measures: Sequence[Measure], policies: Policies, cutoffs: Sequence[int]
) -> DataFrame:
    """SCORES(run_id, query_id, status, scored, n_ret, …, values): one row per list.

    `values` holds one double per measure, in the measures' order. A list that the `queries`
    policy leaves out comes with ``scored = false``, so that it can be counted.
    """
    kinds = {field.name: field.dataType.simpleString() for field in lists.schema.fields}
    kernel = functools.partial(
        _score_batches, measures=tuple(measures), policies=policies, cutoffs=frozenset(cutoffs)
    )
    return lists.mapInArrow(
        kernel,
        f"run_id string, query_id {kinds['query_id']}, status string, scored boolean, "
        "n_ret bigint, n_rel bigint, n_judged bigint, n_duplicates bigint, tied boolean, "
        "values array<double>",
    )


def _score_batches(
    batches: Iterator[pa.RecordBatch],
    measures: Sequence[Measure],
    policies: Policies,
    cutoffs: frozenset[int],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for part in _bounded(batch):
            yield _score_lists(part, measures, policies, cutoffs)


def _bounded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices of whole lists with a bounded number of ragged entries."""
    sizes = _lengths(batch, "ranks") + _lengths(batch, "hits")
    histogram = _flat(batch, "grades")
    rows = np.repeat(np.arange(batch.num_rows), _lengths(batch, "grades"))
    sizes += np.bincount(
        rows, weights=_numbers(histogram, "count"), minlength=batch.num_rows
    ).astype(np.int64)
    piece = np.cumsum(sizes) // ENTRIES
    starts = np.flatnonzero(np.diff(piece, prepend=-1))
    for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        yield batch.slice(start, end - start)


def _score_lists(
    lists: pa.RecordBatch,
    measures: Sequence[Measure],
    policies: Policies,
    cutoffs: frozenset[int],
) -> pa.RecordBatch:
    retrieved = lists.column("n_ret").is_valid().to_numpy(zero_copy_only=False)
    judged = lists.column("grades").is_valid().to_numpy(zero_copy_only=False)
    _refuse_bad(lists, measures, policies)
    batch = prepared(_batch(lists, measures, policies), policies)
    values = scores(batch, measures, policies)
    n_rel = batch.n_rel(policies.rel)
    status = np.select(
        [~judged, ~retrieved, n_rel == 0], ["unjudged", "missing", "no_relevant"], "ok"
    )
    scored = {"judged": judged, "run": retrieved, "intersection": judged & retrieved}
    undefined = np.isnan(values).ravel() if policies.no_relevant == "skip" else None
    return pa.RecordBatch.from_pydict(
        {
            "run_id": lists.column("run_id"),
            "query_id": lists.column("query_id"),
            "status": pa.array(status.astype(object), pa.string()),
            "scored": pa.array(scored[policies.queries]),
            "n_ret": pa.array(batch.n_ret),
            "n_rel": pa.array(n_rel),
            "n_judged": pa.array(np.diff(batch.hit_offsets)),
            "n_duplicates": lists.column("n_duplicates").fill_null(0).cast(pa.int64()),
            "tied": pa.array(_tied(lists, cutoffs, policies)),
            "values": pa.ListArray.from_arrays(
                pa.array(np.arange(len(values) + 1) * len(measures), pa.int32()),
                pa.array(values.ravel(), pa.float64(), mask=undefined),
            ),
        }
    )


def _batch(lists: pa.RecordBatch, measures: Sequence[Measure], policies: Policies) -> Batch:
    hits, hit_offsets = _judged(lists)
    grades = _flat(lists, "grades")
    rank = _numbers(hits, "rank").astype(np.int64)
    row = rows_of(hit_offsets)
    order: Ints | slice = slice(None)
    if np.any((np.diff(rank) <= 0) & (np.diff(row) == 0)):  # grouping need not keep the order
        order = np.lexsort((rank, row))
    label, grade = pc.struct_field(hits, "label"), pc.struct_field(grades, "label")
    score = None
    if any(measure.needs_scores for measure in measures):
        score = _optional(hits, "score", order)
    if score is not None and policies.score_order == "ascending":
        score = -score  # measures take the higher score as the better
    return Batch(
        n_ret=lists.column("n_ret").fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64),
        hit_offsets=hit_offsets,
        hit_rank=rank[order],
        hit_label=_numbers(label, "relevance")[order],
        hit_gain=_optional(label, "gain", order),
        hit_first=_whole(_optional(hits, "tie_first", order)),
        hit_size=_whole(_optional(hits, "tie_size", order)),
        hit_score=score,
        grade_offsets=_offsets(lists, "grades"),
        grade_label=_numbers(grade, "relevance"),
        grade_count=_numbers(grades, "count").astype(np.int64),
        grade_gain=_optional(grade, "gain", slice(None)),
    )


def _judged(lists: pa.RecordBatch) -> tuple[pa.StructArray, Ints]:
    """The hits with a label, and where each list's begin (others are there for their score)."""
    hits, offsets = _flat(lists, "hits"), _offsets(lists, "hits")
    kept = pc.struct_field(hits, ["label", "relevance"]).is_valid()
    if kept.true_count == len(hits):
        return hits, offsets
    before = np.concatenate(([0], np.cumsum(kept.to_numpy(zero_copy_only=False))))
    return hits.filter(kept), before[offsets]


def _optional(structs: pa.StructArray, name: str, order: Ints | slice) -> Array | None:
    return _numbers(structs, name)[order] if name in _fields(structs) else None


def _fields(structs: pa.StructArray) -> list[str]:
    return [field.name for field in structs.type]


def _whole(numbers: Array | None) -> Ints | None:
    return None if numbers is None else numbers.astype(np.int64)


def _refuse_bad(lists: pa.RecordBatch, measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse lists that must not become numbers.

    Raises:
        InputError: with the codes and counts of this batch; `check` then names the keys.
    """
    found = {
        "E120 null or empty ids": _bad_keys(lists) + _total(lists, "n_bad_docs"),
        "E122 NaN or null scores": (
            _total(lists, "n_bad_scores") if policies.nan_score == "error" else 0
        ),
        "E113 judgements without a finite grade, a document or a valid gain": _total(
            lists, "n_bad_labels"
        ),
        "E130 documents judged more than once": (
            _total(lists, "n_duplicate_labels") if policies.duplicate_qrels == "error" else 0
        ),
        "E132 documents listed more than once": _total(lists, "n_repeats"),
        "E133 lists whose ranks are not 1, 2, 3, …": _bad_ranks(lists, policies),
        "E134 negative grades": (
            _grades_where(lists, lambda grade: grade < 0) if policies.negative == "error" else 0
        ),
        "E114 grades too large for exp2 gain": (
            _grades_where(lists, lambda grade: grade > LARGEST_EXP2) if uses_exp2(measures) else 0
        ),
    }
    bad = [f"{what}: {count}" for what, count in found.items() if count]
    if bad:
        raise InputError(
            bad[0][:4],
            f"{REFUSED}: {'; '.join(bad)} (in one batch; ndcg_spark.check names all of them)",
        )


def _bad_keys(lists: pa.RecordBatch) -> int:
    bad = 0
    for name in ("run_id", "query_id"):
        column = lists.column(name)
        bad += column.null_count
        if not pa.types.is_integer(column.type):
            bad += pc.sum(pc.equal(pc.utf8_length(column), 0)).as_py() or 0
    return bad


def _grades_where(lists: pa.RecordBatch, bad: Callable[[Array], Mask]) -> int:
    grades = _flat(lists, "grades")
    labels = _numbers(pc.struct_field(grades, "label"), "relevance")
    return int(_numbers(grades, "count")[bad(labels)].sum())


def _bad_ranks(lists: pa.RecordBatch, policies: Policies) -> int:
    if policies.order_by != "rank":
        return 0
    offsets = _offsets(lists, "ranks")
    ranks = _flat(lists, "ranks").to_numpy(zero_copy_only=False).astype(np.int64)
    row = rows_of(offsets)
    ranks = ranks[np.lexsort((ranks, row))]
    expected = np.arange(len(ranks)) - offsets[row] + 1
    return len(np.unique(row[ranks != expected]))


def _tied(lists: pa.RecordBatch, cutoffs: frozenset[int], policies: Policies) -> Mask:
    """Which lists have equal scores on both sides of one of these cut-offs."""
    tied = np.zeros(lists.num_rows, np.bool_)
    hits, row = _flat(lists, "hits"), rows_of(_offsets(lists, "hits"))
    if not cutoffs or policies.judged_only or "score" not in _fields(hits):
        return tied
    rank = _numbers(hits, "rank").astype(np.int64)
    score = pc.struct_field(hits, "score").to_numpy(zero_copy_only=False)
    order = np.lexsort((rank, row))
    rank, row, score = rank[order], row[order], score[order]
    across = (row[1:] == row[:-1]) & (rank[1:] == rank[:-1] + 1)
    across &= np.isin(rank[:-1], list(cutoffs)) & (score[1:] == score[:-1])
    tied[row[1:][across]] = True
    return tied


def _lengths(lists: pa.RecordBatch, name: str) -> Ints:
    lengths = pc.list_value_length(lists.column(name)).fill_null(0)
    counts: Ints = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return counts


def _offsets(lists: pa.RecordBatch, name: str) -> Ints:
    return np.concatenate(([0], np.cumsum(_lengths(lists, name))))


def _flat(lists: pa.RecordBatch, name: str) -> pa.Array:
    return lists.column(name).flatten()


def _numbers(structs: pa.StructArray, name: str) -> Array:
    numbers: Array = pc.struct_field(structs, name).to_numpy(zero_copy_only=False)
    return numbers.astype(np.float64)


def _total(lists: pa.RecordBatch, name: str) -> int:
    return int(pc.sum(lists.column(name)).as_py() or 0)
