"""Whether a query fits where the plan `kernel` holds it: said before it starts."""

from __future__ import annotations

import contextlib
import re

from pyspark.sql import SparkSession

from ndcg_spark.engine.sessions import is_remote, memory
from ndcg_spark.errors import InputError
from ndcg_spark.evaluation.inputs import Inputs
from ndcg_spark.tables.footers import most_of_one_value

# measured on a query of 20 million documents (rounded down: only what surely fails is refused)
EMBEDDED_BYTES = 200  # a document, in our process
HEAP_BYTES, HEAP_SHARE = 80, 0.6  # a document, in the JVM's heap, of what Spark leaves for it
WORKER_BYTES = 150  # a document, in the Python worker beside it
SMALL = 64 * 2**20  # files below this hold no such query
UNITS = {"": 2**20, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def refuse_what_does_not_fit(inputs: Inputs) -> None:
    """Refuse runs with a query that is too large, as far as the files' footers tell.

    Raises:
        InputError: E142, naming the query and what it needs.
    """
    spark = inputs.spark
    if is_remote(spark) or sum(files.listing.size for files in inputs.runs_files) < SMALL:
        return
    query, documents = max(
        (most_of_one_value(files, "query_id") for files in inputs.runs_files),
        key=lambda found: found[1],
    )
    for where, there, needed in _needs(spark, documents):
        if there is not None and needed > there:
            raise InputError(
                "E142",
                f"runs: the query {str(query)[:80]!r} has {documents:,} documents or more; the "
                f"plan kernel holds a query in memory and needs {needed / 2**30:.1f} GB {where}, "
                f"which has {there / 2**30:.1f}. --plan window (plan='window') holds none",
            )


def _needs(spark: SparkSession, documents: int) -> list[tuple[str, float | None, float]]:
    """Where the documents are held, how many bytes there are, and how many they need."""
    if "connect" in type(spark).__module__:  # the embedded engine
        return [("in the process", memory(), documents * EMBEDDED_BYTES)]
    local = str(spark.conf.get("spark.master", "")).startswith("local")
    heap = _bytes(spark, "spark.driver.memory" if local else "spark.executor.memory")
    usable = None if heap is None else heap * HEAP_SHARE
    needs = [("in the JVM's heap (six tenths of it)", usable, float(documents * HEAP_BYTES))]
    if local and heap is not None:
        beside = documents * WORKER_BYTES
        needs.append(("beside the JVM's heap", memory() - heap, beside))
    return needs


def _bytes(spark: SparkSession, setting: str) -> int | None:
    """A size such as 2g of the session; Spark's default where it is not set."""
    text = "1g"
    with contextlib.suppress(Exception):  # engines differ in what they say of unknown settings
        text = spark.conf.get(setting, "1g") or "1g"
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?", text.strip().lower())
    return int(found[1]) * UNITS[found[2]] if found else None
