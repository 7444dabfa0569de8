"""Properties that every measure of the registry has, on lists that Hypothesis makes."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcg_spark as nd
from ndcg_spark.measures import Batch, Policies, scores
from tests.reference import permuted


def variants(measure):
    """A class with its defaults, with a cut-off, and with a higher threshold."""
    base = measure.example()
    yield base
    if "cutoff" in measure.parameters():
        for cut in (1, 3, "n/2", "sqrt(n)", "R"):
            yield base @ cut
    if base.uses_rel():
        yield dataclasses.replace(base, rel=2)


OURS = [m for m in nd.catalogue() if m.__module__.startswith("ndcg_spark.")]
MEASURES = list(itertools.chain.from_iterable(map(variants, OURS)))
GAINS = [
    nd.nDCG(gain=gain, dis=dis) @ cut
    for gain in ("linear", "exp2", "binary", {1: 3, 2: 1})
    for dis in ("log2", "power:0.5", "zipf", "exp2", "none")
    for cut in (None, 1, 4, "n/3", "sqrt(n)", "R")
]


@st.composite
def lists(draw, max_docs=9):
    """(labels of the returned documents or None, labels of judged ones not returned)."""
    label = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    shown = draw(st.lists(st.none() | label, max_size=max_docs))
    return shown, draw(st.lists(label, max_size=4))


def batch(*rows):
    hits = [[(i, g) for i, g in enumerate(shown, 1) if g is not None] for shown, _ in rows]
    judged = [[g for g in shown if g is not None] + missed for shown, missed in rows]
    grades = [[(g, row.count(g)) for g in dict.fromkeys(row)] for row in judged]
    made = Batch.of(hits, grades, [len(shown) for shown, _ in rows])
    return dataclasses.replace(made, hit_score=-(made.hit_rank // 2).astype(float))  # some tied


@pytest.mark.slow
@given(st.lists(lists(), min_size=1, max_size=6), st.randoms())
@settings(max_examples=25, deadline=None)
def test_a_list_has_the_same_bits_in_any_company(rows, rng):
    whole = batch(*rows)
    order = list(range(len(rows)))
    rng.shuffle(order)
    for measure in MEASURES:
        together = measure.score(whole)
        assert together.dtype == np.float64
        assert together.shape == (len(rows),)
        assert np.array_equal(measure.score(permuted(whole, order)), together[order])
        for i, row in enumerate(rows):
            assert measure.score(batch(row))[0] == together[i], str(measure)


@pytest.mark.slow
@given(lists())
@settings(max_examples=60, deadline=None)
def test_bounds(row):
    for measure in [*MEASURES, *GAINS]:
        (value,) = measure.score(batch(row))
        assert np.isfinite(value), str(measure)
        assert not measure.bounded or 0 <= value <= 1, str(measure)


@pytest.mark.slow
@given(lists())
@settings(max_examples=100, deadline=None)
def test_the_ideal_order_scores_exactly_one(row):
    shown, missed = row
    for measure in GAINS:
        judged = [g for g in shown if g is not None] + missed
        order = sorted(
            judged, key=lambda g: -measure.gain_function()(np.array([g]), measure.rel)[0]
        )
        ideal = batch((order, []))
        worth = measure.undefined(ideal)[0]
        if measure.cutoff == "R" and ideal.n_rel(measure.rel)[0] == 0:
            continue
        assert measure.score(ideal)[0] == (0.0 if worth else 1.0), str(measure)


@given(lists(), st.floats(0.01, 1000))
@settings(max_examples=60, deadline=None)
def test_all_gains_times_a_constant(row, factor):
    grades = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
    plain = nd.nDCG(gain={g: max(g, 0) for g in grades})
    scaled = nd.nDCG(gain={g: max(g, 0) * factor for g in grades})
    assert scaled.score(batch(row))[0] == pytest.approx(plain.score(batch(row))[0], abs=1e-12)


@given(lists(), st.data())
@settings(max_examples=100, deadline=None)
def test_promoting_a_better_document_never_lowers_ndcg(row, data):
    shown, missed = row
    if len(shown) < 2:
        return
    low, high = sorted(data.draw(st.permutations(range(len(shown))))[:2])
    worth = [-1.0 if g is None else max(g, 0.0) for g in shown]
    if worth[high] <= worth[low]:
        return
    better = list(shown)
    better[low], better[high] = better[high], better[low]
    for measure in (nd.nDCG(), nd.nDCG() @ 3, nd.nDCG(dis="zipf"), nd.nDCG(gain="exp2") @ "n/2"):
        before, after = measure.score(batch((shown, missed), (better, missed)))
        assert after >= before - 1e-15, str(measure)


@given(lists(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_unjudged_documents_at_the_end_change_no_gain(row, more):
    shown, missed = row
    longer = shown + [None] * more
    for measure in (nd.nDCG(), nd.nDCG() @ 5, nd.AP(), nd.RR(), nd.R(cutoff=5), nd.DCG()):
        before, after = measure.score(batch((shown, missed), (longer, missed)))
        assert before == after, str(measure)


@given(lists())
@settings(max_examples=100, deadline=None)
def test_one_relevant_document_makes_ap_rr(row):
    shown = [None if g is not None and g >= 1 else g for g in row[0]] + [1.0]
    one = batch((shown, []))
    assert nd.AP().score(one)[0] == nd.RR().score(one)[0]


@given(lists(), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_cutoff_does_not_depend_on_the_others(row, cut):
    one = batch(row)
    alone = {m: m.score(batch(row))[0] for m in (nd.nDCG() @ cut, nd.AP() @ cut, nd.P() @ cut)}
    every = [kind() @ k for k in range(1, 9) for kind in (nd.nDCG, nd.AP, nd.P)]
    table = scores(one, every, Policies())
    for column, measure in enumerate(every):
        if measure in alone:
            assert table[0, column] == alone[measure]


def test_a_measure_defined_here_is_a_measure_like_the_others():
    class Second(nd.Measure, names=("Second",)):
        """1 where the second document is judged relevant."""

        def score(self, batch):
            return batch.count_hits(batch.relevant(1) & (batch.hit_rank == 2)).astype(float)

    assert nd.parse_measure("second").score(
        batch(([None, 1.0], []), ([1.0, None], []))
    ).tolist() == [
        1.0,
        0.0,
    ]
