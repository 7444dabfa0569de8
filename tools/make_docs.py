"""Write the references: measures from the registry, errors from tools/error_codes.toml, commands from
their options, Python from docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pathlib
import re
import tomllib

from ndcg_spark.commands import COMMANDS, EXAMPLES
from ndcg_spark.engine.flags import grouped, shown_value
from ndcg_spark.measures import Measure, catalogue
from ndcg_spark.measures.base import SPELLINGS
from ndcg_spark.measures.fields import hints
from ndcg_spark.measures.names import NICKNAMES
from ndcg_spark.measures.scoring import Policies, refuse_ties

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
CODES = pathlib.Path(__file__).with_name("error_codes.toml")
MEASURES_HEAD = """# Measures

Made from the registry by `tools/make_docs.py`; do not edit. Names are read in any case; `@k` sets the cut-off, and so do
`name.k` and `name_k`. Cut-offs are an integer, `n/5` or `0.2n` (a share of the returned list), `sqrt(n)`, `R`, or none. Parameters
are written in parentheses: `nDCG(gain='exp2', dis='power:0.5')@10`. `rel` is the smallest relevant grade. A list without
a relevant document has the value 0 unless the policy `no_relevant` says otherwise; so has one with no documents.

"Ties" says whether `ties=mean|best|worst` is supported (an exact value over all orders that the scores allow).
"""


ERRORS_HEAD = """# Errors

Made from `tools/error_codes.toml` by `tools/make_docs.py`; do not edit. A refusal is one line on stderr,
`ndcg-spark: error: CODE: what, where, which value`, and from Python an `nd.InputError` with `code` and `message`. The
command ends with

| exit code | because |
|---|---|
| 0 | it is done |
| 1 | of an error that nobody expected: the last line says the cause, `--verbose` where it comes from |
| 2 | a flag, measure, option or configuration is wrong (no code) |
| 3 | input or output is refused: the codes below; nothing new is published, and what was published stays |
| 4 | a gate (`--fail-if`) did not hold; the tables are written |
| 130, 143 | it was interrupted (SIGINT, SIGTERM); nothing was published but what the message says |

Codes are stable. At most five examples of rows are named, never more; passwords, tokens and signatures are taken out.
"""


def errors() -> str:
    """The page of error codes."""
    parts = [ERRORS_HEAD]
    for code, (cause, remedy, example) in tomllib.loads(CODES.read_text()).items():
        parts.append(f"## {code}\n\n{cause}\n\n{remedy}\n\n```text\n{code}: {example}\n```\n")
    return "\n".join(parts)


def reference() -> str:
    """The page of measures."""
    parts = [MEASURES_HEAD]
    for name, members in NICKNAMES.items():
        parts.append(f"`-m {name}`: trec_eval's {' '.join(members)}.\n")
    for measure in catalogue():
        if measure.__module__.startswith("ndcg_spark."):
            parts.append(_section(measure))
    return "\n".join(parts)


def _section(measure: type[Measure]) -> str:
    names = [spelling for spelling, found in SPELLINGS.items() if found.measure is measure]
    lines = [f"## {measure.canonical}", ""]
    facts = [f"Names: {', '.join(f'`{name}`' for name in names)}."]
    if measure.cuts:
        facts.append(
            f"A bare trec_eval name means the cut-offs {', '.join(map(str, measure.cuts))}."
        )
    facts.append(f"Summarized by: {measure.aggregation}.")
    facts.append(f"Ties: {'yes' if _over_orders(measure) else 'no'}.")
    lines += [" ".join(facts), ""]
    text = (inspect.getdoc(measure) or "").split(">>>", 1)
    lines += [text[0].rstrip(), ""]
    parameters = [f"`{name}={default!r}`" for name, default in measure.parameters().items()]
    if parameters:
        lines += [f"Parameters: {', '.join(parameters)}.", ""]
    if len(text) > 1:
        lines += ["```python", ">>>" + text[1].rstrip(), "```", ""]
    return "\n".join(lines)


def _over_orders(measure: type[Measure]) -> bool:
    try:
        refuse_ties([measure.example()], Policies(ties="mean"))
    except ValueError:
        return False
    return True


CLI_HEAD = """# Commands

Made from the jobs' options by `tools/make_docs.py`; do not edit. `ndcg-spark COMMAND --help` says the same. Every option is
a key of the TOML file that `--config` names (`min_docs` for `--min-docs`); flags win. `spark-submit jobs/NAME.py` takes
the same flags. Exit codes are in [errors.md](errors.md); what `--format json` prints is described by
`ndcg_spark/output.schema.json`, which ships with the package.
"""
API_HEAD = """# Python

Made from the docstrings by `tools/make_docs.py`; do not edit. `import ndcg_spark as nd`. Measures and their parameters are
in [measures.md](measures.md).
"""
ROOMS = ("", "clicks", "plot", "theory", "ml", "peers")


def commands() -> str:
    """The page of commands."""
    parts = [CLI_HEAD]
    for name, (_, job, text) in COMMANDS.items():
        parts.append(f"## {name}\n\n{text[0].upper()}{text[1:]}.\n")
        if name in EXAMPLES:
            parts.append(f"```text\nndcg-spark {name} {EXAMPLES[name]}\n```\n")
        for title, fields in grouped(job).items() if job else ():
            rows = ["| " + " | ".join(_option(field, job)) + " |" for field in fields]
            parts.append(
                f"{title[0].upper()}{title[1:]}:\n\n| option | value | default | what |\n"
                "|---|---|---|---|\n" + "\n".join(rows) + "\n"
            )
    return "\n".join(parts)


def _option(field, job) -> list[str]:
    names = [f"--{field.name.replace('_', '-')}", *field.metadata.get("flags", ())]
    kind = hints(job)[field.name]
    value = "yes or no" if kind is bool else f"`{shown_value(field.name, kind)}`"
    default = "" if field.default in (None, "", dataclasses.MISSING) else f"`{field.default}`"
    cells = [
        ", ".join(f"`{name}`" for name in names),
        value,
        default,
        field.metadata.get("help", ""),
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def python() -> str:
    """The page of Python names."""
    parts = [API_HEAD]
    for room in ROOMS:
        face = importlib.import_module(f"ndcg_spark.{room}.face" if room else "ndcg_spark.face")
        place = f"nd.{room}" if room else "nd"
        for name in sorted(face.__all__):
            thing = getattr(face, name)
            if inspect.ismodule(thing) or not (inspect.isfunction(thing) or inspect.isclass(thing)):
                continue
            if inspect.isclass(thing) and issubclass(thing, Measure):
                continue
            parts.append(_described(f"{place}.{name}", thing))
    return "\n".join(parts)


def _described(name: str, thing) -> str:
    try:
        signature = re.sub(r"""(: |-> )(["'])(.*?)\2""", r"\1\3", str(inspect.signature(thing)))
    except ValueError:
        signature = ""
    signature = re.sub(r"<factory>|<object object at .*?>", "...", signature)
    text = inspect.cleandoc(thing.__doc__ or "")
    return f"## {name}\n\n```text\n{name.rpartition('.')[2]}{signature}\n\n{text}\n```\n"


PAGES = {"measures.md": reference, "errors.md": errors, "cli.md": commands, "api.md": python}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
