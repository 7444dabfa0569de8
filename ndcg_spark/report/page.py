"""One HTML file: style, script, figures and numbers are in it, and nothing is fetched."""

from __future__ import annotations

import base64
import importlib.resources
from collections.abc import Sequence
from typing import Any

from ndcg_spark.errors import UsageError
from ndcg_spark.plot.style import inline
from ndcg_spark.report.blocks import Picture, Section
from ndcg_spark.version import __version__


def page(title: str, sections: Sequence[Section], made: str, notes: Sequence[str]) -> str:
    """The page; all text is escaped.

    Raises:
        UsageError: where Jinja is not installed.
    """
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError:
        raise UsageError("a report needs Jinja: pip install 'ndcg-spark[report]'") from None
    files = importlib.resources.files("ndcg_spark.report")
    own = {name: files.joinpath(name).read_text() for name in ("page.html", "page.css", "page.js")}
    environment = Environment(
        loader=DictLoader(own), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.globals["drawn"] = _drawn
    environment.globals["data_url"] = _data_url
    environment.tests["picture"] = lambda block: isinstance(block, Picture)
    return environment.get_template("page.html").render(
        title=title, sections=sections, made=made, notes=notes, version=__version__,
        style=own["page.css"], script=own["page.js"],
    )  # fmt: skip


def _drawn(picture: Picture) -> str:
    return inline(picture.figure, picture.name, picture.caption)


def _data_url(picture: Any) -> str:
    return "data:text/csv;base64," + base64.b64encode(picture.csv().encode()).decode()
