"""The Arrow kernel without any engine: ids, places, pieces, and what happens where hashes meet."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ndcg_spark.arrays import hashes, ragged
from ndcg_spark.arrays.hashes import hashed
from ndcg_spark.arrays.keys import order_keys, sorted_within
from ndcg_spark.errors import InputError
from ndcg_spark.evaluation import documents_kernel, pack_kernel, parts_kernel
from ndcg_spark.evaluation.score_kernel import score_batches, score_parts
from ndcg_spark.measures import Policies, parse_measures
from tests.reference import collection, values

MEASURES = parse_measures("nDCG,nDCG@3,AP,RR,P@5,R@3,Judged@3,NumRet")
ROW = pa.struct(
    [
        ("run_id", pa.string()),
        ("doc_id", pa.string()),
        ("place", pa.float64()),
        ("relevance", pa.float64()),
    ]
)


def lists(qrels, run, names=("run",)):
    """LISTS of one run, its rows in random order."""
    rows: dict[str, list] = {}
    for query, doc, grade in qrels:
        rows.setdefault(query, []).append((None, doc, None, float(grade)))
    for query, doc, score in run:
        rows.setdefault(query, []).append(("run", doc, score, None))
    for query in rows:
        random.Random(query).shuffle(rows[query])
    docs = [[dict(zip(ROW.names, row, strict=True)) for row in found] for found in rows.values()]
    return pa.RecordBatch.from_pydict(
        {
            "names": pa.array([list(names)] * len(rows), pa.list_(pa.string())),
            "query_id": pa.array(list(rows), pa.string()),
            "docs": pa.array(docs, pa.list_(ROW)),
        }
    )


def scored(batches, **options):
    found = {}
    for batch in score_batches(iter(batches), MEASURES, Policies(**options)):
        for row in batch.to_pylist():
            for measure, value in zip(MEASURES, row["values"], strict=True):
                if row["scored"]:
                    found[row["query_id"], str(measure)] = value
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_same_bits_as_the_reference(seed):
    qrels, run = collection(seed, docs=14)
    assert scored([lists(qrels, run)]) == values(qrels, run, MEASURES)


@pytest.mark.parametrize("entries", [1, 7, 30, 10_000])
def test_pieces_of_any_size_give_the_same_bits(monkeypatch, entries):
    qrels, run = collection(3, queries=20)
    batch = lists(qrels, run)
    cut = [batch.slice(0, 2), batch.slice(2, 1), batch.slice(3)]
    monkeypatch.setattr(ragged, "ENTRIES", entries)
    assert scored(cut) == values(qrels, run, MEASURES)
    sizes = [b.num_rows for b in ragged.pieces(iter(cut))]
    assert sum(sizes) == batch.num_rows
    assert (len(sizes) == 1) == (entries == 10_000)


def packed(qrels, run, parts, size, **options):
    """PARTS of one run and its judgements, read in batches of `size` rows, packed in chunks."""
    tables = [
        pa.RecordBatch.from_pylist(
            [{"query_id": q, "run_id": "run", "doc_id": d, "place": float(s)} for q, d, s in run],
            pa.schema([("query_id", pa.string()), ("run_id", pa.string()),
                       ("doc_id", pa.string()), ("place", pa.float64())]),
        ),
        pa.RecordBatch.from_pylist(
            [{"query_id": q, "doc_id": d, "relevance": float(g)} for q, d, g in qrels],
            pa.schema([("query_id", pa.string()), ("doc_id", pa.string()),
                       ("relevance", pa.float64())]),
        ),
    ]  # fmt: skip
    found: dict[int, list] = {}
    for table in tables:
        cut = [table.slice(i, size) for i in range(0, table.num_rows, size)]
        for batch in pack_kernel.pack(iter(cut), pack_kernel.Packing(parts, **options)):
            for row in batch.to_pylist():
                found.setdefault(row.pop("part"), []).append(row)
    records = pa.list_(pa.struct([("kind", pa.int32()), ("lists", pa.binary())]))
    for rows in found.values():
        random.Random(size).shuffle(rows)
        yield pa.RecordBatch.from_pydict({"part": [0], "records": pa.array([rows], records)})


def scored_parts(batches, deepest=None, **options):
    found = {}
    for batch in score_parts(iter(batches), MEASURES, Policies(**options), deepest):
        for row in batch.to_pylist():
            for measure, value in zip(MEASURES, row["values"], strict=True):
                if row["scored"]:
                    found[row["query_id"], str(measure)] = value
    return found


@pytest.mark.parametrize("entries", [1, 10, 10_000])
@pytest.mark.parametrize("parts", [1, 3, 40])
@pytest.mark.parametrize(("size", "chunk"), [(1, 1), (7, 20), (3, 2_000), (1000, 2_000)])
def test_packed_in_chunks_of_any_size_gives_the_same_bits(monkeypatch, entries, parts, size, chunk):
    monkeypatch.setattr(parts_kernel, "ENTRIES", entries)
    monkeypatch.setattr(pack_kernel, "CHUNK", chunk)
    qrels, run = collection(4, queries=12)
    run = [r for r in run if r[0] != "q3"]
    assert scored_parts(packed(qrels, run, parts, size)) == values(qrels, run, MEASURES)
    shuffled = random.Random(1).sample(run, len(run))
    assert scored_parts(packed(qrels, shuffled, parts, size)) == values(qrels, run, MEASURES)
    assert scored_parts([]) == {}
    found = scored_parts(packed([], run, parts, size), queries="run")
    assert {v for (_, m), v in found.items() if m == "RR"} == {0.0}


@pytest.mark.parametrize("chunk", [2, 10, 2_000])
def test_pruned_chunks_keep_what_the_first_places_need(monkeypatch, chunk):
    monkeypatch.setattr(pack_kernel, "CHUNK", chunk)
    qrels, run = collection(5, queries=12)
    names = [str(m) for m in MEASURES if m.last_rank()]
    whole = scored_parts(packed(qrels, run, 3, 5))
    cut = scored_parts(packed(qrels, run, 3, 5, deepest=6), 6)
    assert {k: v for k, v in cut.items() if k[1] in names} == {
        k: v for k, v in whole.items() if k[1] in names
    }
    assert max(v for (_, m), v in cut.items() if m == "NumRet") == 6


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 1}, {"depth": 3}, {"judged_only": True}, {"negative": "unjudged"},
        {"depth": 4, "judged_only": True, "negative": "unjudged"}, {"no_relevant": "one"},
    ],
    ids=str,
)  # fmt: skip
def test_policies_as_they_are_written_out(options):
    for seed in range(8):
        qrels, run = collection(seed)
        assert scored([lists(qrels, run)], **options) == values(qrels, run, MEASURES, **options)


@pytest.mark.parametrize("bits", [0, 1, 6])
def test_hashes_that_meet_change_nothing(monkeypatch, bits):
    """With almost all hashes equal, documents are told apart by a dictionary instead."""

    def few(state, word):
        return hashes.mixed(state, word) & np.uint64((1 << bits) - 1)

    monkeypatch.setattr(documents_kernel, "mixed", few)
    for seed in range(5):
        qrels, run = collection(seed)
        assert scored([lists(qrels, run)]) == values(qrels, run, MEASURES)


def test_hashes_that_meet_across_run_and_judgements(monkeypatch):
    """No repeat gives it away: only that matches are compared as text, and by query."""
    monkeypatch.setattr(
        documents_kernel, "mixed", lambda state, word: hashes.mixed(state, word) & np.uint64(0)
    )
    assert scored([lists([("q", "a", 1)], [("q", "b", 1.0)])])["q", "RR"] == 0.0
    two = [lists([("q", "a", 1)], [("r", "a", 1.0)])]
    assert scored(two, queries="judged")["q", "RR"] == 0.0
    assert scored([lists([("q", "a", 1)], [("q", "a", 1.0)])])["q", "RR"] == 1.0


def test_where_refusals_begin():
    run = [("q", "a", 1.0)]
    assert scored([lists([("q", "a", 0)], run)], negative="error")["q", "RR"] == 0.0
    with pytest.raises(InputError, match="E134 negative grades: 1"):
        scored([lists([("q", "a", -1)], run)], negative="error")
    exp2 = parse_measures("nDCG(gain='exp2')")
    good = lists([("q", "a", 1023)], run)
    (batch,) = score_batches(iter([good]), exp2, Policies())
    assert batch.column("values").to_pylist() == [[1.0]]
    with pytest.raises(InputError, match="E114 grades too large for exp2 gain: 1"):
        next(score_batches(iter([lists([("q", "a", 1024)], run)]), exp2, Policies()))


def test_of_repeats_the_best_is_kept():
    dcg = parse_measures("DCG,RR")
    qrels = [("q", "a", 1), ("q", "a", 3), ("q", "a", 2)]
    run = [("q", "b", 2.0), ("q", "a", 1.0), ("q", "a", 3.0)]
    policies = Policies(duplicate_qrels="max", duplicate_docs="max")
    (batch,) = score_batches(iter([lists(qrels, run)]), dcg, policies)
    assert batch.column("values").to_pylist() == [[3.0, 1.0]]


def test_repeats_are_found_in_their_own_list_only():
    run = [("a", "d", 1.0), ("b", "d", 1.0), ("a", "e", 0.5)]
    qrels = [("a", "d", 1), ("b", "d", 1)]
    assert scored([lists(qrels, run)])["a", "RR"] == 1
    with pytest.raises(InputError, match="E132 documents listed more than once: 1"):
        scored([lists(qrels, [*run, ("a", "e", 2.0)])])
    best = scored([lists(qrels, [*run, ("a", "e", 2.0)])], duplicate_docs="max")
    assert best["a", "RR"] == 0.5
    assert best["a", "NumRet"] == 2
    with pytest.raises(InputError, match="E130 documents judged more than once: 1"):
        scored([lists([*qrels, ("b", "d", 3)], run)])


def test_ids_of_any_length_have_hashes_of_their_own():
    texts = ["", "a", "b", "ab", "a" * 8, "a" * 9, "a" * 8 + "b", "é" * 40, "é" * 41, "\0", "\0\0"]
    for array in (
        pa.array(texts),
        pa.array(["x", *texts]).slice(1),
        pa.array(texts, pa.large_string()),
    ):
        found = hashed(array)
        assert len(set(found.tolist())) == len(texts)
        assert found.tolist() == hashed(pa.array(texts)).tolist()
    numbers = pa.array([0, 1, -1, 2**63 - 1, -(2**63)])
    assert len(set(hashed(numbers).tolist())) == 5


@pytest.mark.parametrize("descending", [True, False])
def test_order_keys_of_every_type(descending):
    inf, nan = float("inf"), float("nan")
    floats = [inf, 1.5, 1.0, 5e-324, 0.0, -0.0, -5e-324, -2.0, -inf]
    keys = order_keys(pa.array([*floats, nan, None]), descending)
    known = keys[: len(floats)].tolist()
    assert known == sorted(known, reverse=not descending)
    assert known[4] == known[5]  # -0.0 is 0.0
    assert keys[-1] == keys[-2] > max(known)
    whole = order_keys(pa.array([2**53 + 1, 2**53, -(2**62), None]), descending)
    assert len(set(whole.tolist())) == 4
    exact = [Decimal("12345678901234567890.124"), Decimal("12345678901234567890.123")]
    first, second, null = order_keys(pa.array([*exact, None]), descending)
    assert (first < second) == descending
    assert null > max(first, second)


def test_sorted_within_lists_of_every_length():
    rng = np.random.default_rng(5)
    sizes = rng.permutation([0, 1, 2, 3, 4, 5, 8, 9, 17, 0, 100, 1000, 1])
    offsets = ragged.offsets_of(sizes)
    keys = rng.integers(0, 50, offsets[-1])
    order = sorted_within(keys, offsets)
    for start, end in itertools.pairwise(offsets):
        assert sorted(order[start:end]) == list(range(start, end))
        assert keys[order[start:end]].tolist() == sorted(keys[start:end])
