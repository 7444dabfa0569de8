"""`spark-submit jobs/explain.py …`: the same as `ndcg-spark explain …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("explain"))
