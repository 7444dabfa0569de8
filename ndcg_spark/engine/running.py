"""A job's session: opened, and stopped whatever happens; engines' errors made clear."""

from __future__ import annotations

import contextlib
import datetime
import logging
import re
import tempfile
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from ndcg_spark.ending import ending, watch
from ndcg_spark.engine import progress, sessions
from ndcg_spark.engine.options import Job
from ndcg_spark.engine.sessions import Engine, memory
from ndcg_spark.engine.shuffle import SORT
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.tables.paths import parquet_rows
from ndcg_spark.tables.read import translate

# how engines say that their memory is full; a JVM that ran out of it is gone when it is asked again
EXHAUSTED = re.compile(r"Resources exhausted|OutOfMemoryError|Java heap space")
# a disk that takes no more, as the system, the JVM and Rust say it
UNWRITTEN = re.compile(
    r"[^\n]*(?:No space left on device|Disk quota exceeded|Read-only file system)[^\n]*"
)
MORE_MEMORY = (
    "Give it more (--conf spark.driver.memory=8g, on a cluster spark.executor.memory), or more "
    "partitions (--conf spark.sql.shuffle.partitions=N); evaluate has --plan window for queries "
    "that no task can hold"
)


@contextlib.contextmanager
def opened(job: Job, role: str = "input") -> Iterator[Engine]:
    """The session that the job asks for; `role` names what it reads in errors."""
    engine = sessions.open_engine(job.engine, job.master, job.remote, job.settings, job.by_rows)
    try:
        progress.begin(engine, job.command(), job.quiet)
        yield engine
    except KeyboardInterrupt as problem:  # a busy engine may not stop: the process will end it
        watch(getattr(problem, "exit_code", 130))
        if not ending():
            engine.stop()
        raise
    except BaseException as problem:
        engine.stop()
        if isinstance(problem, Exception):
            raise translate(refused(problem), role) from problem.__cause__
        raise
    else:
        engine.stop()


def materialized(
    stack: contextlib.ExitStack, engine: Engine, place: str | None, table: DataFrame
) -> DataFrame:
    """The table, computed once: written to a place, or kept for the length of the stack."""
    if place is None and engine.embedded:  # no cache, but it runs where our temporary files are
        place = stack.enter_context(tempfile.TemporaryDirectory()) + "/table"
    if place is None:
        kept = table.persist()  # what is asked of it first computes it
        stack.callback(kept.unpersist)
        return kept
    table.write.mode("error").parquet(place)
    # an engine that writes no file for no row leaves no schema to infer
    return engine.spark.read.schema(table.schema).parquet(place)


def unsorted_if_it_fits(engine: Engine, sources: Sequence[str], row_bytes: int) -> None:
    """Have the embedded engine gather all rows at once where they fit: a third of its CPU is the
    sort.
    """
    if engine.embedded:
        rows = [parquet_rows(source) for source in sources]
        fits = None not in rows and sum(filter(None, rows)) * row_bytes < memory() // 4
        engine.spark.conf.set(SORT, str(not fits).lower())


def refused(problem: Exception) -> Exception:
    """The InputError or UsageError that a worker raised, out of the engine's error around it."""
    if isinstance(problem, (InputError, UsageError)):
        return problem
    found = re.search(r"\bInputError: (E\d+): (.*)", str(problem))
    if found:
        return InputError(found[1], found[2].strip())
    if unwritten := UNWRITTEN.search(str(problem)):
        return InputError(
            "E159", f"the output or the engine's scratch took no more: {unwritten[0]}"
        )
    if isinstance(problem, ConnectionRefusedError) or EXHAUSTED.search(str(problem)):
        what = "the engine's memory was not enough, or the engine was ended from outside"
        return InputError("E143", f"{what}. {MORE_MEMORY}")
    misused = re.search(r"\bUsageError: (.*)", str(problem))
    return UsageError(misused[1].strip()) if misused else problem


def now() -> str:
    """The time for a manifest."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def quiet_logs(verbose: bool = False) -> None:
    """The engines' own logs would repeat, in a hundred lines, what our one paragraph says."""
    if verbose:
        logging.getLogger("ndcg_spark").setLevel(logging.DEBUG)
        return
    for name in ("pyspark", "py4j"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def cause(problem: Exception) -> str:
    """The line that says what happened, out of an engine's many."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    notes = "\n".join(getattr(problem, "__notes__", ())).split("\n")
    last = next((f" ({note.strip()})" for note in reversed(notes) if note.strip()), "")
    causes = [line for line in lines if line.startswith("Caused by:")]
    said = causes[-1] if causes else lines[0] if lines else ""
    kind = type(problem).__name__
    named = said if causes or kind in said else f"{kind}: {said}" if said else kind
    return named[:500] + last[:500]
