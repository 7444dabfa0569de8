"""docs/automation.md: the DAG loads in Airflow itself, and what its tasks submit runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_spark import sample

ROOT = Path(__file__).resolve().parents[1]
AIRFLOW = [
    "apache-airflow-core==3.3.2",
    "apache-airflow-providers-standard==1.21.0",
    "apache-airflow-providers-apache-spark==6.3.4",
]
LOAD = """
import json, sys
from airflow.dag_processing.dagbag import DagBag

bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
(dag,) = bag.dags.values()
for task in dag.topological_sort():
    task.render_template_fields({"ds": "2026-11-29"})
    command = task._get_hook()._build_spark_submit_command(task.application)
    print("TASK", json.dumps([task.task_id, task.retries, sorted(task.upstream_task_ids), command]))
"""


@pytest.mark.long
def test_the_dag(spark, run_cli, tmp_path):
    data, code = tmp_path / "eval", tmp_path / "code"
    data.mkdir()
    (data / "impressions.parquet").symlink_to(Path(sample.__file__).parent / "impressions.parquet")
    text = re.search(r"```python\n(.*?)```", (ROOT / "docs/automation.md").read_text(), re.DOTALL)[
        1
    ]
    text = text.replace("hdfs:///eval", str(data)).replace("/opt/ndcg_spark", str(code))
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "ranking.py").write_text(text)
    uv = [sys.executable, "-m", "uv"]
    own = tmp_path / "venv"
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, own], check=True)
    subprocess.run(
        [*uv, "pip", "install", "-q", "--python", own / "bin/python", *AIRFLOW], check=True
    )
    done = subprocess.run(
        [own / "bin/python", "-c", LOAD, tmp_path / "dags"],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path / "home")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tasks = [json.loads(line[5:]) for line in done.stdout.splitlines() if line[:5] == "TASK "]
    assert [task[:3] for task in tasks] == [["evaluate", 2, []], ["gate", 0, ["evaluate"]]]
    for _, _, _, command in tasks:
        place = command.index(str(code / "jobs" / "clicks.py"))
        assert command[:1] == ["spark-submit"]
        assert str(code / "ndcg_spark.zip") in command[:place]
        code_, _, err = run_cli("clicks", *command[place + 1 :])
        assert code_ == 0, err
    assert (data / "clicks" / "arm_differences" / "event_date=2026-11-29").exists()
