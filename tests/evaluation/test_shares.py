"""What documents, places and lists are worth, row by row: without any engine."""

from __future__ import annotations

import numpy as np
import pytest

import ndcg_spark as nd
from ndcg_spark.evaluation import shares_kernel as kernel
from ndcg_spark.measures import Batch, Policies, scores
from ndcg_spark.measures.additive import AdditiveMeasure, in_parts, ratio
from tests.reference import batch_of, collection

OTHERS = (
    "nDCG(gain='exp2')@n/2,nDCG(dis='zipf')@R,DCG@sqrt(n),P(precision_denominator='retrieved')@5,"
    "R(recall_denominator='min(R,k)')@3,F1@3,Judged(judged_denominator='k')@2,RR(rel=2)@3,Success@2,"
    "RBP(gain='graded',max_rel=3)@4,G(gains={1: 2, 3: 10})@4"
)
MEASURES = [m.example() for m in nd.catalogue() if not m.is_own() and in_parts(m.example())]
MEASURES += nd.parse_measures(OTHERS)


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_parts_make_the_whole(measure):
    for seed in range(12):
        qrels, run = collection(seed)
        _, batch = batch_of(qrels, run)
        value = scores(batch, [measure], Policies())[:, 0]
        row = batch.hit_row
        n_rel = batch.n_rel(kernel.threshold(measure))
        (worth,) = kernel.worths([measure], batch.hit_label, None)
        (weight,) = kernel.weights([measure], [batch.hit_rank], batch.n_ret[row], [n_rel[row]])
        term = worth * weight
        if measure.first_only:
            total = np.array([term[row == i].max(initial=0.0) for i in range(len(batch))])
        else:
            total = np.bincount(row, weights=term, minlength=len(batch))
        ideal = measure.ideal(batch)
        if not measure.by_ideal_order:
            (own,) = kernel.ideals([measure], batch.n_ret, [n_rel])
            assert np.array_equal(own, ideal)
        found = ratio(total, ideal)
        assert np.array_equal(np.minimum(found, 1.0) if measure.bounded else found, value)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_query_has_a_value_where_one_of_its_documents_gives_one(measure):
    labels = [(-1.0,), (0.0,), (1.0,), (2.0, 0.0), (0.0, -1.0), (3.0, 3.0), ()]
    batch = Batch.of([[]] * len(labels), [[(g, 1) for g in sorted(set(row))] for row in labels])
    none = measure.undefined(batch)
    whole = [True] * len(labels) if none is None else list(~none)
    alone = [
        bool(kernel.defining([measure], np.array(row), None)[0].any())
        if row
        else kernel.always_defined(measure)
        for row in labels
    ]
    assert alone == whole


def test_gains_that_judgements_bring_with_them():
    worth, binary = kernel.worths(
        [nd.nDCG(), nd.P(cutoff=5)], np.array([2.0, 0.0]), np.array([np.nan, 0.5])
    )
    assert worth.tolist() == [2.0, 0.5]
    assert binary.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "measure", [m for m in MEASURES if isinstance(m, AdditiveMeasure)], ids=str
)
def test_the_mean_weight_of_tied_places(measure):
    first, size, n_ret, n_rel = (
        ints(1, 2, 2, 7),
        ints(1, 4, 4, 2),
        ints(9, 9, 9, 9),
        ints(3, 3, 3, 3),
    )
    (found,) = kernel.weights([measure], [first], n_ret, [n_rel], (first, size))
    for place, start in enumerate(first):
        ranks = np.arange(start, start + size[place])
        each = np.full(len(ranks), 9)
        (alone,) = kernel.weights([measure], [ranks], each, [each // 3])
        assert found[place] == pytest.approx(alone.mean(), abs=1e-15)


def test_last_places():
    measures = nd.parse_measures("nDCG@10,nDCG@n/2,nDCG@R,nDCG")
    found = kernel.last_places(measures, ints(9), [ints(4)] * 4)
    assert [int(k[0]) for k in found[:3]] == [10, 4, 4]
    assert found[3][0] > 10**18
