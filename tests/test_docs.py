"""The measure reference is what the registry says today."""

import re
from pathlib import Path

import pytest

from ndcg_spark.clicks.options import ClicksJob
from ndcg_spark.comparison.options import CompareJob
from ndcg_spark.distinguish.options import DistinguishabilityJob
from ndcg_spark.evaluation.options import EvaluateJob
from tools.make_docs import TARGET, reference


def test_the_measure_reference_is_current():
    assert TARGET.read_text() == reference(), "run `make docs`"


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
    *(path for path in (CONF.parent / "docs").glob("*.md") if path != TARGET),
]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_prose_wraps_at_120(path):
    inside = False
    for line in path.read_text().splitlines():
        inside ^= line.startswith("```")
        code = inside or line.startswith(("|", "```")) or "`" in line or "http" in line
        assert code or len(line) <= 120, line
