"""A few thousand of `make fuzz`'s random inputs: errors of ours only, and names that read back."""

from __future__ import annotations

import warnings

import pytest

from ndcg_spark import errors
from tools import fuzz


@pytest.mark.parametrize("target", fuzz.TARGETS)
@pytest.mark.parametrize("seed", [5, 1005])
def test_no_foreign_exception(monkeypatch, target, seed):
    monkeypatch.setattr(errors.difflib, "get_close_matches", errors.difflib.get_close_matches)
    with warnings.catch_warnings():
        counts, problems = fuzz.work(target, seed, 1500)
    assert problems == []
    assert counts["accepted"] > 100
    assert counts["refused"] > 100


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_whole_numbers_beyond_a_double(tmp_path, run_cli, value):
    (tmp_path / "c.toml").write_text(f"rel = {value}\nqrels = 'q'\nruns = ['r']\n")
    code, _, err = run_cli("evaluate", "--config", tmp_path / "c.toml")
    assert code == 2
    assert "rel must be a finite number" in err
