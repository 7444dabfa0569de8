"""What the experiment's numbers promise: looking every night, the users' past, interleaving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcg_spark.clicks.clusters_kernel import Arm, interval, p_value
from ndcg_spark.clicks.contrasts_kernel import estimated
from ndcg_spark.clicks.drafts_kernel import drafted
from ndcg_spark.stats.sequences import always_valid_p, half_width, planned_mixture

NIGHTS, PLANNED, ALPHA = 30, 14, 0.05


@dataclass(frozen=True)
class World:
    """How users come, one impression a night each, whose value has deviation 1 about what the user
    keeps.

    lasting: deviation of what a user keeps
    arriving: users join on a night of the month and stay; others: every night has its own
    """

    name: str
    lasting: float
    arriving: bool = False
    others: bool = False


WORLDS = (
    World("others every night", 1.0, others=True),
    World("the same users", 1.0),
    World("the same, arriving over the month", 1.0, arriving=True),
)


def arms_of(
    world: World, users: int, buckets: int, effect: float, rng: np.random.Generator
) -> list[list[Arm]]:
    """The two arms after each night."""
    sums, counts = np.zeros((2, NIGHTS, 2 * buckets))
    first = rng.integers(0, NIGHTS, users) if world.arriving else np.zeros(users, int)
    cell, keeps = _users(world, users, buckets, rng)
    for night in range(NIGHTS):
        if world.others:
            cell, keeps = _users(world, users, buckets, rng)
        there = first <= night
        value = 2 + keeps + rng.normal(0, 1, users) + effect * (cell >= buckets)
        sums[night] = np.bincount(cell[there], value[there], 2 * buckets)
        counts[night] = np.bincount(cell[there], minlength=2 * buckets)
    parts = [
        part.cumsum(axis=0).reshape(NIGHTS, 2, buckets).swapaxes(0, 1) for part in (sums, counts)
    ]
    return [list(map(Arm, *(part[arm] for part in parts))) for arm in (0, 1)]


def _users(world: World, users: int, buckets: int, rng: np.random.Generator):
    """The cell (arm, bucket) of every user, and what they keep."""
    return rng.integers(0, 2 * buckets, users), rng.normal(0, world.lasting, users)


def looked(base: list[Arm], arms: list[Arm]) -> list[float]:
    """Whether the fixed interval and the sequence ever leave out 0, and do on night 14; the
    sequence's width over the fixed one's on nights 1, 14 and 30."""
    fixed, sequence, widths, mixture = [], [], [], None
    for night, (a, b) in enumerate(zip(base, arms, strict=True), 1):
        one = estimated(b, a, None)
        if not one.se:  # too few buckets yet
            fixed.append(False)
            sequence.append(False)
            widths.append(np.nan)
            continue
        variance = one.se**2
        if mixture is None:
            mixture = planned_mixture(variance, night, PLANNED)
        low, high = interval(one.delta, one.se, one.left + 1, 1 - ALPHA)
        fixed.append((p_value(one.delta, one.se, one.left + 1) or 0) < ALPHA)
        sequence.append(always_valid_p(one.delta, variance, mixture) < ALPHA)
        widths.append(2 * half_width(variance, mixture, ALPHA) / (high - low))
    ever = any(sequence[:PLANNED])
    return [any(fixed), any(sequence), fixed[PLANNED - 1], ever, *(widths[k] for k in (0, 13, 29))]


def past_of(lasting: float, users: int, buckets: int, rng: np.random.Generator) -> list[float]:
    """An experiment of one night with a past of ten: the adjusted difference, whether its and the
    plain interval hold the effect (.05), and the variance of it over the plain one's."""
    cell = rng.integers(0, 2 * buckets, users)
    keeps = rng.normal(0, lasting, users)
    arms = []
    for impressions, effect in ((10, 0.0), (3, 0.05)):
        noise = rng.normal(0, impressions**0.5, users)
        value = impressions * (2 + keeps + effect * (cell >= buckets)) + noise
        sums = np.bincount(cell, value, 2 * buckets).reshape(2, buckets)
        n = impressions * np.bincount(cell, minlength=2 * buckets).reshape(2, buckets)
        arms.append([Arm(sums[k], n[k].astype(float)) for k in (0, 1)])
    (past_a, past_b), (a, b) = arms
    found = []
    ses = []
    for past in (None, (past_b, past_a)):
        one = estimated(b, a, past)
        low, high = interval(one.delta, one.se, one.left + 1, 1 - ALPHA)
        ses.append(one.se)
        found += [one.delta - 0.05, float(low <= 0.05 <= high)]
    return [*found, (ses[1] / ses[0]) ** 2]


def clicked(
    better: float, n: int, rng: np.random.Generator, depth: int = 10, random: bool = False
) -> tuple[float, float]:
    """The z of team draft's preference, and of clicks an impression in an A/B test of as many, for
    two rankers of 20 documents that err alike; B errs less, by `better`.

    A result is clicked with probability u worth^2 / rank: users differ much in how often they click
    (u is uniform on 0 to 1, the same for all results of an impression).
    """
    rows = np.arange(n)[:, None]

    def rates(orders: np.ndarray) -> np.ndarray:
        place = 1 / np.arange(1, depth + 1)
        user = rng.random((n, 1))
        return user * place * (0.3 if random else worth[rows, orders] ** 2)

    worth, error = rng.random((2, n, 20))
    orders = [
        np.argsort(error * weight - worth, axis=1)[:, :depth] for weight in (1.0, 1.0 - better)
    ]
    wanted = np.stack([order + rows * 20 for order in orders])
    found, owner = drafted(wanted, rng.integers(0, 2, (n, depth)))
    clicks = rng.random((n, depth)) < rates(found - rows * 20)
    credit = np.where(owner == 1, clicks, -1.0 * clicks).sum(axis=1)
    preferred = np.sign(credit[clicks.any(axis=1)])
    z = preferred.mean() / (preferred.std() / len(preferred) ** 0.5)
    arm = rng.random(n) < 0.5
    each = [(rng.random((n, depth)) < rates(order)).sum(axis=1) for order in orders]
    a, b = each[0][~arm], each[1][arm]
    spread = (a.var() / len(a) + b.var() / len(b)) ** 0.5
    return float(z), float((b.mean() - a.mean()) / spread)


def print_tables(repeats: int) -> None:
    """Print the tables that stand in docs/experiments.md."""
    rng = np.random.default_rng(16)
    print("\n| users | buckets | fixed, any night | sequence, any night | width 1 / 14 / 30 |")
    print("|---|---:|---:|---:|---|")
    for world in WORLDS:
        for buckets in (20, 100, 1000):
            users = max(2000, 4 * buckets)
            rows = [looked(*arms_of(world, users, buckets, 0.0, rng)) for _ in range(repeats)]
            fixed, ever, *_ = np.mean(rows, axis=0)
            shown = " / ".join(f"{w:.2f}" for w in np.nanmean([row[4:] for row in rows], axis=0))
            print(f"| {world.name} | {buckets} | {fixed:.3f} | {ever:.3f} | {shown} |", flush=True)
    print("\n| users | effect | power on night 14, fixed | by night 14, sequence |")
    print("|---|---:|---:|---:|")
    for world, effect in (
        (WORLDS[0], 0.03),
        (WORLDS[0], 0.05),
        (WORLDS[1], 0.15),
        (WORLDS[1], 0.2),
    ):
        rows = [
            looked(*arms_of(world, 2000, 200, effect, rng)) for _ in range(max(repeats // 4, 1))
        ]
        _, _, fixed, ever, *_ = np.mean(rows, axis=0)
        print(f"| {world.name} | {effect} | {fixed:.2f} | {ever:.2f} |", flush=True)
    print(
        "\n| what users keep | buckets | bias | bias, cuped | coverage | cuped | variance ratio | 1 - rho^2 |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for lasting in (0.0, 0.5, 1.0):
        for buckets in (50, 200, 1000):
            rows = [past_of(lasting, 4000, buckets, rng) for _ in range(2 * repeats)]
            plain, held, bias, both, ratio = np.mean(rows, axis=0)
            rho2 = lasting**4 / ((lasting**2 + 1 / 3) * (lasting**2 + 1 / 10))
            print(
                f"| {lasting} | {buckets} | {plain:+.4f} | {bias:+.4f} | {held:.3f} | {both:.3f} "
                f"| {ratio:.3f} | {1 - rho2:.3f} |",
                flush=True,
            )
    print("\n| rankers | z, interleaving | z, A/B | impressions, A/B over interleaving |")
    print("|---|---:|---:|---:|")
    cases = [("random clicker", 0.2, True)]
    cases += [(f"errs less by {better}", better, False) for better in (0.1, 0.2, 0.4)]
    for name, better, random in cases:
        many = [clicked(better, 4000, rng, random=random) for _ in range(max(repeats // 10, 1))]
        z, other = np.mean(many, axis=0)
        shown = f"| {other:.2f} | {(z / other) ** 2:.0f} |" if not random else "| - | - |"
        print(f"| {name} | {z:.2f} {shown}", flush=True)
