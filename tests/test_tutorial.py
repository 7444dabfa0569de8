"""docs/tutorial.md: every block runs in its order, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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
