"""From Arrow batches of lists to every measure's value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.keys import order_keys, sorted_within
from ndcg_spark.arrays.ragged import Ragged, offsets_of, pieces, ranges
from ndcg_spark.evaluation.documents_kernel import Documents
from ndcg_spark.evaluation.lists_kernel import Lists
from ndcg_spark.evaluation.parts_kernel import lists_of_parts
from ndcg_spark.evaluation.ranking_kernel import Ranking, place_keys
from ndcg_spark.evaluation.refuse_kernel import refuse, refuse_bad, refuse_ranks
from ndcg_spark.measures import Batch, Measure, Policies, prepared, scores
from ndcg_spark.measures.batch import Array, Ints, Mask


def score_batches(
    batches: Iterator[pa.RecordBatch], measures: Sequence[Measure], policies: Policies
) -> Iterator[pa.RecordBatch]:
    """The rows of SCORES (plan.py) for LISTS (query_rows.py), a row a query."""
    for queries in pieces(batches):
        yield _score_lists(Lists.of(queries), measures, policies, None)


def score_parts(
    batches: Iterator[pa.RecordBatch],
    measures: Sequence[Measure],
    policies: Policies,
    deepest: int | None,
) -> Iterator[pa.RecordBatch]:
    """The rows of SCORES for PARTS (parts_kernel.py).

    deepest: with the policy `prune`, how deep the lists were cut
    """
    for lists in lists_of_parts(batches):
        yield _score_lists(lists, measures, policies, deepest)


def _score_lists(
    lists: Lists, measures: Sequence[Measure], policies: Policies, deepest: int | None
) -> pa.RecordBatch:
    refuse_bad(lists, measures, policies)
    documents = Documents(lists.listed, lists.judged, lists.query)
    n_duplicates = np.zeros(len(lists.query), np.int64)
    if documents.listed_twice or documents.judged_twice:
        before = lists.listed.sizes
        documents = _once(documents, lists.query, policies)
        n_duplicates = before - documents.listed.sizes
    places = Ranking(documents.listed, policies)
    refuse_ranks(places, documents.listed, policies)
    batch = _batch(documents, places, lists.query, measures, policies, deepest)
    batch = prepared(batch, policies)
    values = scores(batch, measures, policies)
    n_rel = batch.n_rel(policies.rel)
    judged, retrieved = lists.is_judged[lists.query], lists.retrieved
    status = np.select(
        [~judged, ~retrieved, n_rel == 0], ["unjudged", "missing", "no_relevant"], "ok"
    )
    scored = {"judged": judged, "run": retrieved, "intersection": judged & retrieved}
    undefined = np.isnan(values).ravel() if policies.no_relevant == "skip" else None
    return pa.RecordBatch.from_pydict(
        {
            "run_id": lists.names.take(pa.array(lists.run)),
            "query_id": lists.queries.take(pa.array(lists.query)),
            "status": pa.array(status.astype(object), pa.string()),
            "scored": pa.array(scored[policies.queries]),
            "n_ret": pa.array(batch.n_ret),
            "n_rel": pa.array(n_rel),
            "n_judged": pa.array(np.diff(batch.hit_offsets)),
            "n_duplicates": pa.array(n_duplicates),
            "tied": pa.array(_tied(places, measures, policies)),
            "values": pa.ListArray.from_arrays(
                pa.array(np.arange(len(values) + 1) * len(measures), pa.int32()),
                pa.array(values.ravel(), pa.float64(), mask=undefined),
            ),
        }
    )


def _tied(places: Ranking, measures: Sequence[Measure], policies: Policies) -> Mask:
    """Which lists have equal scores on both sides of a measure's cut-off."""
    cutoffs = {k for m in measures if isinstance(k := m.last_rank(), int)}
    if policies.order_by == "rank" or policies.judged_only:
        cutoffs = set()
    return places.tied_across(cutoffs)


def _once(documents: Documents, query: Ints, policies: Policies) -> Documents:
    """Lists and judgements with each document once: its best score, its best label.

    Raises:
        InputError: where the policies do not allow repeats.
    """
    listed, labels = documents.listed, documents.judged
    refuse(
        {
            "E130 documents judged more than once": (
                documents.judged_twice if policies.duplicate_qrels == "error" else 0
            ),
            "E132 documents listed more than once": (
                documents.listed_twice if policies.duplicate_docs == "error" else 0
            ),
        }
    )
    descending = policies.score_order == "descending"
    best_first = np.argsort(place_keys(listed, descending)[listed.order], kind="stable")
    label = [-labels.numbers(name) for name in ("gain", "relevance") if labels.has(name)]
    return Documents(
        listed.only(documents.first_listed(best_first)),
        labels.only(documents.first_judged(np.lexsort(label))),
        query,
    )


def _batch(
    documents: Documents,
    places: Ranking,
    query: Ints,
    measures: Sequence[Measure],
    policies: Policies,
    deepest: int | None,
) -> Batch:
    listed, labels = documents.listed, documents.judged
    hits, label = documents.matches()
    place = places.of(hits)
    order = np.argsort(place)
    if deepest is not None:  # how much deeper a list goes depends on how it was read
        order = order[places.ranks(place[order]) <= deepest]
    hits, label, place = hits[order], label[order], place[order]
    bounds = places.tie_bounds(place) if policies.over_orders else (None, None)
    score = None
    if policies.order_by == "score" and any(measure.needs_scores for measure in measures):
        score = listed.numbers("place")[hits]
        # measures take the higher score as the better
        score = -score if policies.score_order == "ascending" else score
    gain = labels.numbers("gain") if labels.has("gain") else None
    hit_counts = np.bincount(listed.row[hits], minlength=len(listed.sizes))
    offsets, grade, count, grade_gain = _histogram(labels, gain)
    sizes = np.diff(offsets)[query]
    grades = ranges(offsets[query], sizes)  # every list of a query has the query's grades
    return Batch(
        n_ret=listed.sizes if deepest is None else np.minimum(listed.sizes, deepest),
        hit_offsets=offsets_of(hit_counts),
        hit_rank=places.ranks(place),
        hit_label=labels.numbers("relevance")[label],
        hit_gain=None if gain is None else gain[label],
        hit_first=bounds[0],
        hit_size=bounds[1],
        hit_score=score,
        grade_offsets=offsets_of(sizes),
        grade_label=grade[grades],
        grade_count=count[grades],
        grade_gain=None if grade_gain is None else grade_gain[grades],
    )


def _histogram(labels: Ragged, gain: Array | None) -> tuple[Ints, Array, Ints, Array | None]:
    """How often each (grade, gain) occurs among each query's judgements.

    Every ideal at every cut-off is read off it.
    """
    key = order_keys(labels.column("relevance"), descending=False)[labels.order]
    if gain is None:
        order = sorted_within(key, labels.offsets)
    else:
        by_gain = order_keys(labels.column("gain"), descending=False)[labels.order]
        order = np.lexsort((by_gain, key, labels.row))
    row, key = labels.row[order], key[order]
    new = np.ones(len(row), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (key[1:] != key[:-1])
    if gain is not None:
        new[1:] |= by_gain[order][1:] != by_gain[order][:-1]
    first = np.flatnonzero(new)
    offsets = offsets_of(np.bincount(row[first], minlength=len(labels.sizes)))
    chosen = order[first]
    return (
        offsets,
        labels.numbers("relevance")[chosen],
        np.diff(first, append=len(row)),
        None if gain is None else gain[chosen],
    )
