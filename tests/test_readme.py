"""Every example of the README runs, in its order, in one folder, as a reader would type it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from ndcg_spark import sample

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def test_the_readme_starts_with_the_two_commands():
    language, text = BLOCKS[0]
    assert language == "sh"
    assert [line.split("#")[0].strip() for line in text.splitlines()] == ["make demo", "make test"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("qrels", "runs", "impressions"):
        shutil.copy(Path(sample.__file__).parent / f"{name}.parquet", tmp_path)
    (tmp_path / "qrels.txt").write_text("301 0 d1 1\n301 0 d2 0\n")
    (tmp_path / "bm25.txt").write_text("301 Q0 d2 1 2.5 bm25\n301 Q0 d1 2 1.5 bm25\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands(folder, run_cli):
    ran = 0
    for language, text in BLOCKS:
        if language != "sh":
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "ndcg-spark":
                code, out, err = run_cli(*words[1:])
                assert code == 0, (line, err)
                assert out
                ran += 1
    assert ran >= 5


def test_python(folder, spark, capsys):
    blocks = [text for language, text in BLOCKS if language == "python"]
    assert blocks
    names = {"spark": spark}
    for text in blocks:
        exec(compile(text, "README.md", "exec"), names)
    assert "nDCG@10" in capsys.readouterr().out


def test_what_explain_is_said_to_print(folder, run_cli):
    place = next(i for i, (_, text) in enumerate(BLOCKS) if "ndcg-spark explain" in text)
    command = BLOCKS[place][1].splitlines()[0]
    _, out, _ = run_cli(*shlex.split(command)[1:])
    assert out == BLOCKS[place + 1][1]


def test_the_worked_example_of_experiments(folder, run_cli):
    text = (Path(__file__).resolve().parents[1] / "docs" / "experiments.md").read_text()
    command, shown = re.search(r"```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    _, out, _ = run_cli(*shlex.split(command)[1:])
    assert out.startswith(shown)
    both = ("--from", "2026-11-28", "--to", "2026-11-29", "--anytime", "--baseline", "A")
    log = ("clicks", "--impressions", "impressions.parquet", "--out", "nights")
    _, out, _ = run_cli(*log, *both, "-m", "nDCG@10", "--format", "json")
    rows = [r for r in json.loads(out)["differences"] if r["period"] == "experiment"]
    assert round(rows[0]["p_anytime"], 3) == 0.016
