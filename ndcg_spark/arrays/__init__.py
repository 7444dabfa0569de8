"""Ragged lists, sorting keys, hashes and whole-number sums: numpy and pyarrow, no Spark."""
