"""The references are what the code says today."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.comparison.options import CompareJob
from ndcg_spark.distinguish.options import DistinguishabilityJob
from ndcg_spark.evaluation.options import EvaluateJob
from tools.make_docs import CODES, DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_references_are_current(name):
    assert (DOCS / name).read_text() == PAGES[name](), "run `make docs`"


def _messages(tree):
    """The texts of a module, of which what is put in is any text, as regular expressions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                re.escape(part.value) if isinstance(part, ast.Constant) else ".*"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)


def test_every_error_code_is_explained():
    """Each code of the source has an entry, whose example is made of the source's own words."""
    explained = tomllib.loads(CODES.read_text())
    used, texts = set(), set()
    for path in (DOCS.parent / "ndcg_spark").rglob("*.py"):
        tree = ast.parse(path.read_text())
        used |= set(re.findall(r"\"(E\d{3})[\" ]", path.read_text()))
        texts |= {text for text in _messages(tree) if len(text.replace(".*", "")) > 12}
    assert list(explained) == sorted(used)
    for code, (cause, remedy, example) in explained.items():
        assert cause.endswith("."), code
        assert remedy.endswith("."), code
        own = [text for text in texts if re.search(text, example)]
        assert max(len(text.replace(".*", "")) for text in own) > 12, (code, example)


def test_every_fault_has_its_test():
    """Each row of docs/faults.md names tests that are there, or says that nothing happens."""
    rows = re.findall(r"^\| (?!fault|-)(.*) \|$", (DOCS / "faults.md").read_text(), re.M)
    assert len(rows) > 45
    for row in rows:
        *_, engines, tests = row.split(" | ")
        named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", tests)
        assert named or "**not seen**" in row, row
        texts = [(DOCS.parent / path).read_text() for path, _ in named]
        found = [
            re.search(rf"^def {name}\(", text, re.M)
            for text, (_, name) in zip(texts, named, strict=True)
        ]
        assert all(found), row
        if "S" in engines or "C" in engines:
            assert any(re.search("every_engine|cluster|connect", text) for text in texts), row


def test_every_measure_documents_an_example():
    import doctest
    import inspect

    import ndcg_spark as nd

    for measure in nd.catalogue():
        if measure.__module__.startswith("ndcg_spark."):
            assert doctest.DocTestParser().get_examples(inspect.getdoc(measure)), measure.canonical


CONF = Path(__file__).resolve().parents[1] / "conf"
NEEDED = {
    "evaluate": (EvaluateJob, {"qrels": "q", "runs": ["r"]}),
    "clicks": (ClicksJob, {"impressions": "i", "date": "2026-11-29"}),
    "compare": (CompareJob, {"scores": ["s"]}),
    "distinguishability": (DistinguishabilityJob, {"runs": ["s"], "qrels": "q"}),
}


@pytest.mark.parametrize("path", sorted(CONF.glob("*.toml")), ids=lambda path: path.stem)
def test_the_configurations_that_ship(path):
    """Each is read, as it stands and with its commented options."""
    job, needed = NEEDED[path.stem]
    job.read(needed, str(path))
    for line in path.read_text().splitlines():
        key = re.match(r"# (\w+) = ", line)
        assert not key or key[1] in job.aliases(), (path.name, line)


PROSE = [
    *(CONF.parent.glob("*.md")),
    *(path for path in (CONF.parent / "docs").glob("*.md") if path.name not in PAGES),
]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_prose_wraps_at_120(path):
    inside = False
    for line in path.read_text().splitlines():
        inside ^= line.startswith("```")
        code = inside or line.startswith(("|", "```")) or "`" in line or "http" in line
        assert code or len(line) <= 120, line
