"""Stored days are only put together where they were made alike: what their manifests say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyarrow import fs as pafs

from ndcg_spark.clicks.log_options import NightlyJob
from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.clicks.sums_kernel import UNIT
from ndcg_spark.errors import InputError
from ndcg_spark.measures import Measure
from ndcg_spark.tables.paths import filesystem

TABLE, DAY = "click_manifest", "event_date="
SHOWN = 5  # days that an error names


def nightly_options(job: NightlyJob) -> dict[str, Any]:
    """What any day's state hangs on beside its log."""
    found = {
        "segments": sorted(job.segments),
        "gains": job.gains.values,
        "events": job.gains.events,
        "dwell": job.gains.dwell,
        "buckets": job.buckets,
        "clickless": job.clickless,
        "deduplicate": job.deduplicate,
        "unit": UNIT,
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def options_of(job: ClicksJob, measures: Sequence[Measure]) -> dict[str, Any]:
    """What a day's state of clicks hangs on beside its log, as its manifest has it."""
    return nightly_options(job) | {
        "measures": sorted(map(str, measures)),
        "bot_impressions": job.bot_impressions,
        "bot_clicks": job.bot_clicks,
    }


def refuse_unlike(
    out: str,
    among: Callable[[str], bool],
    own: Mapping[str, Any] | None = None,
    table: str = TABLE,
) -> None:
    """Refuse to add up or compare stored days that were made with different options.

    among: which days; own: the options of the days that are made now
    A day without a manifest is of another place, and is not looked at.

    Raises:
        InputError: E173, naming the options that differ, and days that have them.
    """
    first: tuple[str, Mapping[str, Any]] | None = None if own is None else ("this run", own)
    unlike: dict[str, list[str]] = {}
    for date, manifest in manifests(out, among, table):
        options = manifest.get("options", {})
        if first is None:
            first = (date, options)
        for name in sorted({*first[1], *options}):
            if first[1].get(name) != options.get(name):
                unlike.setdefault(name, []).append(date)
    if unlike and first is not None:
        said = [
            f"{name} ({', '.join(dates[:SHOWN])}{', …' if len(dates) > SHOWN else ''})"
            for name, dates in unlike.items()
        ]
        raise InputError(
            "E173",
            f"stored days of {out} were made with other options than {first[0]}: "
            f"{'; '.join(said)}. Their sums cannot be put together: run these days again, or write "
            "to another --out",
        )


def manifests(
    out: str, among: Callable[[str], bool], table: str = TABLE
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The days of an output among these that have a manifest, ascending, and what it says."""
    try:
        system, root = filesystem(f"{out.rstrip('/')}/{table}")
    except InputError:  # a catalog table, or no client here
        return
    selector = pafs.FileSelector(root, allow_not_found=True)
    for found in sorted(system.get_file_info(selector), key=lambda info: info.path):
        date = found.base_name.removeprefix(DAY)
        if found.type == pafs.FileType.Directory and date != found.base_name and among(date):
            with system.open_input_stream(f"{found.path}/_manifest.json") as stream:
                yield date, json.loads(stream.read())
