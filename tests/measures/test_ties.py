"""ties = mean, best, worst against brute force over every order that the scores allow."""

from __future__ import annotations

import dataclasses
import itertools
import random

import numpy as np
import pytest

import ndcg_spark as nd
from ndcg_spark.measures import Batch, Policies, prepared, scores
from ndcg_spark.measures.scoring import refuse_ties

SUPPORTED = nd.parse_measures(
    """nDCG,nDCG@2,nDCG@3,nDCG(gain='exp2')@n/2,nDCG(gains={1: 3, 2: 1})@3,nDCG(dis='zipf'),nDCG_cc@3,DCG@2,
    IDCG,G@2,binG@2,P@1,P@3,P(precision_denominator='retrieved')@9,R@2,R@4,AP,AP@2,AP@3,AP(rel=2),
    AP(ap_denominator='min(R,k)')@2,RR,RR@2,RR(rel=2),Success@1,Success@2,Success@3,Rprec,Judged@2,
    Unjudged@3,relative_P@3,mean_reciprocal_click,RBP(p=0.5),RBP(p=0.5)@2,RBPresid(p=0.5),
    RBP(gain='graded', max_rel=3),SDCG(max_rel=3)@3,NumRel,NumRet,SetP,SetF,RprecMult@0.4,GMAP""".replace(
        "\n", " "
    )
)


def tie_lists(seed):
    """Groups of labels (None: unjudged), one group of equal scores after the other; missed labels."""
    rng = random.Random(seed)
    pool = [None, None, 0, 0, 1, 1, 2, 3]
    groups = [rng.choices(pool, k=rng.randint(1, 4)) for _ in range(rng.randint(1, 3))]
    while sum(map(len, groups)) > 7:
        groups.pop()
    return groups, rng.choices([0, 1, 2], k=rng.randint(0, 2))


def batch_of(groups, missed, tied):
    """One list; tied: with the columns that say which places are open."""
    shown = [g for group in groups for g in group]
    first = [1 + sum(map(len, groups[:i])) for i, group in enumerate(groups) for _ in group]
    size = [len(group) for group in groups for _ in group]
    judged = [g for g in shown if g is not None] + missed
    hits = [(i, g) for i, g in enumerate(shown, 1) if g is not None]
    grades = [(g, judged.count(g)) for g in dict.fromkeys(judged)]
    batch = Batch.of([hits], [grades], [len(shown)])
    if not tied:
        return batch
    kept = [g is not None for g in shown]
    return dataclasses.replace(
        batch,
        hit_first=np.array(first, np.int64)[kept],
        hit_size=np.array(size, np.int64)[kept],
    )


def brute(groups, missed, policies):
    """Every measure's value for every order: (orders, measures)."""
    rows = []
    for orders in itertools.product(*(itertools.permutations(g) for g in groups)):
        batch = prepared(batch_of(orders, missed, tied=False), policies)
        rows.append(scores(batch, SUPPORTED, policies)[0])
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("judged_only", [False, True])
def test_equal_to_brute_force(judged_only):
    plain = Policies(judged_only=judged_only)
    for seed in range(40):
        groups, missed = tie_lists(seed)
        every = brute(groups, missed, plain)
        for ties, expected in (
            ("mean", every.mean(axis=0)),
            ("best", every.max(axis=0)),
            ("worst", every.min(axis=0)),
        ):
            policies = Policies(judged_only=judged_only, ties=ties)
            batch = prepared(batch_of(groups, missed, tied=True), policies)
            found = scores(batch, SUPPORTED, policies)[0]
            for measure, got, want in zip(SUPPORTED, found, expected, strict=True):
                if measure.canonical in ("Unjudged", "RBPresid") and ties != "mean":
                    continue  # fewer unjudged are better: its bounds are those of Judged, swapped
                assert got == pytest.approx(want, abs=1e-12), (seed, ties, str(measure), groups)


def test_the_company_of_other_lists_changes_nothing():
    parts = [tie_lists(seed) for seed in range(12)]
    policies = Policies(ties="mean")
    for measure in SUPPORTED:
        alone = [measure.expected(batch_of(*part, tied=True))[0] for part in parts]
        whole = Batch(
            n_ret=np.concatenate([batch_of(*p, tied=True).n_ret for p in parts]),
            **{
                name: np.concatenate([getattr(batch_of(*p, tied=True), name) for p in parts])
                for name in (
                    ["hit_rank", "hit_label", "hit_first", "hit_size", "grade_label", "grade_count"]
                )
            },
            hit_offsets=np.cumsum([0] + [len(batch_of(*p, tied=True).hit_rank) for p in parts]),
            grade_offsets=np.cumsum(
                [0] + [len(batch_of(*p, tied=True).grade_label) for p in parts]
            ),
        )
        assert scores(whole, [measure], policies)[:, 0].tolist() == alone, str(measure)


@pytest.mark.parametrize("ties", ["best", "worst", "mean"])
@pytest.mark.parametrize("measure", [nd.INST(max_rel=2), nd.BPM(max_rel=2, cutoff=5)])
def test_no_bounds_for_users_who_adapt(measure, ties):
    with pytest.raises(nd.UsageError, match=f"no closed form for {measure.canonical}"):
        refuse_ties([measure], Policies(ties=ties))
    refuse_ties([nd.SDCG(max_rel=2, cutoff=5)], Policies(ties=ties))


def test_measures_without_a_closed_form_are_refused_by_name():
    wanted = nd.parse_measures("nDCG,bpref,ERR(max_rel=3)@5,infAP,trec_eval:G")
    with pytest.raises(nd.UsageError, match=r"no closed form for Bpref, ERR\(max_rel=3\)@5, infAP"):
        refuse_ties(wanted, Policies(ties="mean"))
    refuse_ties(wanted, Policies())
    with pytest.raises(nd.UsageError, match="may split a tie"):
        Policies(ties="mean", depth=3)
    with pytest.raises(nd.UsageError, match="needs scores"):
        Policies(ties="best", order_by="rank")
