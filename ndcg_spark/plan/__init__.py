"""How Spark computes: DataFrame in, DataFrame out, no action."""
