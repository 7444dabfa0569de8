"""Values: by hand and against pytrec_eval and ir_measures on random collections."""

import dataclasses
import math

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcg_spark as nd
from ndcg_spark.measures import Batch, Policies, scores
from tests.reference import batch_of, collection, values

SEEDS = range(60)
TREC = [
    "ndcg",
    "ndcg_cut.3,5,10",
    "map",
    "map_cut.2,5",
    "recip_rank",
    "P.1,5,20",
    "recall.3,5,20",
    "success.1,5",
    "Rprec",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "num_q",
]


def expected(qrels, run, names, level=1):
    """pytrec_eval's values, every judged query included (-c)."""
    judged: dict = {}
    for query, doc, grade in qrels:
        judged.setdefault(query, {})[doc] = grade
    shown: dict = {query: {} for query in judged}
    for query, doc, score in run:
        shown.setdefault(query, {})[doc] = score
    return pytrec_eval.RelevanceEvaluator(judged, set(names), relevance_level=level).evaluate(shown)


@pytest.mark.parametrize("level", [1, 2])
def test_equal_to_trec_eval(level):
    measures = nd.parse_measures(TREC)
    compared = 0
    for seed in SEEDS:
        # all grades of a query negative is unsafe in trec_eval; scores exact in float32
        qrels, run = collection(seed, grades=(0, 0, 1, 2, 3))
        run = [(q, d, float(np.float32(s))) for q, d, s in run]
        oracle = expected(qrels, run, TREC, level)
        resolved = [
            type(m)(**{**m.set_parameters(), "rel": level}) if m.uses_rel() else m for m in measures
        ]
        ours = values(qrels, run, resolved)
        for query, row in oracle.items():
            for plain, measure in zip(measures, resolved, strict=True):
                if plain.trec == "num_q" or not row:
                    continue
                got, want = ours[query, str(measure)], row[plain.trec_name()]
                assert got == pytest.approx(want, abs=1e-12), (seed, query, str(measure))
                compared += 1
    assert compared > 5000


@pytest.mark.slow
def test_equal_to_ir_measures():
    names = "nDCG@5 P@3 R@5 AP@4 AP(rel=2) RR(rel=2) Success@2"
    compare_with_ir_measures(names, ties=True)
    # these two it computes itself, with ties in another order than trec_eval's
    compare_with_ir_measures("Judged@5 RR@2", ties=False)


def compare_with_ir_measures(names, ties):
    measures = nd.parse_measures(names.replace(" ", ","))
    for seed in SEEDS:
        qrels, run = collection(seed, grades=(0, 0, 1, 2, 3))
        if not ties:
            run = [(q, d, s + i / 64) for i, (q, d, s) in enumerate(run)]
        run = [(q, d, float(np.float32(s))) for q, d, s in run]
        ours = values(qrels, run, measures)
        theirs = ir_measures.iter_calc(
            [ir_measures.parse_measure(name) for name in names.split()],
            [ir_measures.Qrel(*row) for row in qrels],
            [ir_measures.ScoredDoc(*row) for row in run],
        )
        for found in theirs:
            name = str(nd.parse_measure(str(found.measure)))
            assert ours[found.query_id, name] == pytest.approx(found.value, abs=1e-9), (seed, name)


L = math.log2
ONE = Batch.of(hits=[[(1, 1), (3, 2), (4, 0)]], grades=[[(2, 1), (1, 2), (0, 3)]], n_ret=[10])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DCG", 1 + 2 / L(4)),
        ("DCG@2", 1),
        ("IDCG", 2 + 1 / L(3) + 1 / L(4)),
        ("IDCG@1", 2),
        ("nDCG", (1 + 2 / L(4)) / (2 + 1 / L(3) + 1 / L(4))),
        ("nDCG(gain='exp2')", (1 + 3 / L(4)) / (3 + 1 / L(3) + 1 / L(4))),
        ("ndcg_rel", (1 + 1 / L(4)) / (1 + 1 / L(3) + 1 / L(4))),
        ("nDCG(gain='binary', rel=2)", 1 / L(4)),
        ("Rndcg", (1 + 2 / L(4)) / (2 + 1 / L(3) + 1 / L(4))),
        ("nDCG(dis='zipf')", (1 + 2 / 3) / (2 + 1 / 2 + 1 / 3)),
        ("nDCG(dis='power:2')", (1 + 2 / 9) / (2 + 1 / 4 + 1 / 9)),
        ("nDCG(dis='exp2')", (1 / 2 + 2 / 8) / (2 / 2 + 1 / 4 + 1 / 8)),
        ("nDCG(dis='none')@2", 1 / 3),
        ("nDCG@n/5", 1 / (2 + 1 / L(3))),
        ("nDCG@0.35n", (1 + 2 / L(4)) / (2 + 1 / L(3) + 1 / L(4))),
        ("nDCG@sqrt(n)", (1 + 2 / L(4)) / (2 + 1 / L(3) + 1 / L(4))),
        ("nDCG.1=5,2=0,0=1", (5 + 1 / L(5)) / (5 + 5 / L(3) + 1 / L(4) + 1 / L(5) + 1 / L(6))),
        ("G", 3),
        ("G@2", 1),
        ("G(gain='exp2')", 4),
        ("binG@3", 2),
        ("binG(rel=2)@3", 1),
        ("P@n/5", 1 / 2),
        ("P@20", 2 / 20),
        ("P(precision_denominator='retrieved')@20", 2 / 10),
        ("R@3", 2 / 3),
        ("R(recall_denominator='min(R,k)')@1", 1),
        ("AP", (1 + 2 / 3) / 3),
        ("AP@2", 1 / 3),
        ("AP(ap_denominator='min(R,k)')@2", 1 / 2),
        ("RR(rel=2)", 1 / 3),
        ("RR(rel=2)@2", 0),
        ("Success@1", 1),
        ("Rprec", 2 / 3),
        ("Judged", 3 / 10),
        ("Judged@20", 3 / 10),
        ("Judged(judged_denominator='k')@20", 3 / 20),
        ("NumQ", 1),
        ("NumRet", 10),
        ("NumRel", 3),
        ("NumRelRet", 2),
    ],
)
@pytest.mark.filterwarnings("ignore::ndcg_spark.DiscountWarning")
def test_by_hand(name, value):
    assert nd.parse_measure(name).score(ONE) == pytest.approx([value], abs=1e-15)


def test_a_gain_override_wins_over_the_mapping():
    batch = Batch(
        n_ret=np.array([2]),
        hit_offsets=np.array([0, 2]),
        hit_rank=np.array([1, 2]),
        hit_label=np.array([1.0, 2.0]),
        hit_gain=np.array([5.0, np.nan]),
        grade_offsets=np.array([0, 2]),
        grade_label=np.array([1.0, 2.0]),
        grade_count=np.array([1, 1]),
        grade_gain=np.array([5.0, np.nan]),
    )
    assert nd.DCG().score(batch) == pytest.approx([5 + 2 / L(3)])
    assert nd.nDCG().score(batch) == pytest.approx([1.0])


def test_a_gain_function_of_ones_own():
    assert nd.DCG(gain=lambda grades: grades**2).score(ONE) == pytest.approx([1 + 4 / L(4)])
    with pytest.raises(nd.UsageError, match="one finite gain >= 0"):
        nd.DCG(gain=lambda grades: grades - 10).score(ONE)


def test_a_share_of_the_list_is_exact_where_floats_are_not():
    batch = Batch.of(hits=[[(29, 1)]], grades=[[(1, 1)]], n_ret=[100])
    assert int(0.29 * 100) == 28  # the trap
    assert nd.parse_measure("Success@0.29n").score(batch) == [1.0]


EXTREME = st.sampled_from([0.0, 1.0, 3.0, 1e6, 1022.0, 1023.0, 1024.0, 1e18, 1e154, 1e300, 1.7e308])


@pytest.mark.slow
@given(
    st.lists(EXTREME, min_size=1, max_size=6), st.sampled_from(["linear", "exp2", "{1e6: 1e308}"])
)
@settings(max_examples=60, deadline=None)
def test_extreme_grades_are_refused_or_finite(grades, gain):
    """Every measure of the registry: a finite number, or E114 by name; never a warning."""
    counts = [[(g, grades.count(g)) for g in sorted(set(grades))]]
    batch = Batch.of(hits=[list(enumerate(grades, 1))], grades=counts)
    batch = dataclasses.replace(batch, hit_score=np.arange(len(grades), 0, -1.0))
    for kind in nd.catalogue():
        if not kind.__module__.startswith("ndcg_spark."):
            continue
        measure = kind.example()
        if measure.gain_function() is not None:
            own = {1e6: 1e308} if gain.startswith("{") else gain
            measure = dataclasses.replace(measure, gain=own)
        try:
            values = scores(batch, [measure], Policies())
        except nd.InputError as problem:
            assert problem.code == "E114"
            assert str(measure).split("(")[0] in str(problem)
        else:
            assert np.all(np.isfinite(values)), measure


def test_the_largest_grade_of_exp2():
    batch = Batch.of(hits=[[(1, 1023)]], grades=[[(1023, 1)]])
    assert scores(batch, [nd.nDCG(gain="exp2")], Policies())[0, 0] == 1.0
    twice = Batch.of(hits=[[(r, 1023) for r in range(1, 5)]], grades=[[(1023, 4)]])
    with pytest.raises(nd.InputError, match=r"E114: DCG\(gain='exp2'\) of 1 list"):
        scores(twice, [nd.DCG(gain="exp2")], Policies())
    with pytest.raises(nd.InputError, match="E114: a grade of 4 is above max_rel of ERR"):
        nd.ERR(max_rel=3).score(Batch.of(hits=[[(1, 4)]], grades=[[(4, 1)]]))
    large = nd.ERR(max_rel=2000).score(Batch.of(hits=[[(1, 1999)]], grades=[[(1999, 1)]]))
    assert large[0] == 0.5


def test_pairs_that_would_take_for_ever_are_refused():
    batch = Batch.of(hits=[[(r, r % 2) for r in range(1, 20_002)]], grades=[[(1, 1)]])
    with pytest.raises(nd.InputError, match=r"E136: .*20001 judged documents"):
        nd.BPR().score(dataclasses.replace(batch, hit_score=np.zeros(20_001)))


def test_a_missing_query_is_an_empty_list():
    qrels, run = [("a", "d", 1), ("b", "d", 1)], [("a", "d", 1.0)]
    for measure in (nd.nDCG(), nd.AP(), nd.P(cutoff=5), nd.Judged(), nd.nDCG(cutoff="n/5")):
        assert measure.score(batch_of(qrels, run)[1])[1] == 0.0


def test_what_counts_as_undefined_and_what_cannot_go_together():
    skip = Policies(no_relevant="skip")
    low = Batch.of(hits=[[(1, 1)], [(1, 2)]], grades=[[(1, 1)], [(2, 1)]])
    for measure in (nd.INST(min_rel=1, max_rel=3), nd.ERR(max_rel=3)):
        values = scores(low, [measure], skip)[:, 0]
        assert np.isnan(values[0]) == (measure.canonical == "INST"), measure
        assert np.isfinite(values[1])
    with pytest.raises(nd.UsageError, match="prune needs lists"):
        Policies(prune=True, duplicate_docs="max")
    with pytest.raises(nd.UsageError, match="no defined places"):
        Policies(order_by="rank", duplicate_docs="max")
    Policies(prune=True)
    Policies(order_by="rank", prune=True)
