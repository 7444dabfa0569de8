"""`import-ubi`: OpenSearch's User Behavior Insights to impressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.clicks.options import ImportUbiJob
from ndcg_spark.clicks.ubi import (
    COUNTS,
    counts_of_events,
    counts_of_queries,
    impressions,
    joined,
    once,
)
from ndcg_spark.clicks.ubi_kernel import EVENTS, QUERIES, UbiRows, schema_of
from ndcg_spark.engine.running import now, opened
from ndcg_spark.errors import InputError
from ndcg_spark.tables.paths import data_files, filesystem
from ndcg_spark.tables.read import TABLE, read_table
from ndcg_spark.tables.write import Output
from ndcg_spark.version import __version__

MANIFEST = "ubi_manifest"
PARQUET = b"PAR1"


def import_ubi(job: ImportUbiJob) -> dict[str, Any]:
    """Write the impressions of UBI's queries and events; where they are, and the counts of what
    joined and what did not.

    Raises:
        InputError: E103 without a query that can be used, E110 for tables that are none of UBI,
            E112 and E160 for what cannot be read; nothing is written then.
    """
    sources = [str(job.queries), str(job.events)]
    output = Output(str(job.out), job.partitions, sources)
    with opened(job, "queries") as engine, output.writing(("impressions",)):
        spark = engine.spark
        raw = _rows(spark, "queries", sources[0], QUERIES, job.glob)
        queries = once(raw)
        events = joined(
            queries, _rows(spark, "events", sources[1], EVENTS, job.glob), job.actions_by_event
        )
        found: dict[str, int] = {}
        for table in (*counts_of_queries(raw, queries), counts_of_events(events)):
            found |= table.collect()[0].asDict()
        counts = {name: int(found[name]) for name in COUNTS}
        if counts["queries"] - counts["queries_without_id"] <= counts["queries_without_time"]:
            said = ", ".join(f"{name} {n}" for name, n in counts.items() if n)
            raise InputError("E103", f"no query of {sources[0]} can be used: {said or 'no row'}")
        table = impressions(queries, events, job.actions_by_event)
        table.write.mode("error").parquet(output.staged("impressions"))
        manifest = {
            "job": "import-ubi",
            "version": __version__,
            "engine": engine.name,
            "run_ts": now(),
            "inputs": list(sources),
            "actions": job.actions_by_event,
            "counts": counts,
        }
        output.write_json(MANIFEST, "_manifest.json", manifest)
        output.publish(["impressions", MANIFEST])
        return {
            "engine": engine.name,
            "counts": counts,
            "tables": {name: output.published(name) for name in ("impressions", MANIFEST)},
        }


def _rows(
    spark: SparkSession, role: str, source: str, paths: Mapping[str, str], glob: bool
) -> DataFrame:
    """The source's rows by our names: a table, Parquet, or JSON lines."""
    kernel = UbiRows(paths, f"{role}: {source}", not _is_parquet(source))
    if kernel.lines:
        return spark.read.text(source).mapInArrow(kernel, schema_of(paths))
    table = read_table(spark, role, source, glob=glob)
    tops = {path.split(".")[0] for path in (*paths.values(), "_source")}
    names = [name for name in table.columns if name in tops or name in paths.values()]
    needed = paths["query_id"]
    if needed not in names and "_source" not in names:
        raise InputError(
            "E110",
            f"{role}: missing column {needed}; the table has: {', '.join(table.columns)}",
        )
    own = table.select(*[F.col(f"`{name}`") for name in names])
    return own.mapInArrow(kernel, schema_of(paths))


def _is_parquet(source: str) -> bool:
    """Whether the source is no text, by the first bytes of its first file.

    Raises:
        InputError: E101 for a path without a file.
    """
    if source.startswith(TABLE):
        return True
    system, path = filesystem(source)
    files = data_files(system, system.get_file_info(path)) if not _globbed(source) else []
    if not files:
        return True  # the engine's reader will say what is wrong
    try:
        with system.open_input_stream(files[0].path) as stream:
            return bool(stream.read(4) == PARQUET)
    except FileNotFoundError:
        raise InputError("E101", f"there is no file at {source!r}") from None


def _globbed(source: str) -> bool:
    return any(sign in source for sign in "*?[{")
