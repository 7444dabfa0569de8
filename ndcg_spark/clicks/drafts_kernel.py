"""Team drafts: two rankings of a query made one list, each place owned by a team."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ndcg_spark.arrays.hashes import hashed
from ndcg_spark.arrays.ragged import lengths, offsets_of
from ndcg_spark.arrays.replicates import SIGNS_A_WORD, signs
from ndcg_spark.measures.batch import Ints, Mask, rows_of

TEAMS = ("A", "B")
NONE = -1


def drafts(batches: Iterator[pa.RecordBatch], depth: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Rows (query_id, rank, doc_id, team) of rows (query_id, picks[(team, place, doc_id)]).

    place: from 1, a team's own order; within a query in no order
    """
    for batch in batches:
        queries, picks = batch.column("query_id"), batch.column("picks")
        flat = picks.flatten()
        team, place, doc = (flat.field(k) for k in range(3))
        row = rows_of(offsets_of(lengths(picks)))
        # a document has one number in its query, whoever picks it
        code = doc.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, item = np.unique(row * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
        wanted = np.full((len(TEAMS), len(queries), depth), NONE, np.int64)
        at = place.to_numpy(zero_copy_only=False).astype(np.int64) - 1
        is_b = team.to_numpy(zero_copy_only=False).astype(np.int64)
        wanted[is_b, row, at] = item
        blocks = -(-depth // SIGNS_A_WORD)
        coins = signs(hashed(queries), seed, 0, blocks)[:, :depth].astype(np.int64)
        found, owner = drafted(wanted, coins)
        query, rank = np.nonzero(found != NONE)
        entry = np.zeros(int(item.max(initial=-1)) + 1, np.int64)
        entry[item] = np.arange(len(item))
        yield pa.record_batch(
            {
                "query_id": queries.take(pa.array(query)),
                "rank": pa.array(rank + 1),
                "doc_id": doc.take(pa.array(entry[found[query, rank]])),
                "team": pa.array(np.array(TEAMS, object)[owner[query, rank]], pa.string()),
            }
        )


def drafted(wanted: Ints, coins: Ints) -> tuple[Ints, Ints]:
    """(queries, depth) the documents of each list, and whose pick each is; NONE where it ends.

    wanted: (2, queries, depth) each team's documents in its order, as numbers that are different
        in different queries; NONE where there is none
    coins:  (queries, depth) which team picks first in each round

    In a round each team adds its best document that the list does not have (Radlinski, Kurup and
    Joachims 2008).
    """
    _, n, depth = wanted.shape
    shown = np.zeros(int(wanted.max(initial=NONE)) + 2, np.bool_)  # the last is NONE's
    next_ = np.zeros((2, n), np.int64)
    found, owner = np.full((n, depth), NONE), np.zeros((n, depth), np.int64)
    size = np.zeros(n, np.int64)
    every = np.arange(n)
    for number in range(depth):
        for turn in (0, 1):
            team = coins[:, number] ^ turn
            _skip(wanted, next_, team, shown)
            place = next_[team, every]
            mine = (place < depth) & (size < depth)
            item = np.where(mine, wanted[team, every, np.minimum(place, depth - 1)], NONE)
            mine &= item != NONE
            rows = np.flatnonzero(mine)
            found[rows, size[rows]] = item[rows]
            owner[rows, size[rows]] = team[rows]
            shown[item[rows]] = True
            size[rows] += 1
    return found, owner


def _skip(wanted: Ints, next_: Ints, team: Ints, shown: Mask) -> None:
    """Move each team that is to pick on to its first document that is not shown."""
    _, n, depth = wanted.shape
    open_ = np.arange(n)
    while len(open_):
        place = next_[team[open_], open_]
        item = wanted[team[open_], open_, np.minimum(place, depth - 1)]
        taken = (place < depth) & (item != NONE) & shown[item]
        open_ = open_[taken]
        next_[team[open_], open_] += 1
