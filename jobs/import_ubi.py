"""`spark-submit jobs/import_ubi.py …`: the same as `ndcg-spark import-ubi …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("import-ubi"))
