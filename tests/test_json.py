"""`--format json` against the schema that ships, for every command that has it."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import jsonschema
import pytest

from ndcg_spark import sample
from ndcg_spark.engine.text import JSON_SCHEMA, json_text

SCHEMA = json.loads(
    importlib.resources.files("ndcg_spark").joinpath("output.schema.json").read_text()
)
SAMPLE = Path(sample.__file__).parent
JUDGED = ("--qrels", SAMPLE / "qrels.parquet", "--runs", SAMPLE / "runs.parquet")
LOG = ("--impressions", SAMPLE / "impressions.parquet", "--date", "2026-11-29")
COMMANDS = {
    "evaluate": (*JUDGED, "-m", "nDCG@10,AP", "-q", "--no-relevant", "nan"),
    "explain": (*JUDGED, "-m", "nDCG@10", "--baseline", "bm25", "--worst", "2"),
    "compare": (*JUDGED, "-m", "nDCG@10,RR", "--test", "t,bootstrap", "--replicates", "200"),
    "distinguishability": (*JUDGED, "--grid", "5,10", "--min-docs", "10", "-m", "nDCG"),
    "clicks": (*LOG, "--baseline", "A", "--segments", "country", "--out", "clicks"),
    "click-bias": (*LOG, "--depth", "5"),
}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema"]["const"] == JSON_SCHEMA


@pytest.mark.parametrize("command", COMMANDS)
def test_output(command, run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text, err = run_cli(command, *COMMANDS[command], "--format", "json")
    assert code == 0, err
    found = json.loads(text, parse_constant=pytest.fail)  # no NaN, no Infinity
    jsonschema.validate(found, SCHEMA)
    assert found["command"] == command
    del found["version"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, SCHEMA)


def test_a_row_without_its_mean_is_refused():
    found = json.loads(json_text("evaluate", {
        "engine": "e", "reader": "arrow", "measures": ["AP"], "counts": {}, "tables": {},
        "aggregate": [{"run_id": "a", "segment": "all", "measure": "AP", "n_queries": 1}],
    }))  # fmt: skip
    with pytest.raises(jsonschema.ValidationError, match="'mean' is a required"):
        jsonschema.validate(found, SCHEMA)


def test_what_json_lacks_is_null():
    found = json.loads(json_text("report", {"a": float("nan"), "b": [float("inf"), {"c": 1.5}]}))
    assert found["a"] is None
    assert found["b"] == [None, {"c": 1.5}]
