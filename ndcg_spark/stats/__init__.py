"""Distributions, corrections, sample sizes, agreement and gates: numpy, scipy where installed."""
