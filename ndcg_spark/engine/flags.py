"""The flags of a command and its help, from the options of its job."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
import typing
from typing import Any, Literal

from ndcg_spark.engine.options import Job, is_list
from ndcg_spark.measures import Policies
from ndcg_spark.measures.fields import hints

# groups of the help, in their order, with the options that are in them
GROUPS = {
    "input": (
        "qrels", "runs", "impressions", "clicks", "scores", "state", "tables", "events",
        "events_table", "date", "days", "start", "to", "dates", "since", "attributes", "weights",
        "columns", "where", "glob", "reader", "bucketed", "ideals", "propensities", "candidate",
        "synthetic", "label", "dwell", "arm", "user", "team", "timezone", "actions", "name",
    ),
    "measures": ("measure", "global_gains", "dialect", "gain", "grid"),
    "what is computed": (),
    "policies": tuple(field.name for field in dataclasses.fields(Policies)),
    "output": (
        "out", "partition", "format", "quiet", "per_query", "show", "documents", "plot", "plots",
        "summary", "title",
    ),
    "engine": ("engine", "master", "remote", "conf", "plan"),
}  # fmt: skip
REST = "what is computed"
METAVARS = {
    **dict.fromkeys(("qrels", "runs", "impressions", "clicks", "scores", "attributes", "weights",
                     "ideals", "candidate", "propensities", "events_table"), "PATH"),
    **dict.fromkeys(("state", "tables", "out", "plots"), "DIR"),
    **dict.fromkeys(("plot", "summary"), "FILE"),
    **dict.fromkeys(("partition", "conf", "shares"), "KEY=VALUE"),
    **dict.fromkeys(("columns", "events", "actions"), "OURS=YOURS"),
    **dict.fromkeys(("date", "start", "to", "since", "dates"), "DATE"),
    **dict.fromkeys(("master", "remote"), "URL"),
    **dict.fromkeys(("label", "arm", "user", "team"), "COLUMN"),
    **dict.fromkeys(("by", "segments"), "COLUMNS"),
    "measure": "MEASURES", "global_gains": "GRADE=GAIN", "where": "CONDITION", "baseline": "RUN",
    "fail_if": "CONDITION", "title": "TEXT", "thresholds": "VALUE=GRADE", "timezone": "ZONE",
    "test": "TESTS", "grid": "SIZES", "name": "TABLE",
}  # fmt: skip
EXIT_CODES = """\
exit codes: 0 done; 1 unexpected error; 2 wrong arguments; 3 input refused;
4 a check or --fail-if failed; 130, 143 interrupted"""


def add_flags(parser: argparse.ArgumentParser, job: type[Job], example: str = "") -> None:
    """One flag per option of the job; a flag that is not given leaves the TOML file's value."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = textwrap.wrap(f"{parser.prog} {example}", 74, break_on_hyphens=False)
    shown = " \\\n      ".join(lines)
    parser.epilog = (f"example:\n  {shown}\n\n" if example else "") + EXIT_CODES
    parser.usage = "%(prog)s [options]"
    parser.add_argument("--config", metavar="FILE", help="TOML file with these options as keys")
    for title, fields in grouped(job).items():
        group = parser.add_argument_group(title)
        for field in fields:
            _add(group, field, hints(job)[field.name])


def grouped(job: type[Job]) -> dict[str, list[dataclasses.Field[Any]]]:
    """The options of a job by the group of the help that they are in."""
    fields = {field.name: field for field in dataclasses.fields(job)}
    placed = {name for names in GROUPS.values() for name in names}
    groups = {title: [fields[n] for n in names if n in fields] for title, names in GROUPS.items()}
    groups[REST] += [field for name, field in fields.items() if name not in placed]
    return {title: own for title, own in groups.items() if own}


def _add(group: Any, field: dataclasses.Field[Any], kind: Any) -> None:
    names = [f"--{field.name.replace('_', '-')}", *field.metadata.get("flags", ())]
    text = field.metadata.get("help", "").replace("%", "%%")
    common: dict[str, Any] = {"dest": field.name, "default": argparse.SUPPRESS}
    if kind is bool:
        group.add_argument(*names, action=argparse.BooleanOptionalAction, help=text, **common)
        return
    shown = shown_value(field.name, kind)
    if is_list(kind):
        group.add_argument(*names, action="append", metavar=shown, help=text, **common)
    else:
        default = f" (default: {field.default})" if field.default not in (None, "") else ""
        group.add_argument(*names, metavar=shown, help=text + default, **common)


def shown_value(name: str, kind: Any) -> str:
    """What stands for an option's value: its choices, or a word for what it is."""
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    kinds = typing.get_args(kind) or (kind,)
    word = "N" if int in kinds else "NUMBER" if float in kinds else "TEXT"
    return "|".join(map(str, choices)) or METAVARS.get(name) or word
