"""DataFrames as tables of HTML."""

from __future__ import annotations

from ndcg_spark.engine.notebook import as_html, show_tables


def test_tables(spark):
    few = as_html(spark.createDataFrame([("<b>q</b>", 0.5)], "query_id string, value double"))
    assert "&lt;b&gt;q&lt;/b&gt;" in few
    assert "<th>query_id</th>" in few
    assert "first" not in few
    many = as_html(spark.range(25))
    assert many.count("<tr>") == 20  # the head has a style
    assert many.endswith("<p>the first 20 rows</p>")


def test_outside_of_a_notebook(spark):
    show_tables(spark)  # nothing to tell
