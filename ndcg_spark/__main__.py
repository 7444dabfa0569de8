"""`python -m ndcg_spark`: the same as `ndcg-spark`."""

import sys

from ndcg_spark.cli import main

if __name__ == "__main__":
    sys.exit(main())
