"""`spark-submit jobs/import_trec.py …`: the same as `ndcg-spark import-trec …`."""

import sys

from ndcg_spark.cli import command

if __name__ == "__main__":
    sys.exit(command("import-trec"))
