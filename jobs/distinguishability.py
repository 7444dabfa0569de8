"""`spark-submit jobs/distinguishability.py …`: the same as `ndcg-spark distinguishability …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("distinguishability"))
