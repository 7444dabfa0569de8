"""What a comparison can be told; one documented default each, the same in Python and on the CLI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ndcg_spark.errors import UsageError, unknown
from ndcg_spark.measures.fields import check_fields, option

TESTS = ("t", "wilcoxon", "fisher", "bootstrap", "tukey", "randomized-tukey")
TOGETHER = ("tukey", "randomized-tukey")  # tests of all systems at once
BOOTSTRAPS = 1_000
SIGNS = 10_000
PERMUTATIONS = 2_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """How systems are compared.

    Raises:
        UsageError: for a value that an option does not allow.
    """

    correction: Literal["holm", "bonferroni", "bh", "none"] = option(
        "holm", "for the number of comparisons: measures x pairs x segments of a test"
    )
    alpha: float = option(0.05, "level of intervals, stars and the detectable difference")
    power: float = option(0.8, "power of the detectable difference and of sample sizes")
    detect: float | None = option(
        None, "a difference worth finding: the queries that it needs (column n_wanted)"
    )
    missing: Literal["drop", "zero"] = option(
        "drop", "a query that one system of a pair lacks: dropped and counted, or 0 (trec_eval -c)"
    )
    zeros: Literal["wilcox", "pratt"] = option(
        "wilcox", "wilcoxon: queries without a difference are dropped, or ranked first"
    )
    interval: Literal["poisson", "percentile", "bca"] = option(
        "poisson",
        "bootstrap: poisson scales to any size; percentile and bca collect 100,000 queries at most",
    )
    replicates: int | None = option(
        None, "of resampling tests (default: bootstrap 1000, fisher 10000, randomized-tukey 2000)"
    )
    seed: int = option(0, "of all that is random; the same seed gives the same p on any engine")

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")
        if self.replicates is not None and not 20 <= self.replicates <= 1_000_000:
            raise UsageError(f"replicates must be 20 to 1000000, not {self.replicates}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must be 0 to 2^31 - 1, not {self.seed}")
        if self.interval != "poisson" and self.missing == "zero":
            raise UsageError(f"interval={self.interval!r} cannot go with missing='zero'")
        if self.detect == 0:
            raise UsageError("detect must be a difference other than 0")


def tests_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """The tests by name, commas allowed.

    Raises:
        UsageError: for a test that does not exist, with the nearest.
    """
    listed = [names] if isinstance(names, str) else list(names)
    found = [name.strip() for item in listed for name in item.split(",")]
    for name in found:
        if name not in TESTS:
            raise unknown("test", name, TESTS)
    return tuple(dict.fromkeys(found)) or ("t",)
