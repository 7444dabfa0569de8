"""Documents as 64-bit keys: which of a list's documents are judged, and which come twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.hashes import Words, hashed, mixed
from ndcg_spark.arrays.ragged import Ragged
from ndcg_spark.measures.batch import Ints, Mask

_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)


class Documents:
    """The documents of lists and of their queries' judgements.

    listed: the lists, of which `query` names the query of each; judged: one list a query
    listed_twice, judged_twice: how many documents come again in their list, or are judged again

    Documents are compared by hashes of list and document. Where two are equal that perhaps should
    not be, they are compared by a dictionary of all ids instead: no result hangs on a hash.
    """

    def __init__(self, listed: Ragged, judged: Ragged, query: Ints) -> None:
        self.listed, self.judged = listed, judged
        self._query = query[listed.row]
        self._docs = [_hashes(lists) for lists in (listed, judged)]
        self.listed_twice, self.judged_twice = self._repeats()
        if self.listed_twice or self.judged_twice:
            self._docs = _coded(listed, judged)
            self.listed_twice, self.judged_twice = self._repeats()

    def first_listed(self, order: Ints) -> Mask:
        """Of each document in a list the occurrence that comes first in this order."""
        return _first(self._keys(self.listed, self.listed.row), order)

    def first_judged(self, order: Ints) -> Mask:
        """The same of each judged document."""
        return _first(self._keys(self.judged, self.judged.row), order)

    def matches(self) -> tuple[Ints, Ints]:
        """Which entries of the lists are judged, and by which entry of the judgements."""
        hits, labels = self._found()
        if not self._same(hits, labels):  # a hash met another's
            self._docs = _coded(self.listed, self.judged)
            hits, labels = self._found()
        return hits, labels

    def _found(self) -> tuple[Ints, Ints]:
        judged = pa.array(self._keys(self.judged, self.judged.row))
        place = pc.index_in(pa.array(self._keys(self.listed, self._query)), value_set=judged)
        hits = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
        return hits, place.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)

    def _same(self, hits: Ints, labels: Ints) -> bool:
        if not np.array_equal(self._query[hits], self.judged.row[labels]):
            return False
        same = pc.equal(self.listed.at("doc_id", hits), self.judged.at("doc_id", labels))
        return bool(pc.all(same, min_count=0).as_py())

    def _repeats(self) -> tuple[int, int]:
        listed, judged = (_repeats(self._keys(x, x.row)) for x in (self.listed, self.judged))
        return listed, judged

    def _keys(self, lists: Ragged, row: Ints) -> Words:
        return _keys(row, self._docs[lists is self.judged][lists.order])


def _keys(row: Ints, docs: Words) -> Words:
    """Row and document in one number: exactly where documents are numbered from 0 (32 bits)."""
    if docs.dtype == np.uint32:
        return (row.astype(np.uint64) << np.uint64(32)) | docs
    return mixed(row.astype(np.uint64) * _OTHER, docs)


def _repeats(keys: Words) -> int:
    ordered = np.sort(keys)
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _first(keys: Words, order: Ints) -> Mask:
    _, first = np.unique(keys[order], return_index=True)
    kept = np.zeros(len(keys), np.bool_)
    kept[order[first]] = True
    return kept


def _hashes(lists: Ragged) -> Words:
    return lists.rows.made("hashes", lambda: hashed(lists.column("doc_id")))


def _coded(*every: Ragged) -> list[Words]:
    """Every document as its number in a dictionary of all."""
    ids = pa.concat_arrays([lists.column("doc_id") for lists in every])
    ids = ids.fill_null(0 if pa.types.is_integer(ids.type) else "")
    code: Words = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.split(code.astype(np.uint32), [len(every[0].column("doc_id"))])
