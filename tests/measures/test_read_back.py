"""Every name that is printed is read back as the measure that it was."""

from __future__ import annotations

import dataclasses
import random
import typing

import pytest

import ndcg_spark as nd
from ndcg_spark.measures.base import SPELLINGS
from ndcg_spark.measures.fields import hints

NUMBERS = [0.0, 1.0, 2.0, 0.5, 0.1, 1 / 3, 1e-7, 1e20, 2.0**60, -1.0, 3.5]
CUTOFFS = [None, 1, 10, 10**17, "n/5", "0.2n", "sqrt(n)", "R", "n/2.5", "0.333n"]
DISCOUNTS = ["log2", "zipf", "exp2", "none", "power:0.5", "power:1.25", "power:1e-7",
             "power:0.000001", "power:123456.789", "power:2"]  # fmt: skip
GAINS = ["linear", "exp2", "binary", {1: 1, 2: 3}, {0.5: 1e-9, 1e20: 2.5}, {-1: 0}]


def choices(kind, field):
    hint = hints(kind)[field.name]
    if field.name == "cutoff":
        return CUTOFFS
    if field.name == "dis":
        return DISCOUNTS
    if field.name == "gain" and field.metadata.get("convert"):
        return GAINS
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [True, False] if hint is bool else NUMBERS


def drawn(kind, times, rng):
    fields = [f for f in dataclasses.fields(kind) if f.name in kind.parameters()]
    for _ in range(times):
        given = {f.name: rng.choice(choices(kind, f)) for f in fields if rng.random() < 0.6}
        try:
            measure = kind(**given)
        except nd.UsageError:
            continue  # a value that the measure does not allow
        if not (kind.needs_cutoff and vars(measure)[kind.at] is None):
            yield measure


@pytest.mark.parametrize("kind", list(nd.catalogue()), ids=lambda kind: kind.canonical)
def test_generated_names_read_back(kind):
    checked = 0
    for measure in drawn(kind, 40, random.Random(3)):
        name = str(measure)
        again = nd.parse_measure(name)
        assert again == measure, name
        assert str(again) == name
        assert nd.parse_measures(f"RR,{name}")[-1] == measure  # commas inside are the measure's
        checked += 1
    assert checked or kind.__module__.startswith("tests")


@pytest.mark.parametrize("name", sorted(SPELLINGS))
def test_every_spelling_reads_back(name):
    for cut in ("", "@7", "@R", "@n/5", "@0.5"):
        try:
            measures = nd.parse_measures(f"{name}(max_rel=3){cut}")
        except nd.UsageError:
            try:
                measures = nd.parse_measures(name + cut)
            except nd.UsageError:
                continue
        for measure in measures:
            assert nd.parse_measure(str(measure)) == measure


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("P@R", "P@R"),
        ("P(cutoff='R')", "P@R"),
        ("recall_100", "R@100"),
        ("nDCG(cutoff='n/5')", "nDCG@n/5"),
        # ranx
        ("hit_rate@5", "Success@5"), ("hits@5", "binG@5"), ("f1@5", "F1@5"), ("f1", "F1"),
        ("r-precision", "Rprec"), ("rbp.95", "RBP(p=0.95)"), ("rbp.0.5", "RBP(p=0.5)"),
        ("ndcg_burges@10", "nDCG(gain='exp2')@10"), ("precision@3", "P@3"), ("mrr", "RR"),
        # MLlib
        ("precisionAt@5", "P@5"), ("recallAt@5", "R@5"), ("ndcgAt@5", "nDCG@5"),
        ("meanAveragePrecision", "AP"), ("meanAveragePrecisionAt@5", "AP@5"),
    ],
)  # fmt: skip
def test_names_of_other_tools(text, printed):
    assert str(nd.parse_measure(text)) == printed


def test_several_persistences():
    assert [str(m) for m in nd.parse_measures("rbp.95,80,map")] == [
        "RBP(p=0.95)", "RBP", "AP"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nDCG@²", "bad cut-off '²'; allowed: a positive integer"),
        ("nDCG@" + "9" * 400, "bad cut-off"),
        ("nDCG@0", "bad cut-off"),
        ("nDCG@-1", "bad cut-off"),
        ("nDCG@1e3", "bad cut-off"),
        ("nDCG(gains=exp)", "cannot read the parameters"),
        ("P_²", "unknown measure"),
        ("RBP.9x", "is not a number"),
    ],
)
def test_what_is_no_name(text, words):
    with pytest.raises(nd.UsageError) as problem:
        nd.parse_measures(text)
    assert words in str(problem.value)
    assert "0x" not in str(problem.value)
