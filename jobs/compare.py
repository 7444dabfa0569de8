"""`spark-submit jobs/compare.py …`: the same as `ndcg-spark compare …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("compare"))
