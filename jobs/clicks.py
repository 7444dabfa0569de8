"""`spark-submit jobs/clicks.py …`: the same as `ndcg-spark clicks …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("clicks"))
