"""`spark-submit jobs/click_labels.py …`: the same as `ndcg-spark click-labels …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("click-labels"))
