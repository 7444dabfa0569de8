"""`spark-submit jobs/interleaving.py …`: the same as `ndcg-spark interleaving …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("interleaving"))
