"""Imports point one way, and the library stays within the API that all engines share."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ndcg_spark"
# from the ground up: a room may import its own and lower ones
FLOORS = [
    {"errors", "version"},
    {"measures"},
    {"kernel"},
    {"tables"},
    {"plan"},
    {"clicks", "compare"},
    {"theory"},
    {"config", "session"},
    {"pipeline"},
    {"printing", "sample"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
OUTSIDE = {"numpy", "pandas", "pyarrow", "pyspark", "pysail", "scipy", "matplotlib"}
ALLOWED_OUTSIDE = {
    "measures": {"numpy"},
    "kernel": {"numpy", "pyarrow"},
    "errors": set(),
    "config": set(),
    "cli": set(),
}
FORBIDDEN = {"rdd", "sparkContext", "_jvm", "_jdf", "_jsparkSession", "_sc"}
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield node.module
            if node.module == "ndcg_spark":
                yield from (f"ndcg_spark.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    own = room(path)
    if own == "__init__":
        return  # the public names
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "ndcg_spark" and rest:
            target = rest.split(".")[0]
            assert FLOOR[target] <= FLOOR[own], f"{path.name} imports {name}"
            assert target == own or FLOOR[target] < FLOOR[own], f"{path.name} imports {name}"
        elif top in OUTSIDE and own in ALLOWED_OUTSIDE:
            assert top in ALLOWED_OUTSIDE[own], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_api_that_all_engines_share(path):
    used = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
    assert not used & FORBIDDEN


@pytest.mark.parametrize("path", sorted((PACKAGE / "plan").glob("*.py")), ids=lambda p: p.name)
def test_the_plan_has_no_action(path):
    actions = {"collect", "count", "write", "toPandas", "toLocalIterator", "first", "take", "show"}
    calls = {
        n.func.attr
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and not (isinstance(n.func.value, ast.Name) and n.func.value.id in ("F", "pc"))
    }
    assert not calls & actions


def test_files_stay_small():
    assert max(len(p.read_text().splitlines()) for p in FILES) <= 340


def test_the_core_needs_four_packages_only():
    """A bare node has numpy, pandas, pyarrow and pyspark; what an extra brings is asked for late."""
    program = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy", "matplotlib", "pysail", "threadpoolctl", "pytest"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import ndcg_spark.cli
from ndcg_spark.compare.effects import sample_size
from ndcg_spark.errors import UsageError
from ndcg_spark.theory import plot_curves
for call in (lambda: sample_size(1, 1, method="exact"), lambda: plot_curves([], "x.svg")):
    try:
        call()
    except UsageError as problem:
        assert "pip install 'ndcg-spark[" in str(problem), problem
    else:
        raise AssertionError("nothing was missed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
