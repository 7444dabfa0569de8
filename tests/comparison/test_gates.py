"""Gates on comparisons: what breaks them."""

from __future__ import annotations

from ndcg_spark.comparison.job import _why_broken
from ndcg_spark.stats.gates import Gate

ROW = {
    "baseline": "a", "candidate": "b", "measure": "nDCG@10", "segment": "all", "test": "t",
    "delta": -0.02, "mean_baseline": 0.5, "p_value": 0.01, "p_adjusted": 0.03,
    "correction": "holm", "note": None, "p_least": None,
}  # fmt: skip


def broken(text, **changes):
    return _why_broken(Gate.parse(text), {**ROW, **changes})


def test_gates():
    assert broken("nDCG@10 worse p<0.05")
    assert not broken("nDCG@10 worse p<0.02")
    assert not broken("ndcg@10 better p<0.05")
    assert broken("nDCG@10 different p < 1e-1")
    assert broken("nDCG@10 worse by > 3%")
    assert not broken("nDCG@10 worse by > 0.02 p<0.05")
    assert broken("nDCG@10 worse by > 0.019 p<0.05")


def test_a_gate_that_nothing_can_decide_is_broken():
    unknown = {"p_value": None, "p_adjusted": None, "note": "all alike"}
    assert "all alike" in broken("nDCG@10 worse p<0.05", **unknown)
    assert "no common query" in broken("nDCG@10 worse", delta=None)


def test_a_gate_whose_test_cannot_reject_is_broken():
    assert broken("nDCG@10 worse p<0.05", p_least=0.06, p_adjusted=0.06)
    assert not broken("nDCG@10 worse p<0.05", p_least=0.04, p_adjusted=0.06)
    assert not broken("nDCG@10 better p<0.05", p_least=0.06, p_adjusted=0.06)
