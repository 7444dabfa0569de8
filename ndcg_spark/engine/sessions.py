"""Which engine runs the plan: the embedded one, local Spark, a cluster, or Spark Connect."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import importlib.util
import logging
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from ndcg_spark.ending import temporary
from ndcg_spark.engine.notebook import show_tables
from ndcg_spark.errors import InputError, UsageError

# what ndcg_spark relies on, wherever it runs; --conf wins
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # queries are gathered one after another from sorted rows, not all at once in a hash table
    "spark.sql.execution.useObjectHashAggregateExec": "false",
}
# where a row is a query with all its documents (Connect, bucketed tables): bound an Arrow batch by
# bytes; not where rows stream, since the check costs a fifth of a job's CPU there
GATHERED = {"spark.sql.execution.arrow.maxBytesPerBatch": str(32 * 2**20)}
# where rows go through the JVM its second compiler pays: the window plan on 8 million deep rows
# takes 94 CPU seconds instead of 133
BY_ROWS = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
# what it prefers where no cluster's spark-defaults.conf decides
LOCAL = {
    # the JVM moves packed records: its second compiler has nothing to win, and starting costs most
    # (8 million deep rows: 22.5 CPU s instead of 26.0; the peak is a quarter lower)
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # it would look at every shuffle of a few records again, in a stage of its own
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}


SECONDS_TO_ANSWER = 5.0
PARTS_A_CORE = 16  # partitions of the embedded engine: small ones sort faster, and in the cache


@dataclass(frozen=True)
class Engine:
    """A session and what it is: its name for the reader, and whether it sees our file system."""

    spark: SparkSession
    name: str
    embedded: bool
    local_files: bool
    server: Any = None

    def stop(self) -> None:
        """End the session, and the server that was started for it."""
        self.spark.stop()
        if self.server is not None:
            self.server.stop()


def active_session() -> SparkSession | None:
    """The session that is already open in this process, classic or Connect."""
    found = SparkSession.getActiveSession()
    if found is None and "pyspark.sql.connect.session" in sys.modules:
        with contextlib.suppress(Exception):  # no Connect client, or its session is closed
            connect = importlib.import_module("pyspark.sql.connect.session")
            found = connect.SparkSession.getActiveSession()
    return found


def session() -> SparkSession:
    """The active session; else one of the embedded engine (of local Spark where that is not
    installed), opened now and stopped when Python ends. In a notebook DataFrames of a
    session that it opens show their first 20 rows as a table.
    """
    found = active_session()
    if found is None:
        opened = open_engine()
        atexit.register(opened.stop)
        found = opened.spark
        show_tables(found)
    return found


def is_remote(spark: SparkSession) -> bool:
    """Whether the session's engine is a server elsewhere, whose files we do not see."""
    if "connect" not in type(spark).__module__:
        return False
    host = str(getattr(getattr(spark, "client", None), "host", ""))
    return host not in ("127.0.0.1", "localhost")


def sees_local_files(spark: SparkSession) -> bool:
    """Whether all of the session's engine runs on this machine and reads its files."""
    if is_remote(spark):
        return False
    on_connect = "connect" in type(spark).__module__
    return on_connect or str(spark.conf.get("spark.master", "local")).startswith("local")


def cores_of(spark: SparkSession) -> int:
    """How many tasks the engine runs at once, as far as we know: at least so many are worth
    having."""
    if sees_local_files(spark):
        return os.cpu_count() or 2
    return shuffle_partitions(spark) // 2


def shuffle_partitions(spark: SparkSession) -> int:
    """Into how many partitions the session shuffles."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)


def memory() -> int:
    """Bytes of memory that this machine, or the container around us, has."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max") as limit:
            return min(total, int(limit.read()))
    except (OSError, ValueError):  # no container, or one without a limit
        return total


def has_sail() -> bool:
    """Whether the embedded engine's extra is installed."""
    return importlib.util.find_spec("pysail") is not None


def open_engine(
    engine: str = "auto",
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    by_rows: bool = False,
) -> Engine:
    """The session that the flags ask for.

    auto: inside spark-submit, or with a master or remote, that Spark; else the embedded engine
    if it is installed; else local Spark.
    by_rows: the engine itself works on rows, and does not only move packed records

    Raises:
        UsageError: where the flags contradict each other or the engine is not installed.
    """
    if master and remote:
        raise UsageError("--master and --remote exclude each other")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if engine == "sail" and (master or remote):
        raise UsageError("--engine sail takes neither --master nor --remote")
    if engine == "sail" or (
        engine == "auto" and not (submitted or master or remote) and has_sail()
    ):
        return _embedded(conf or {}, by_rows)
    return _spark(master, remote, submitted, conf or {}, by_rows)


def _embedded(conf: Mapping[str, str], by_rows: bool) -> Engine:
    if not has_sail():
        raise UsageError("the embedded engine is not installed: pip install 'ndcg-spark[sail]'")
    os.environ.setdefault("RUST_LOG", "error")  # its log goes to stderr, past Python's logging
    # with statistics it reads a column whose numbers are all alike as that constant, even where
    # the file holds NaN (0.7.2): a NaN score would turn into a number
    os.environ["SAIL_EXECUTION__COLLECT_STATISTICS"] = "false"
    _keep_freed_memory()
    _one_thread_a_product()
    # sorts spill to disk beyond this, instead of growing with the input
    os.environ.setdefault("SAIL_RUNTIME__MEMORY_POOL__TYPE", "fair")
    # (beside packed records there must be room for the kernel; beside the engine's rows for less)
    pool = memory() * 3 // 4 if by_rows else memory() // 2
    os.environ.setdefault("SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE", str(pool))
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    _, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    _configure(
        spark,
        {
            "spark.sql.shuffle.partitions": str(PARTS_A_CORE * (os.cpu_count() or 2)),
            **SETTINGS,
            **conf,
        },
    )
    return Engine(spark, "sail (embedded)", True, True, server)


def _keep_freed_memory() -> None:
    """Have glibc keep freed arrays for the next: page faults are an eighth of a job's CPU else."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-3, 32 * 2**20)  # M_MMAP_THRESHOLD, its largest value
        mallopt(-1, 512 * 2**20)  # M_TRIM_THRESHOLD


def _one_thread_a_product() -> None:
    """Have every task compute its matrix products itself, as Spark has its Python workers do: the
    tasks fill the cores already, and waiting threads took half of a bootstrap's CPU.
    """
    if importlib.util.find_spec("threadpoolctl") is not None:
        importlib.import_module("threadpoolctl").threadpool_limits(1, user_api="blas")


def _spark(
    master: str | None,
    remote: str | None,
    submitted: bool,
    conf: Mapping[str, str],
    by_rows: bool,
) -> Engine:
    builder: Any = SparkSession.builder.appName("ndcg_spark")
    if remote:
        _refuse_unreachable(remote)
        spark = builder.remote(remote).getOrCreate()
        _configure(spark, {**SETTINGS, **GATHERED, **conf})
        return Engine(spark, "spark connect", False, "local" in remote.split("?")[0])
    if not submitted:
        # workers must be this interpreter, or they lack what is installed for it
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master or "local[*]")
    elif master:
        builder = builder.master(master)
    on_one_machine = not submitted and (master or "local").startswith("local")
    settings = dict(SETTINGS)
    if on_one_machine:
        settings |= LOCAL | (BY_ROWS if by_rows else {})
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 2))
    for key, value in {**settings, **conf}.items():
        builder = builder.config(key, value)
    with contextlib.nullcontext() if submitted else _jvm_log():
        spark = builder.getOrCreate()
    where = spark.conf.get("spark.master", master or "local[*]")
    return Engine(spark, f"spark {spark.version} ({where})", False, True)


@contextlib.contextmanager
def _jvm_log() -> Iterator[None]:
    """A JVM that is started in the block writes its log to a file, and not between our lines.

    The file goes when the program ends. Who wants to see the log sets the level of Python's logger
    ``ndcg_spark`` to DEBUG (``--verbose``).
    """
    if logging.getLogger("ndcg_spark").isEnabledFor(logging.DEBUG):
        yield
        return
    name = f"{temporary('ndcg_spark_log_')}/jvm.log"
    with open(name, "wb") as log:
        ours = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception as problem:  # what the JVM said as it ended
            with open(name, errors="replace") as said:
                problem.add_note("".join(said.readlines()[-20:]))
            raise
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def _refuse_unreachable(remote: str) -> None:
    """Refuse a server that does not answer: the client would try again for ten minutes."""
    found = re.match(r"sc://(\[[^\]]*\]|[^:/;]+)(?::(\d+))?(?:[/;]|$)", remote)
    if not found:
        return
    host, port = found[1].strip("[]"), int(found[2] or 15002)
    try:
        socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as problem:
        raise InputError(
            "E144", f"no Spark Connect server answers at {host}:{port} (--remote): {problem}"
        ) from None


def _configure(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        try:
            spark.conf.set(key, value)
        except Exception as problem:  # a static setting of a remote server
            if "CANNOT_MODIFY" not in str(problem):
                raise
