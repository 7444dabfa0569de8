"""Write docs/measures.md from the registry, docs/errors.md from tools/error_codes.toml."""

from __future__ import annotations

import inspect
import pathlib
import tomllib

from ndcg_spark.measures import Measure, catalogue
from ndcg_spark.measures.base import SPELLINGS
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


PAGES = {"measures.md": reference, "errors.md": errors}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
