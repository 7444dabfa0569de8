"""A job's session: opened, and stopped whatever happens; engines' errors made clear."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from ndcg_spark import session
from ndcg_spark.config import Job
from ndcg_spark.errors import InputError
from ndcg_spark.session import Engine
from ndcg_spark.tables.read import translate


@contextlib.contextmanager
def opened(job: Job, role: str = "input") -> Iterator[Engine]:
    """The session that the job asks for; `role` names what it reads in errors."""
    engine = session.open_engine(job.engine, job.master, job.remote, job.settings)
    try:
        yield engine
    except Exception as problem:
        raise translate(problem, role) from problem.__cause__
    finally:
        engine.stop()


def refused(problem: Exception) -> Exception:
    """The InputError that a worker raised, out of the engine's error around it."""
    found = re.search(r"InputError: (E\d+): (.*)", str(problem))
    return InputError(found[1], found[2].strip()) if found else problem
