"""The end-to-end tests on every supported line of Spark: one environment for each, kept in `.matrix`.

usage: python -m tools.matrix [ROW...]   rows whose Python is not on this machine are said and left out
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / ".matrix"
END_TO_END = ["tests/engine/test_engines.py", "tests/evaluation/test_summaries.py"]
CLASSIC = [*END_TO_END, "tests/test_submit.py"]
# what is not ours in older releases and newer Pythons: warnings there are no errors
LENIENT = ["-W", "ignore:distutils", "-W", "ignore::ResourceWarning", "-W", "ignore::FutureWarning",
           "-W", "ignore::DeprecationWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"]  # fmt: skip
ANSI = "spark.sql.ansi.enabled"


class Row(NamedTuple):
    """Python, what is installed, which engines run, and Spark's settings."""

    python: str
    packages: list[str]
    engines: tuple[str, ...]
    conf: tuple[str, ...] = ()


# Spark 3.5's Connect server is not in its package, and comes from Maven only
ROWS = {
    "3.5": Row("3.11", ["pyspark==3.5.*", "pandas==2.2.*", "pyarrow<18", "numpy<2"], ("spark",)),
    "3.5-ansi": Row("3.11", ["pyspark==3.5.*", "pandas==2.2.*", "pyarrow<18", "numpy<2"],
                    ("spark",), (f"{ANSI}=true",)),
    "4.0": Row("3.11", ["pyspark[connect]==4.0.*", "pandas==2.2.*"], ("spark", "connect")),
    "4.1": Row("3.12", ["pyspark[connect]==4.1.*", "pandas==2.3.*"], ("spark", "connect")),
    "4.2": Row("3.13", ["pyspark[connect]==4.2.*", "pandas==2.3.*"], ("spark", "connect")),
    "4.2-sail": Row("3.13", ["pysail>=0.7,<0.8", "pyspark[connect]==4.2.*", "pandas==2.3.*"], ("sail",)),
    "newest": Row("3.14", ["pyspark[connect]>=4.3,<5", "pandas>=3"], ("spark", "connect")),
    "newest-pandas3": Row("3.13", ["pyspark[connect]>=4.3,<5", "pandas>=3"], ("spark", "connect")),
    "newest-no-ansi": Row("3.12", ["pyspark[connect]>=4.3,<5", "pandas==2.3.*"],
                          ("spark", "connect"), (f"{ANSI}=false",)),
}  # fmt: skip


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or one of pyenv's."""
    kept = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{version}")


def environment(name: str, row: Row, python: str) -> pathlib.Path:
    """The row's own interpreter, made where it is not there yet."""
    place = PLACE / name
    if not (place / ".done").exists():
        subprocess.run([python, "-m", "venv", "--clear", place], check=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *row.packages, "pytest>=8", "setuptools"], check=True)
        (place / ".done").touch()
    return place / "bin" / "python"


def versions(python: pathlib.Path) -> str:
    names = "pyspark", "pandas", "pyarrow", "numpy"
    code = f"import importlib.metadata as m; print(*[f'{{n}} {{m.version(n)}}' for n in {names}])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def main(wanted: list[str]) -> int:
    failed = 0
    lines = []
    for name, row in ROWS.items():
        if wanted and name not in wanted:
            continue
        python = interpreter(row.python)
        if python is None:
            lines.append(f"{name:15} Python {row.python} is not on this machine: not run")
            continue
        own = environment(name, row, python)
        java = subprocess.run(
            [ROOT / "tools" / "ensure_java.sh", own], capture_output=True, text=True
        )
        settings = {"JAVA_HOME": java.stdout.strip(), "PYTHONPATH": str(ROOT)}
        for engine in row.engines:
            start = time.monotonic()
            tests = CLASSIC if engine == "spark" else END_TO_END
            confs = [word for conf in row.conf for word in ("--spark-conf", conf)]
            done = subprocess.run(
                [own, "-m", "pytest", "-q", "--engine", engine, *confs, *LENIENT, *tests],
                cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True,
            )  # fmt: skip
            said = re.findall(r"^.*\d+ (?:passed|failed|error).*$", done.stdout, re.MULTILINE)
            result = said[-1].strip("= ") if said else done.stderr.strip()[-200:]
            failed += done.returncode != 0
            lines.append(
                f"{name:15} Python {row.python} {engine:8}{' '.join(row.conf):30} {versions(own)}: "
                f"{result} ({time.monotonic() - start:.0f} s)"
            )
            print(lines[-1], flush=True)
            if done.returncode:
                print("\n".join(done.stdout.splitlines()[-60:]), flush=True)
    print("\n".join(["", *lines]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
