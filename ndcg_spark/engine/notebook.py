"""DataFrames as tables in a notebook."""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

ROWS = 20


def show_tables(spark: SparkSession) -> None:
    """Have IPython, where Python runs in it, show this session's kind of DataFrames as tables.

    Spark's own setting (``spark.sql.repl.eagerEval.enabled``) does not reach notebooks on Connect:
    its DataFrames claim to have every attribute, so IPython does not ask them for HTML.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and "text/html" in shell.display_formatter.formatters:
        shell.display_formatter.formatters["text/html"].for_type(type(spark.range(0)), as_html)


def as_html(table: DataFrame) -> str:
    """The first rows as a table of HTML, escaped; it computes them."""
    rows: Any = table.limit(ROWS + 1).toPandas()
    html: str = rows.head(ROWS).to_html(index=False, border=0, notebook=True)
    return html + (f"<p>the first {ROWS} rows</p>" if len(rows) > ROWS else "")
