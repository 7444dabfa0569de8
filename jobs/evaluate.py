"""`spark-submit jobs/evaluate.py …`: the same as `ndcg-spark evaluate …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("evaluate"))
