"""The public names of `ndcg_spark.theory`, found here when its `__init__` is asked for them."""

from ndcg_spark.theory.limits import (
    at_size,
    corrected,
    expected_random,
    growth_exponent,
    limit,
    log_constant,
    noise,
    plug_in,
    power_family,
    pseudo_expectation,
    step_curve,
    zeta,
)

__all__ = [
    "at_size",
    "corrected",
    "expected_random",
    "growth_exponent",
    "limit",
    "log_constant",
    "noise",
    "plug_in",
    "power_family",
    "pseudo_expectation",
    "step_curve",
    "zeta",
]
