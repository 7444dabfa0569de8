"""Write docs/measures.md from the registry. usage: make_docs.py [--check]"""

from __future__ import annotations

import inspect
import pathlib
import sys

from ndcg_spark.measures import Measure, catalogue
from ndcg_spark.measures.base import SPELLINGS
from ndcg_spark.measures.names import NICKNAMES
from ndcg_spark.measures.scoring import Policies, refuse_ties

TARGET = pathlib.Path(__file__).resolve().parent.parent / "docs" / "measures.md"
HEAD = """# Measures

Made from the registry by `tools/make_docs.py`; do not edit. Names are read in any case; `@k` sets the cut-off, and so do
`name.k` and `name_k`. Cut-offs are an integer, `n/5` or `0.2n` (a share of the returned list), `sqrt(n)`, `R`, or none. Parameters
are written in parentheses: `nDCG(gain='exp2', dis='power:0.5')@10`. `rel` is the smallest relevant grade. A list without
a relevant document has the value 0 unless the policy `no_relevant` says otherwise; so has one with no documents.

"Ties" says whether `ties=mean|best|worst` is supported (an exact value over all orders that the scores allow).
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
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


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text() != reference())
    TARGET.write_text(reference())
