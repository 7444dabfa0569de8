"""`spark-submit jobs/click_bias.py …`: the same as `ndcg-spark click-bias …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("click-bias"))
