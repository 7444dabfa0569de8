"""What is shipped: wheel and source archive are built, installed and tested as a stranger would."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.make_zip import make_zip

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.long


def run(*command, cwd: Path, **environment: str) -> str:
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={**plain, **environment}, capture_output=True,
        text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """The unpacked source archive of what git knows here, and a wheel beside it."""
    folder = tmp_path_factory.mktemp("shipped")
    clean = folder / "clean"
    listed = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (clean / name).parent.mkdir(parents=True, exist_ok=True)
        (clean / name).write_bytes((ROOT / name).read_bytes())
        (clean / name).chmod((ROOT / name).stat().st_mode)
    run(sys.executable, "-m", "build", "-q", "--no-isolation", "--outdir", folder, cwd=clean)
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("ndcg_spark-*/")
    lost = {name for name in listed if not (unpacked / name).exists()} - {".gitignore"}
    assert lost == set()
    return unpacked


def test_the_tests_run_from_the_source_archive(source):
    said = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "-m", "not spark and not slow and not long", cwd=source,
    )  # fmt: skip
    assert " passed" in said
    where = "import ndcg_spark; print(ndcg_spark.__file__)"
    assert str(source) in run(sys.executable, "-c", where, cwd=source)


def test_the_wheel_runs_the_demo(source, tmp_path):
    (wheel,) = source.parent.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "ndcg_spark/py.typed" in names
    assert not any(name.startswith(("tests/", "jobs/")) for name in names)
    place = tmp_path / "installed"
    run(
        sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", place, wheel,
        cwd=tmp_path,
    )  # fmt: skip
    said = run(
        place / "bin" / "ndcg-spark", "demo", "--out", tmp_path / "tables", cwd=tmp_path,
        PYTHONPATH=str(place),
    )  # fmt: skip
    assert "nDCG@10" in said
    assert (tmp_path / "tables" / "per_query").is_dir()


def test_the_zip_has_what_a_job_needs(tmp_path):
    names = set(zipfile.ZipFile(make_zip(tmp_path)).namelist())
    assert {"ndcg_spark/cli.py", "jobs/evaluate.py", "conf/evaluate.toml", "LICENSE"} <= names
    jobs = {path.name for path in (ROOT / "jobs").glob("*.py")}
    assert {f"jobs/{name}" for name in jobs} <= names
