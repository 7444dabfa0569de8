"""Benchmarks against the peers: `python -m benchmarks`."""
