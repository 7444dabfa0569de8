"""The parser: three spellings, round trips, nearest-match errors."""

import warnings

import pytest

import ndcg_spark as nd
from ndcg_spark.measures import resolve
from ndcg_spark.measures.base import SPELLINGS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10", ["nDCG@10"]),
        ("nDCG @ 10", ["nDCG@10"]),
        ("ndcg_cut.5,20", ["nDCG@5", "nDCG@20"]),
        ("ndcg_cut_5", ["nDCG@5"]),
        ("P.5,10,map", ["P@5", "P@10", "AP"]),
        ("ndcg@5,10", ["nDCG@5", "nDCG@10"]),
        ("recall_100,success.1", ["R@100", "Success@1"]),
        ("map_cut.10", ["AP@10"]),
        ("nDCG(dcg='exp-log2')@10", ["nDCG(gain='exp2')@10"]),
        ("ndcg_p", ["nDCG(gain='exp2')"]),
        ("ndcg_rel", ["nDCG(gain='binary')"]),
        ("Rndcg", ["nDCG@R"]),
        ("nDCG(dis='power:0.5', cutoff='n/5')", ["nDCG(dis='power:0.5')@n/5"]),
        ("nDCG@sqrt(n)", ["nDCG@sqrt(n)"]),
        ("ndcg.1=1.0,2=3.0,3=7.0", ["nDCG(gains={1: 1, 2: 3, 3: 7})"]),
        ("ndcg.1=1.0,2=3.0,map", ["nDCG(gains={1: 1, 2: 3})", "AP"]),
        ("nDCG(gains={1: 1, 2: 3})@10", ["nDCG(gains={1: 1, 2: 3})@10"]),
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("ndcg,ndcg,nDCG", ["nDCG"]),
        ("ndcg.1=1e-2", ["nDCG(gains={1: 0.01})"]),
    ],
)
def test_spellings(text, expected):
    assert [str(m) for m in nd.parse_measures(text)] == expected


def test_default_cutoffs_of_ndcg_cut():
    found = [m.cutoff for m in nd.parse_measures("ndcg_cut")]
    assert found == [5, 10, 15, 20, 30, 100, 200, 500, 1000]


def test_objects_and_names_mix():
    wanted = ["nDCG@10", nd.nDCG(dcg="exp-log2") @ 10, nd.AP(rel=2), nd.RR]
    names = [str(m) for m in nd.parse_measures(wanted)]
    assert names == ["nDCG@10", "nDCG(gain='exp2')@10", "AP(rel=2)", "RR"]


@pytest.mark.parametrize("name", sorted(SPELLINGS))
def test_every_name_round_trips(name):
    spelling = SPELLINGS[name]
    if "max_rel" in spelling.measure.parameters():
        name += "(max_rel=3)"
    name += "@5" if spelling.measure.needs_cutoff and not spelling.cuts else ""
    for measure in nd.parse_measures(name):
        assert nd.parse_measure(str(measure)) == measure
        dialect = "trec_eval" if name.startswith("trec_eval:") else "ndcg_spark"
        assert nd.parse_measures(measure.trec_name(), dialect) == [measure]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "did you mean 'ndcg'"),
        ("nDCG(gian='exp2')", "did you mean 'gain'"),
        ("nDCG(gain='linaer')", "did you mean 'linear'"),
        ("nDCG(dis='log')", "did you mean 'log2'"),
        ("nDCG(dcg='exp-log')", "did you mean 'exp-log2'"),
        ("P@0", "bad cut-off '0'"),
        ("nDCG(cutoff='n/0')", "bad cut-off"),
        ("nDCG_cut_5@10", "more than one cut-off"),
        ("RR(rel='x')", "must be of type float"),
        ("P(precision_denominator='R')", "allowed: k, retrieved"),
        ("", "empty measure name"),
        ("P(5)", "name=value"),
        ("nDCG(gain=", "cannot read"),
        ("Rprec@5", "has no parameter 'cutoff'"),
        ("ndcg.1=x", "cannot read|not a number|bad"),
        ("ndcg.1=-2", "finite number >= 0"),
        ("ndcg.1=1,1=2", "given twice"),
        ("nDCG(gain='exp2', gains={1: 2})", "one of gain, gains and dcg"),
    ],
)
def test_errors_say_what_and_what_instead(text, message):
    with pytest.raises(nd.UsageError, match=message):
        nd.parse_measures(text)


def test_a_name_of_several_measures_is_not_one():
    with pytest.raises(nd.UsageError, match="stands for 9 measures"):
        nd.parse_measure("P")
    with pytest.raises(nd.UsageError, match="P needs a cut-off"):
        nd.parse_measures([nd.P()])


def test_global_gains_and_rel_leave_a_measures_own():
    wanted = nd.parse_measures("ndcg@10,ndcg_p,AP,AP(rel=3),ndcg_rel,Judged@5")
    found = [str(m) for m in resolve(wanted, rel=2, global_gains="1=1,2=5")]
    assert found == [
        "nDCG(gains={1: 1, 2: 5})@10",
        "nDCG(gain='exp2')",
        "AP(rel=2)",
        "AP(rel=3)",
        "nDCG(gain='binary', rel=2)",
        "Judged@5",
    ]


def test_a_diverging_discount_warns_once_by_name():
    wanted = nd.parse_measures("nDCG(dis='exp2')@5,nDCG(dis='exp2')@10,nDCG(dis='power:1.5')")
    with pytest.warns(nd.DiscountWarning) as caught:
        resolve(wanted)
    assert [str(w.message)[:24] for w in caught] == [
        "under the discount exp2 ",
        "under the discount power",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve(nd.parse_measures("nDCG(dis='power:1')"))


def test_a_gain_function_is_named_and_round_trips():
    measure = nd.nDCG(gain=squared) @ 10
    assert str(measure) == f"nDCG(gain='{__name__}:squared')@10"
    assert nd.parse_measure(str(measure)) == measure


def squared(grades):
    return grades**2


def test_the_registry_refuses_a_taken_name():
    with pytest.raises(nd.UsageError, match="'AP' is taken"):

        class Other(nd.Measure, names=("AP",)):
            """Another measure."""
