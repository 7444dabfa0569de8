"""Random measure names, text files and configurations: only errors of ours, and every accepted name
reads back. usage: python -m tools.fuzz [MILLIONS] [SEED]
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable

from ndcg_spark import errors
from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.evaluation.options import EvaluateJob
from ndcg_spark.measures import catalogue, parse_measure, parse_measures
from ndcg_spark.measures.names import DIALECTS, NICKNAMES
from ndcg_spark.tables.text_kernel import COLUMNS, TextTable

ODD = ["\0", "\x1b", "\ufeff", "\u202e", "\U0001f600", "é", "\ud7ff", "٣", "∞", "\x85", "\u2028"]
SIGNS = [*"()[]{}@,.:=_-+*/\\'\"`|&;<>#!?%^~ \t\n\r", *"0123456789", *"aAeEnNxXinf", *ODD]
NUMBERS = ["0", "-1", "1e309", "nan", "1" * 400, "0x10", "1_0", ".5", "5.", "+3", "1e-400", "10"]


def mutated(chance: random.Random, seeds: list[str]) -> str:
    """A seed, or parts of several, with some signs changed."""
    text = chance.choice(seeds)
    for _ in range(chance.choice([0, 1, 1, 2, 3, 8])):
        place = chance.randrange(len(text) + 1)
        end = min(len(text), place + chance.choice([0, 1, 1, 3, 10]))
        how = chance.random()
        if how < 0.4:
            part = chance.choice(SIGNS)
        elif how < 0.6:
            part = chance.choice(NUMBERS)
        elif how < 0.8:
            other = chance.choice(seeds)
            cut = chance.randrange(len(other) + 1)
            part = other[cut : cut + chance.choice([1, 3, 10, 30])]
        else:
            part = text[place:end] * chance.choice([0, 2, 20])
        text = text[:place] + part + text[end:]
    return text


def names(chance: random.Random) -> Callable[[], bool]:
    seeds = [repr(m.example()) for m in catalogue() if m.__module__.startswith("ndcg_spark.")]
    seeds += ["P.5,10", "ndcg_cut_10", "nDCG(gain='exp2', dis='power:0.5')@10", "ndcg.1=1.0,2=3.0",
              "AP(rel=2)@5", "nDCG(gains={1: 1, 2: 3})@10", "trec_eval:P", "nDCG@n/5", "nDCG@sqrt(n)",
              "os:system", *NICKNAMES]  # fmt: skip

    def once() -> bool:
        text, dialect = mutated(chance, seeds), chance.choice(DIALECTS)
        try:
            found = parse_measures(text, dialect)
        except UsageError:
            return False
        for measure in found:
            for written in (str(measure), repr(measure)):
                again = parse_measure(written)
                if again != measure:
                    raise AssertionError(f"{text!r}: {written!r} reads back as {again!r}")
        return True

    return once


def texts(chance: random.Random) -> Callable[[], bool]:
    seeds = {
        "qrels": ["q1 0 d1 1\nq1 0 d2 0\n", "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
                  "query_id,doc_id,relevance\r\nq1,d1,2\r\n",
                  '{"query_id": "q1", "doc_id": "d1", "relevance": 1}\n'],
        "runs": ["q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 8.5 bm25\n", "query_id,doc_id,score\nq1,d1,2.5\n",
                 '{"query_id": "q1", "doc_id": "d1", "score": 1.5, "rank": 1}\n',
                 'query_id\tdoc_id\tscore\n"a\tb"\td\t1e5\n'],
    }  # fmt: skip
    codings = ["utf-8"] * 8 + ["utf-16", "utf-8-sig", "latin-1", "utf-16-be"]

    def once() -> bool:
        role = chance.choice(list(seeds))
        data = mutated(chance, seeds[role]).encode(chance.choice(codings), "replace")
        if chance.random() < 0.2:
            place = chance.randrange(len(data) + 1)
            data = data[:place] + chance.randbytes(chance.choice([1, 1, 4])) + data[place:]
        columns = {name: name for name in COLUMNS[role]}
        try:
            for batch in TextTable(io.BytesIO(data), role, columns, "file").batches():
                batch.validate(full=True)
        except InputError:
            return False
        return True

    return once


def configurations(chance: random.Random) -> Callable[[], bool]:
    seeds = [
        "measure = ['nDCG@10', 'AP']\nqrels = 'q.parquet'\nruns = ['r.parquet']\n",
        "ties = 'mean'\ndepth = 100\nquiet = true\nrel = 2\n",
        "[columns.qrels]\nquery_id = 'qid'\n[conf]\n'spark.executor.memory' = '4g'\n",
        "out = 'x'\npartition = ['date=2026-11-29']\nwhere = \"date = '2026-11-29'\"\n",
    ]
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    place = tempfile.NamedTemporaryFile(suffix=".toml", dir=folder)  # noqa: SIM115 - kept open

    def once() -> bool:
        data = mutated(chance, seeds).encode("utf-8", "replace")
        if chance.random() < 0.05:
            data += chance.randbytes(2)
        with open(place.name, "wb") as file:
            file.write(data)
        try:
            job = EvaluateJob.read({}, place.name)
            with contextlib.suppress(AttributeError):
                _ = (job.settings, job.partitions, job.policies, job.column_names)
        except UsageError:
            return False
        return True

    return once


TARGETS = {"names": names, "texts": texts, "configurations": configurations}


def work(target: str, seed: int, inputs: int) -> tuple[Counter[str], list[str]]:
    """So many inputs of one kind: how many were accepted, and what came out that is not ours."""
    warnings.simplefilter("ignore")
    # the nearest name is a millisecond of each refusal: looked for in one of a hundred
    chance, close = random.Random(seed), errors.difflib.get_close_matches
    errors.difflib.get_close_matches = lambda *a, **k: close(*a, **k) if chance.random() < 0.01 else []  # fmt: skip
    once, counts, problems = TARGETS[target](chance), Counter(), []
    for _ in range(inputs):
        try:
            counts["accepted" if once() else "refused"] += 1
        except Exception:
            counts["foreign"] += 1
            if len(problems) < 3:
                problems.append(traceback.format_exc(limit=-3))
    return counts, problems


def main(millions: float = 1.0, seed: int = 1) -> int:
    start = time.monotonic()
    pieces = 40
    each = max(1, round(millions * 1e6 / (pieces * len(TARGETS))))
    asked = [(t, seed * 1000 + n, each) for n in range(pieces) for t in TARGETS]
    totals: dict[str, Counter[str]] = {target: Counter() for target in TARGETS}
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for (target, *_), (counts, problems) in zip(
            asked, pool.starmap(work, asked, 1), strict=True
        ):
            totals[target] += counts
            for problem in problems:
                print(f"{target}:\n{problem}", flush=True)
    for target, counts in totals.items():
        print(f"{target}: {dict(counts)}")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if any(counts["foreign"] for counts in totals.values()) else 0


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:]]
    sys.exit(main(*numbers[:1], *map(int, numbers[1:])))
