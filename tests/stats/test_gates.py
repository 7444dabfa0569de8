"""The one grammar of gates."""

from __future__ import annotations

import pytest

from ndcg_spark.errors import UsageError
from ndcg_spark.stats.gates import Gate, parsed


@pytest.mark.parametrize(
    ("text", "measure", "sign", "by", "percent", "segment", "p"),
    [
        ("nDCG@10 worse p<0.05", "nDCG@10", -1, 0.0, False, "all", 0.05),
        ("ndcg@10 drop > 0.01", "nDCG@10", -1, 0.01, False, "all", None),
        ("RR drop > 2%", "RR", -1, 2.0, True, "all", None),
        ("RR rise>5%", "RR", 1, 5.0, True, "all", None),
        ("AP better by > .5 in country=DE|device=tv p < 1e-3", "AP", 1, 0.5, False,
         "country=DE|device=tv", 1e-3),
        (" AP  different ", "AP", 0, 0.0, False, "all", None),
    ],
)  # fmt: skip
def test_what_can_be_said(text, measure, sign, by, percent, segment, p):
    gate = Gate.parse(text)
    assert (gate.measure, gate.sign, gate.by) == (measure, sign, by)
    assert (gate.percent, gate.segment, gate.p) == (percent, segment, p)


@pytest.mark.parametrize("text", ["nDCG@10 is bad", "worse", "AP worse by 3", "AP drop > x", "AP"])
def test_what_cannot(text):
    with pytest.raises(UsageError, match="--fail-if"):
        Gate.parse(text)


def test_measures_that_are_not_there():
    with pytest.raises(UsageError, match="RR is not among AP"):
        parsed(["AP worse", "RR worse"], ["AP"])


@pytest.mark.parametrize(
    ("text", "change", "before", "p", "passes"),
    [
        ("AP drop > 0.01", -0.01, 0.5, None, True),
        ("AP drop > 0.01", -0.011, 0.5, None, False),
        ("AP drop > 0.01", 0.5, 0.5, None, True),
        ("AP rise > 2%", 0.0101, 0.5, None, False),
        ("AP rise > 2%", 0.0099, 0.5, None, True),
        ("AP different > 2%", -0.02, 0.5, None, False),
        ("AP worse p<0.05", -0.02, 0.5, 0.05, True),
        ("AP worse p<0.05", -0.02, 0.5, 0.049, False),
        ("AP worse p<0.05", -0.02, 0.5, None, False),
        ("AP worse", 0.0, 0.5, None, True),
    ],
)
def test_what_passes(text, change, before, p, passes):
    assert Gate.parse(text).passed(change, before, p) is passes
