"""What `--help` says: groups, inputs first, real metavars, an example that runs, exit codes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ndcg_spark import sample
from ndcg_spark.cli import main
from ndcg_spark.commands import COMMANDS, EXAMPLES
from ndcg_spark.engine.flags import GROUPS, METAVARS

JOBS = [name for name, (_, job, _) in COMMANDS.items() if job]


def shown(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([*arguments, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", JOBS)
def test_help_of_a_command(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, name)
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    groups = [title for title in titles if title in GROUPS]
    assert groups == [title for title in GROUPS if title in groups]
    assert {"input", "output", "engine"} <= set(groups)
    assert " X " not in text
    assert "exit codes: 0 done" in text
    example = EXAMPLES.get(name, "")
    assert example in " ".join(text.replace("\\\n", " ").split())
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_every_name_is_an_option():
    options = {key for _, job, _ in COMMANDS.values() if job for key in job.keys()}  # noqa: SIM118
    assert {name for names in GROUPS.values() for name in names} <= options
    assert set(METAVARS) <= options


def test_help_of_all(capsys):
    text = shown(capsys)
    assert "exit codes" in text
    assert all(name in text for name in COMMANDS)


def test_examples_run(run_cli, tmp_path, monkeypatch):
    for path in Path(sample.__file__).parent.glob("*.parquet"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 0.5 mine\n")
    monkeypatch.chdir(tmp_path)
    for name, example in EXAMPLES.items():
        code, _, err = run_cli(name, *shlex.split(example))
        assert code == 0, (example, err)
