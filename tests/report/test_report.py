"""The page: what it shows of which tables, what it refuses, and that text stays text."""

from __future__ import annotations

import csv
import html.parser
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pytest

import ndcg_spark as nd
from ndcg_spark.report.blocks import Cell, Picture, Table, number, probability, without_empty
from ndcg_spark.report.evaluated import verdicts
from ndcg_spark.report.stored import places_of as stored_places

MARKUP = "<img src=x onerror=alert(1)>"


def test_all_sections(outputs, tmp_path):
    out = tmp_path / "report.html"
    found = nd.write_report(
        outputs.all, measure="nDCG@10", plots=str(tmp_path / "plots"),
        summary=str(tmp_path / "s.md"), out=str(out),
    )  # fmt: skip
    assert found.sections == [
        "Measures", "Query by query", "Nights of clicks", "Groups of 2026-11-29", "Position bias",
        "What the measures can tell apart", "What was counted, and how",
    ]  # fmt: skip
    page = out.read_text()
    assert found.size == out.stat().st_size < 2_000_000
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)  # nothing is fetched
    assert "default-src 'none'" in page
    # the numbers of the page are those of the tables
    means = pd.read_parquet(nd.published(outputs.tables)["aggregate"][0])
    best = means[(means.measure == "nDCG@10") & (means.run_id == "rerank")]["mean"].item()
    assert f'class="n best" data-order="{best}">{best:.4f}</td>' in page
    # a query's documents, where explain has them
    assert "Documents of q" in page
    # figures as files, and their numbers
    names = ["differences", "cutoffs", "distribution", "trend", "groups", "propensities", "curves"]
    assert [f"{n}.svg" for n in names] == [
        f.rpartition("/")[2] for f in found.files if f.endswith(".svg")
    ]
    for name in names:
        ET.parse(tmp_path / "plots" / f"{name}.svg")
        assert (tmp_path / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "plots" / "distribution.csv") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(r["n"]) for r in rows if r["run_id"] == "bm25") == 300
    with open(tmp_path / "plots" / "cutoffs.csv") as file:
        kept = ("family", "run_id", "cutoff")
        numbers = {tuple(r[k] for k in kept): float(r["mean"]) for r in csv.DictReader(file)}
    assert numbers["nDCG", "rerank", "10"] == best
    summary = (tmp_path / "s.md").read_text()
    assert "| rerank |" in summary
    assert "rerank against bm25, nDCG@10: better" in summary


def test_a_python_users_session_goes_on(engine, outputs, tmp_path):
    nd.write_report(outputs.tables, out=str(tmp_path / "r.html"))
    assert engine.spark.range(3).count() == 3


def test_the_same_tables_give_the_same_page(outputs, tmp_path):
    pages = []
    for name in ("a", "b"):
        nd.write_report(outputs.tables, out=str(tmp_path / name))
        pages.append(re.sub(r"Made [^ ]+", "", (tmp_path / name).read_text()))
    assert pages[0] == pages[1]


def test_wins_and_losses_are_those_of_the_scores(outputs, tmp_path):
    found = nd.write_report(
        outputs.tables, baseline="bm25", measure="AP", worst=3, out=str(tmp_path / "r.html")
    )
    assert any(text.startswith("rerank against bm25, AP: better") for text in found.verdicts)
    scores = pd.concat(map(pd.read_parquet, nd.published(outputs.tables)["per_query"]))
    wide = scores[scores.measure == "AP"].pivot(index="query_id", columns="run_id", values="value")
    losses = (wide["rerank"] - wide["bm25"]).sort_values(kind="stable").head(3)
    page = (tmp_path / "r.html").read_text()
    table = page[page.index("Biggest losses of rerank") :]
    table = table[: table.index("</table>")]
    shown = re.findall(r'<th scope="row" data-order="(q\d+)"', table)
    assert len(shown) == 3
    assert set(shown) == set(losses.index)


@pytest.mark.every_engine
def test_text_stays_text(engine, tmp_path):
    run = pd.DataFrame({
        "run_id": ["base", "base", MARKUP, MARKUP], "query_id": ["</script>", "=1+1"] * 2,
        "doc_id": ["a", "b", "b", "b"], "score": [1.0, 1.0, 1.0, 2.0],
    })  # fmt: skip
    qrels = pd.DataFrame({"query_id": ["</script>", "=1+1"], "doc_id": ["a", "b"]})
    scores = nd.evaluate(run, qrels.assign(relevance=1), ["P@1", "P@2"])
    scores.toPandas().to_parquet(tmp_path / "per_query.parquet")
    (tmp_path / "t" / "per_query").mkdir(parents=True)
    (tmp_path / "per_query.parquet").rename(tmp_path / "t" / "per_query" / "a.parquet")
    (tmp_path / "t" / "aggregate").mkdir()
    nd.summarize(scores).toPandas().to_parquet(tmp_path / "t" / "aggregate" / "a.parquet")
    out = tmp_path / "r.html"
    nd.write_report(
        str(tmp_path / "t"), baseline="base", measure="P@1", title="<b>&", out=str(out),
        summary=str(tmp_path / "s.md"), plots=str(tmp_path / "p"),
    )  # fmt: skip
    seen = []

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Tags().feed(out.read_text())
    assert "img" not in seen
    assert "b" not in seen
    assert seen.count("script") == 1
    assert not re.search(r"(?<!\\)<", (tmp_path / "s.md").read_text())
    with open(tmp_path / "p" / "cutoffs.csv") as file:
        assert MARKUP in {row["run_id"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(("changes", "message"), [
    ({"tables": ["nowhere"]}, "E101"),
    ({"measure": "nDCG@11"}, "nDCG@10"),
    ({"baseline": "bm24"}, "bm25"),
    ({"worst": -1}, "--worst must be 0 to 1000, not -1"),
    ({"format": "trec"}, "--format of a report is table or json"),
    ({"tables": []}, "give --tables DIR"),
    ({"titel": "x"}, "title"),
])  # fmt: skip
def test_refused(outputs, tmp_path, changes, message):
    given = {"tables": [outputs.tables], "out": str(tmp_path / "r.html"), **changes}
    with pytest.raises(nd.NdcgSparkError, match=message):
        nd.write_report(given.pop("tables"), **given)
    assert not list(tmp_path.iterdir())


def test_a_directory_without_tables(tmp_path):
    with pytest.raises(nd.InputError, match="E102"):
        nd.write_report(str(tmp_path), out=str(tmp_path / "r.html"))


def test_two_evaluations_are_refused(outputs, tmp_path):
    with pytest.raises(nd.InputError, match="E170"):
        nd.write_report([outputs.tables, outputs.tables], out=str(tmp_path / "r.html"))


def test_a_file_that_cannot_be_written(outputs, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(nd.InputError, match="E153"):
        nd.write_report(outputs.tables, out=str(tmp_path / "file" / "r.html"))


def test_the_command(outputs, run_cli, tmp_path):
    out = tmp_path / "r.html"
    code, text, err = run_cli("report", "-t", outputs.tables, "--out", out, "--format", "json")
    assert code == 0, err
    assert err.startswith("ndcg-spark: engine ")
    assert json.loads(text)["page"] == str(out)
    code, text, _ = run_cli("report", "-t", outputs.tables, "-t", outputs.comparison, "--out", out)
    assert code == 0
    assert "rerank against bm25, nDCG@10: better" in text
    assert f"report: {out}" in text


def row(**changes):
    return {
        "test": "t", "measure": "AP", "candidate": "b", "baseline": "a", "delta": 0.1, "p_value": 0.01,
        "p_adjusted": 0.04, "p_least": None, "alpha": 0.05, "correction": "holm", "note": None,
        **changes,
    }  # fmt: skip


@pytest.mark.parametrize(("changes", "verdict"), [
    ({}, "b against a, AP: better (+0.1000, p = 0.040, t, holm)"),
    ({"delta": -0.1}, "b against a, AP: worse (-0.1000, p = 0.040, t, holm)"),
    ({"p_adjusted": 0.06}, "b against a, AP: no difference shown (+0.1000, p = 0.060, t, holm)"),
    ({"p_least": 0.1, "p_adjusted": 0.2},
     "b against a, AP: could not be told by this test (+0.1000, p = 0.200, t, holm)"),
    ({"p_value": None, "p_adjusted": None, "note": "one query"},
     "b against a, AP: one query (+0.1000)"),
])  # fmt: skip
def test_verdicts_say_no_more_than_the_test(changes, verdict):
    assert verdicts([row(**changes)]) == [verdict]


def test_cells():
    assert number(float("nan")).text == "-"
    assert number(12345).text == "12,345"
    assert number(0.5, sign=True).text == "+0.5000"
    assert probability(3e-7).text == "3e-07"
    table = Table("t", "T", ["a", "b"], [[Cell("x"), Cell("-")]])
    assert without_empty(table).columns == ["a"]
    assert Picture("p", "P", None, [{"a": "=1", "b": 1}, {"a": None}]).csv() == "a,b\n'=1,1\n,\n"


def test_the_reference_of_tables_is_what_the_jobs_write(outputs):
    """docs/tables.md has every column of every table, in its order, with its type."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    written = {
        table: place
        for out in outputs.all
        for table, places in stored_places(out, {}).items()
        for place in places[:1]
    }
    for section in sections:
        name = section.splitlines()[0]
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)
        schema = ds.dataset(written[name], format="parquet").schema
        assert [column for column, _ in rows] == schema.names, name
        for column, kind in rows:
            assert str(schema.field(column).type) in kind.split(" or "), (name, column)
    assert len(sections) == 11
