"""How much two orderings of the same systems agree."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations

from ndcg_spark.errors import UsageError


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b of two lists of values of the same systems; None where one is all ties.

    >>> kendall_tau_b([1, 2, 3, 4, 5], [2, 1, 3, 4, 5])
    0.8
    """
    agree = tied_x = tied_y = pairs = 0
    for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2):
        pairs += 1
        tied_x += a == c
        tied_y += b == d
        agree += ((a > c) - (a < c)) * ((b > d) - (b < d))
    both = (pairs - tied_x) * (pairs - tied_y)
    return agree / math.sqrt(both) if both else None


def tau_ap(order: Sequence[Hashable], truth: Sequence[Hashable]) -> float:
    """Yilmaz, Aslam and Robertson's tau_AP: a tau that counts errors at the top of `order` most.

    order, truth: the same items, best first; 1 for equal orders, -1 for opposite ones

    >>> tau_ap("BACDE", "ABCDE"), tau_ap("ABCED", "ABCDE")
    (0.5, 0.875)
    """
    place = {item: i for i, item in enumerate(truth)}
    if len(order) != len(place) or set(order) != set(place) or len(place) < 2:
        raise UsageError("tau_ap needs two orders of the same two or more items, without repeats")
    shares = [
        sum(place[above] < place[item] for above in order[:i]) / i
        for i, item in enumerate(order)
        if i
    ]
    return 2 * math.fsum(shares) / (len(order) - 1) - 1


def rbo(one: Sequence[Hashable], other: Sequence[Hashable], p: float = 0.9) -> float:
    """Rank-biased overlap, extrapolated from the common depth (Webber, Moffat and Zobel 2010).

    one, other: items, best first, without repeats; p: how far down one looks, 0 < p < 1

    >>> round(rbo("BACDE", "ABCDE"), 6), rbo("AB", "CD")
    (0.9, 0.0)
    """
    if not 0 < p < 1:
        raise UsageError(f"rbo: p must lie between 0 and 1, not {p}")
    seen: tuple[set[Hashable], set[Hashable]] = (set(), set())
    overlap = total = 0.0
    depth = 0
    for depth, (a, b) in enumerate(zip(one, other, strict=False), 1):
        seen[0].add(a)
        seen[1].add(b)
        overlap = len(seen[0] & seen[1]) / depth
        total += overlap * p**depth
    return (1 - p) / p * total + overlap * p**depth if depth else 0.0
