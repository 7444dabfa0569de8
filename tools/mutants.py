"""Break the numbers on purpose, and see whether the tests notice.

usage: python tools/mutants.py [--count 200] [--seed 1] [--jobs 2] [--only PATH] [--timeout 120]

A mutant is one small change of a kernel, a measure or a statistic: another comparison, operator or
constant, a condition turned round, an extreme taken for the other. The tests of its room that need
no engine must fail on it; those that pass on it are printed as survivors, to be read. Seven mutants
that once survived everything come first. Each runs in a process of its own, forked from one that has
imported everything but us; the source on disk is never touched.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.util
import io
import multiprocessing
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ndcg_spark"
# which tests look at a file, the narrowest first
TESTS = {
    "measures": ["tests/measures", "tests/evaluation/test_kernel.py"],
    "arrays": ["tests/evaluation", "tests/comparison", "tests/distinguish", "tests/arrays"],
    "stats": ["tests/stats", "tests/comparison", "tests/theory"],
    "evaluation": ["tests/evaluation"],
    "comparison": ["tests/comparison"],
    "distinguish": ["tests/distinguish"],
    "clicks": ["tests/clicks"],
    "theory": ["tests/theory", "tests/distinguish"],
}
MORE = ["comparison/pair_tests.py", "comparison/tukey.py", "comparison/table.py", "theory/limits.py",
        "clicks/estimates.py", "distinguish/verdicts.py"]  # fmt: skip
# mutants that survived the whole suite before they were named here: file, what stands, what then
KNOWN = [
    ("measures/scoring.py", "np.minimum(batch.n_ret, policies.depth)", "batch.n_ret"),
    ("evaluation/documents_kernel.py", "if not self._same(hits, labels)", "if False"),
    ("comparison/table.py", "min(1.0, p * families)", "min(1.0, p)"),
    ("clicks/patterns_kernel.py", 'dwell, side="right"', 'dwell, side="left"'),
    (
        "clicks/clusters_kernel.py",
        "arm.residuals - base.residuals",
        "arm.residuals + base.residuals",
    ),
    ("comparison/pair_tests.py", ">= abs(total) - pair.n)", ">= abs(total))"),
    ("tables/contracts.py", "if len(matches) > 1:", "if False:"),
]
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "zeros": "ones"}


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    what: str
    source: str


def places(tree: ast.AST) -> list[tuple[ast.AST, int]]:
    """Every node that can be changed, and in how many ways (an operator's place in a chain)."""
    found: list[tuple[ast.AST, int]] = []
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):  # messages
            skipped.update(id(inner) for inner in ast.walk(node))
        if isinstance(node, (ast.AnnAssign, ast.arg, ast.FunctionDef)):  # types are no code
            for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                if hint is not None:
                    skipped.update(id(inner) for inner in ast.walk(hint))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare):
            found += [(node, i) for i, op in enumerate(node.ops) if type(op) in SWAPS]
        elif (
            (isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS)
            or (
                isinstance(node, ast.UnaryOp)
                and isinstance(node.op, (ast.Not, ast.USub, ast.Invert))
            )
            or (isinstance(node, ast.Constant) and type(node.value) in (int, float))
            or (isinstance(node, ast.Attribute) and node.attr in NAMES)
            or (isinstance(node, ast.Name) and node.id in NAMES)
        ):
            found.append((node, 0))
    return found


def mutated(path: str, place: int) -> Mutant:
    source = (PACKAGE / path).read_text()
    tree = ast.parse(source)
    node, i = places(tree)[place]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[i] = SWAPS[type(node.ops[i])]()
    elif isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.01 + 1e-6
    elif isinstance(node, ast.Attribute):
        node.attr = NAMES[node.attr]
    elif isinstance(node, ast.Name):
        node.id = NAMES[node.id]
    ast.fix_missing_locations(tree)
    return Mutant(path, node.lineno, f"{before}  ->  {ast.unparse(node)}", ast.unparse(tree))


def known() -> list[Mutant]:
    found = []
    for path, old, new in KNOWN:
        source = (PACKAGE / path).read_text()
        if source.count(old) != 1:
            raise SystemExit(f"{path}: {old!r} stands {source.count(old)} times, not once")
        line = source[: source.index(old)].count("\n") + 1
        found.append(Mutant(path, line, f"{old}  ->  {new}", source.replace(old, new)))
    return found


def drawn(count: int, seed: int, only: str) -> list[Mutant]:
    files = [
        *(f"{room}/{p.name}" for room in ("measures", "arrays", "stats")
          for p in sorted((PACKAGE / room).glob("*.py"))),
        *(str(p.relative_to(PACKAGE)) for p in sorted(PACKAGE.rglob("*_kernel.py"))),
        *MORE,
    ]  # fmt: skip
    every = [
        (path, place)
        for path in files
        if only in path
        for place in range(len(places(ast.parse((PACKAGE / path).read_text()))))
    ]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    return [mutated(path, place) for path, place in chosen]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant's source for the one module that it changes."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = "ndcg_spark." + mutant.path.removesuffix(".py").replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, PACKAGE / self.mutant.path, loader=self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.mutant.source, str(PACKAGE / self.mutant.path), "exec"), module.__dict__)


def run(mutant: Mutant, timeout: int) -> tuple[Mutant, bool, float]:
    """Whether the tests notice: in a fork of this process."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        signal.alarm(timeout)  # a mutant that never ends is noticed
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        sys.meta_path.insert(0, Finder(mutant))
        code = 1
        with contextlib.suppress(BaseException):
            import pytest

            room = mutant.path.split("/")[0]
            paths = TESTS.get(room, ["tests/evaluation"])
            paths = [p for p in paths if (ROOT / p).exists()] + [str(PACKAGE / mutant.path)]
            wanted = "not cluster" if room == "tables" else "not spark and not slow"
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", wanted, *paths])
        os._exit(int(code != 0))
    _, status = os.waitpid(child, 0)
    return mutant, status != 0, time.monotonic() - began


def _prepare() -> None:
    """Import what the tests import, but not the package: a fork then starts at once."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in ("numpy", "pandas", "pyarrow.parquet", "pyarrow.compute", "scipy.stats", "pytest",
                 "scipy.special", "pyspark.sql", "pytrec_eval", "ir_measures"):  # fmt: skip
        with contextlib.suppress(ImportError), contextlib.redirect_stderr(io.StringIO()):
            importlib.import_module(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="", help="part of a path")
    parser.add_argument("--timeout", type=int, default=400, help="seconds a mutant")
    given = parser.parse_args()
    whole = Mutant("measures/ndcg.py", 0, "nothing", (PACKAGE / "measures/ndcg.py").read_text())
    mutants = [whole, *(m for m in known() if given.only in m.path)]
    mutants += drawn(given.count, given.seed, given.only)
    survivors = 0
    with multiprocessing.get_context("fork").Pool(given.jobs, _prepare) as pool:
        results = pool.imap_unordered(_call, [(m, given.timeout) for m in mutants])
        for number, (mutant, noticed, seconds) in enumerate(results, 1):
            if mutant.what == "nothing":
                if noticed:
                    raise SystemExit("the tests fail without any mutant")
            elif not noticed:
                survivors += 1
                print(f"SURVIVED {mutant.path}:{mutant.line}: {mutant.what}", flush=True)
            elif number % 20 == 0:
                print(f"… {number} of {len(mutants)} ({seconds:.0f} s)", flush=True)
    tried = len(mutants) - 1
    print(f"{tried} mutants, {tried - survivors} noticed, {survivors} survived")
    return 0


def _call(arguments):
    return run(*arguments)


if __name__ == "__main__":
    sys.exit(main())
