"""Rooms by feature, imports one way, and the API that all engines share."""

import ast
import functools
import importlib
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import ndcg_spark

PACKAGE = Path(__file__).resolve().parents[1] / "ndcg_spark"
# from the ground up: a room may import itself and lower ones
FLOORS = [
    {"ending", "lazy", "redaction", "version"},
    {"errors"},
    {"measures"},
    {"arrays"},
    {"stats"},
    {"tables"},
    {"engine"},
    {"plot"},
    {"evaluation", "clicks", "theory"},
    {"comparison", "distinguish", "ml", "peers"},
    {"report"},
    {"sample"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FEATURES = {"evaluation", "clicks", "comparison", "distinguish", "report"}
# a feature's room has these, and each means the same everywhere
SHAPE = ("api", "options", "job", "text")
# modules of a feature that only make plans out of plans
PLANS = {
    "evaluation": (
        "plan",
        "query_rows",
        "beside",
        "summarize",
        "ranked",
        "placed",
        "shares",
        "ideals",
        "contributions",
        "window_plan",
        "explain",
    ),
    "clicks": (
        "impressions",
        "gathered",
        "states",
        "summary",
        "labels",
        "propensities",
        "derived",
        "drafts",
        "arm_users",
        "teams",
        "ubi",
        "event_rows",
    ),
    "comparison": ("plan",),
    "distinguish": ("plan", "documents"),
}
OUTSIDE = {"numpy", "pandas", "pyarrow", "pyspark", "pysail", "scipy", "matplotlib"}
WITHOUT_SPARK = {"numpy", "pyarrow"}
ALLOWED_OUTSIDE = {
    "measures": {"numpy"},
    "arrays": WITHOUT_SPARK,
    "stats": {"numpy", "scipy"},
    "errors": set(),
    "ending": set(),
    "lazy": set(),
    "redaction": set(),
    "cli": set(),
}
FORBIDDEN = {"rdd", "sparkContext", "_jvm", "_jdf", "_jsparkSession", "_sc"}
ACTIONS = {"collect", "count", "write", "toPandas", "toLocalIterator", "first", "take", "show"}
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 300, 42


def name_of(path):
    return str(path.relative_to(PACKAGE))


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def tree(path):
    return ast.parse(path.read_text())


@functools.cache
def imports(path):
    return tuple(_imports(path))


def _imports(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(path):
    """The modules of ours that a file imports, as (room, module of the room or '')."""
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "ndcg_spark" and len(parts) > 1:
            yield parts[1], parts[2] if len(parts) > 2 else ""


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path):
    own = room(path)
    if own in ("__init__", "face"):
        return  # the public names
    for other, _ in ours(path):
        if other != own and other in FLOOR:
            assert FLOOR[other] < FLOOR[own], f"{name_of(path)} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_feature_is_imported_through_its_api_only(path):
    own = room(path)
    if own in ("__init__", "face", "commands", "cli"):
        return  # the public names, and the table of commands
    for other, module in ours(path):
        if other in FEATURES and other != own:
            assert module in ("api", ""), f"{name_of(path)} imports {other}.{module}"


def needs_no_spark(own, module):
    """Whether a module imports numpy and pyarrow only, by itself and by what it imports."""
    if not module:
        return True  # the room's name, before one of its modules
    path = PACKAGE / own / f"{module}.py"
    outside = {name.split(".")[0] for name in imports(path)} & OUTSIDE
    others = [o for o in ours(path) if FLOOR.get(o[0], 0) > FLOOR["stats"]]
    return outside <= WITHOUT_SPARK and all(needs_no_spark(*other) for other in others)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_comes_from_outside(path):
    own = room(path)
    kernel = path.stem.endswith("_kernel")
    allowed = WITHOUT_SPARK if kernel else ALLOWED_OUTSIDE.get(own, OUTSIDE)
    for name in imports(path):
        top = name.split(".")[0]
        assert top not in OUTSIDE or top in allowed, f"{name_of(path)} imports {name}"
    if kernel:  # nor through a module of ours that needs Spark
        for other, module in ours(path):
            below = FLOOR.get(other, 0) <= FLOOR["stats"]
            assert below or needs_no_spark(other, module), f"imports {other}.{module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_api_that_all_engines_share(path):
    used = {n.attr for n in ast.walk(tree(path)) if isinstance(n, ast.Attribute)}
    assert not used & FORBIDDEN


@pytest.mark.parametrize(
    "path",
    [PACKAGE / room / f"{module}.py" for room, modules in PLANS.items() for module in modules],
    ids=name_of,
)
def test_a_plan_has_no_action(path):
    calls = {
        n.func.attr
        for n in ast.walk(tree(path))
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and not (isinstance(n.func.value, ast.Name) and n.func.value.id in ("F", "pc"))
        and not _counts_groups(n)
    }
    assert not calls & ACTIONS


def _counts_groups(call):
    """`groupBy(…).count()` is a plan."""
    made = call.func.value
    return (
        call.func.attr == "count"
        and isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr == "groupBy"
    )


def test_every_feature_has_the_same_shape():
    for feature in FEATURES:
        for module in SHAPE:
            assert (PACKAGE / feature / f"{module}.py").is_file(), f"{feature}/{module}.py"


def test_no_public_name_shadows_a_module():
    packages = [ndcg_spark]
    for found in pkgutil.walk_packages(ndcg_spark.__path__, "ndcg_spark."):
        if found.name == "ndcg_spark.__main__":
            continue
        module = importlib.import_module(found.name)
        if found.ispkg:
            packages.append(module)
    for package in packages:
        for found in pkgutil.iter_modules(package.__path__):
            value = getattr(package, found.name, None)
            assert value is None or isinstance(value, types.ModuleType), (package, found.name)


def test_files_and_functions_stay_small():
    for path in FILES:
        text = path.read_text()
        assert len(text.splitlines()) <= LONGEST_FILE, name_of(path)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                first = (
                    node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                )
                lines = node.end_lineno - first.lineno + 1
                assert lines <= LONGEST_FUNCTION, f"{name_of(path)}: {node.name} has {lines} lines"


def test_no_docstring_points_to_what_users_do_not_have():
    for path in FILES:
        for word in ("shared/", "statistics.md", "theory.md", "clicklogs.md (", "house.md"):
            assert word not in path.read_text().replace("docs/clicklogs.md", ""), name_of(path)


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
from ndcg_spark.errors import UsageError
from ndcg_spark.stats.distributions import studentized_range_above
from ndcg_spark.plot import curves
for call in (lambda: studentized_range_above(3.0, 3, 10), lambda: curves([dict(run_id="", measure="", n=1, mean=1.0, se=0.0)])):
    try:
        call()
    except UsageError as problem:
        assert "pip install 'ndcg-spark[" in str(problem), problem
    else:
        raise AssertionError("nothing was missed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
