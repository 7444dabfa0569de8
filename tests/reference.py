"""A slow, obvious reference for the plan: Python loops over small collections."""

from __future__ import annotations

import dataclasses
import random

import numpy as np

from ndcg_spark.measures import Batch, Policies, scores


def collection(seed: int, queries: int = 8, docs: int = 12, grades=(-1, 0, 0, 1, 2, 3)):
    """Random qrels and run rows with ties, negatives, unjudged, missing and unjudged queries."""
    rng = random.Random(seed)
    qrels, run = [], []
    for number in range(queries):
        query = f"q{number}"
        names = [f"d{rng.choice('abcXYZ')}{i}" for i in range(docs)]
        if rng.random() < 0.9:
            judged = rng.sample(names, rng.randint(1, docs - 2))
            qrels += [(query, doc, rng.choice(grades)) for doc in judged]
        if rng.random() < 0.85:
            shown = rng.sample(names, rng.randint(1, docs))
            run += [(query, doc, rng.choice([0.5, 1.0, 1.5, rng.random()])) for doc in shown]
    return qrels, run


def batch_of(
    qrels, run, queries=None, descending=True, docid_desc=True, depth=None, judged_only=False,
    negative="nonrelevant",
):  # fmt: skip
    """(queries, Batch): every judged query's list, ranked by score and then by document bytes.

    depth, judged_only, negative: the policies of these names, written out.
    """
    names = queries if queries is not None else sorted({q for q, _, _ in qrels})
    hits, grades, n_ret = [], [], []
    for query in names:
        label = {doc: float(grade) for q, doc, grade in qrels if q == query}
        shown = [(score, doc) for q, doc, score in run if q == query]
        shown.sort(key=lambda r: str(r[1]).encode(), reverse=docid_desc)
        shown.sort(key=lambda r: r[0], reverse=descending)
        if negative == "unjudged":
            label = {doc: grade for doc, grade in label.items() if grade >= 0}
        shown = shown[:depth]
        if judged_only:
            shown = [(score, doc) for score, doc in shown if doc in label]
        hits.append([(i, label[d]) for i, (_, d) in enumerate(shown, 1) if d in label])
        counts = {g: list(label.values()).count(g) for g in label.values()}
        grades.append(list(counts.items()))
        n_ret.append(len(shown))
    return names, Batch.of(hits, grades, n_ret)


def values(qrels, run, measures, **options):
    """{(query, measure): value} of the reference."""
    own = {k: options[k] for k in ("depth", "judged_only", "negative") if k in options}
    names, batch = batch_of(qrels, run, **own)
    table = scores(batch, measures, Policies(**options))
    return {
        (query, str(measure)): float(table[i, j])
        for i, query in enumerate(names)
        for j, measure in enumerate(measures)
    }


def permuted(batch: Batch, order) -> Batch:
    """The batch with its lists in another order."""
    order = np.asarray(order)

    def take(offsets, values):
        return [list(values[offsets[i] : offsets[i + 1]]) for i in order]

    hit = [
        list(zip(r, g, strict=True))
        for r, g in zip(
            take(batch.hit_offsets, batch.hit_rank),
            take(batch.hit_offsets, batch.hit_label),
            strict=True,
        )
    ]
    grade = [
        list(zip(g, c, strict=True))
        for g, c in zip(
            take(batch.grade_offsets, batch.grade_label),
            take(batch.grade_offsets, batch.grade_count),
            strict=True,
        )
    ]
    made = Batch.of(hit, grade, batch.n_ret[order])
    if batch.hit_score is None:
        return made
    scores = [s for part in take(batch.hit_offsets, batch.hit_score) for s in part]
    return dataclasses.replace(made, hit_score=np.array(scores, float))
