"""Arrow batches of lists to numbers: numpy and pyarrow, no Spark."""
