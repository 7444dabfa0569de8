"""`spark-submit jobs/report.py …`: the same as `ndcg-spark report …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("report"))
