"""Statistics between systems: sums on Spark, tests on small tables."""
