"""docs/tutorial.md: every block runs in its order, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_spark import sample

SAMPLE = Path(sample.__file__).parent
DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (DOCS / "tutorial.md").read_text(), re.DOTALL)


def without_sizes(text):
    return re.sub(r"\(\d+ kB\)", "(… kB)", text)


def test_every_block(spark, run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    ran = 0
    for place, (language, text) in enumerate(BLOCKS):
        if language == "python":
            exec(compile(text, "tutorial.md", "exec"), names)
        elif language == "sh":
            code, out, err = run_cli(*shlex.split(text)[1:])
            assert code == 0, (text, err)
            following, shown = BLOCKS[place + 1]
            assert following == "text"
            assert without_sizes(out.replace(str(tmp_path), "$PWD")) == without_sizes(shown)
            ran += 1
    assert ran == 4


def test_the_workflow_and_the_night(spark, run_cli, tmp_path, monkeypatch):
    """What docs/automation.md has GitHub and a scheduler run does run."""
    yaml = pytest.importorskip("yaml")
    page = (DOCS / "automation.md").read_text()
    workflow = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    steps = workflow["jobs"]["evaluate"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    lines = [step["run"] for step in steps if "run" in step]
    lines += re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines()
    for path in SAMPLE.glob("*.parquet"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    ran = [shlex.split(line)[1:] for line in lines if line.startswith("ndcg-spark ")]
    assert len(ran) == 6
    for words in ran:
        code, _, err = run_cli(*words)
        assert code == 0, (words, err)
    assert "rerank against bm25, nDCG@10: better" in (tmp_path / "summary.md").read_text()


def test_judging_by_clicks_and_looking_at_a_query(spark, run_cli, tmp_path, monkeypatch):
    """docs/lookups.md, and what it says of the sample."""
    for path in SAMPLE.glob("*.parquet"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    page = (DOCS / "lookups.md").read_text()
    said = []
    for language, text in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        if language == "python":
            exec(compile(text, "lookups.md", "exec"), names)
            continue
        for line in text.splitlines():
            code, out, err = run_cli(*shlex.split(line)[1:])
            assert code == 0, (line, err)
            said.append(out)
    assert len(said) == 6
    assert re.search(r"Judged@5 +1\.0000 +1\.0000", said[1])
    assert re.search(r"new − old .* 0\.[1-9]\d+", said[2])
    delta, error = map(float, re.findall(r"^em +(-?[\d.]+) +([\d.]+)$", said[3], re.MULTILINE)[-1])
    assert abs(delta) < 2 * error
    assert "q069, run dense" in said[5]
    assert {row["run_id"] for row in names["rows"].collect()} == {"bm25", "dense", "rerank"}


def pages(part):
    if isinstance(part, str):
        return [part]
    return [
        page for own in (part.values() if isinstance(part, dict) else part) for page in pages(own)
    ]


def test_the_site(tmp_path):
    """Every page is in it, and it builds without a warning (links to pages and headings too)."""
    yaml = pytest.importorskip("yaml")
    pytest.importorskip("mkdocs")
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())
    assert sorted(pages(site["nav"])) == sorted(path.name for path in DOCS.glob("*.md"))
    build = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path)]
    done = subprocess.run(
        build, cwd=DOCS.parent, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "cli" / "index.html").exists()
