"""What must not become a number: the kernel refuses it in the pass that it makes anyway."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.arrays.ragged import Ragged
from ndcg_spark.errors import InputError
from ndcg_spark.evaluation.lists_kernel import Lists
from ndcg_spark.evaluation.ranking_kernel import Ranking
from ndcg_spark.measures import Measure, Policies
from ndcg_spark.measures.batch import Mask, rows_of
from ndcg_spark.measures.gains import LARGEST_EXP2
from ndcg_spark.measures.ndcg import uses_exp2

REFUSED = "ndcg_spark refused its input"


def refuse_bad(lists: Lists, measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse rows that must not become numbers; repeats and ranks are refused later.

    Raises:
        InputError: with the codes and counts of this batch; `check` then names the keys.
    """
    listed, labels = lists.listed, lists.judged
    grade = labels.numbers("relevance")
    bad_label = ~np.isfinite(grade)
    if labels.has("gain"):
        gain = labels.numbers("gain")
        given = _flags(pc.is_valid(labels.column("gain")))[labels.order]
        bad_label |= given & ~(np.isfinite(gain) & (gain >= 0))
    bad_listed, bad_judged = (
        own.rows.made("bad ids", functools.partial(_bad_ids, own.column("doc_id")))[own.order]
        for own in (listed, labels)
    )
    names = _bad_ids(lists.names)[lists.run]
    unknown = np.isnan(listed.numbers("place"))
    refuses = policies.order_by == "rank" or policies.nan_score == "error"
    refuse(
        {
            "E120 null or empty ids": int(
                names.sum() + _bad_ids(lists.queries).sum() + bad_listed.sum()
            ),
            "E122 NaN or null scores": int(unknown.sum()) if refuses else 0,
            "E113 judgements without a finite grade, a document or a valid gain": (
                int(bad_label.sum() + bad_judged.sum())
            ),
            "E134 negative grades": (int(np.sum(grade < 0)) if policies.negative == "error" else 0),
            "E114 grades too large for exp2 gain": (
                int(np.sum(grade > LARGEST_EXP2)) if uses_exp2(measures) else 0
            ),
        }
    )


def refuse_ranks(places: Ranking, listed: Ragged, policies: Policies) -> None:
    if policies.order_by != "rank":
        return
    given = listed.numbers("place")[places.order]
    row = rows_of(listed.offsets)
    expected = np.arange(len(row)) - listed.offsets[row] + 1
    bad = int(np.count_nonzero(np.bincount(row[given != expected])))
    refuse({"E133 lists whose ranks are not 1, 2, 3, …": bad})


def refuse(found: Mapping[str, int]) -> None:
    bad = [f"{what}: {count}" for what, count in found.items() if count]
    if bad:
        raise InputError(
            bad[0][:4],
            f"{REFUSED}: {'; '.join(bad)} (in one batch; ndcg_spark.check names all of them)",
        )


def _bad_ids(ids: pa.Array) -> Mask:
    if pa.types.is_integer(ids.type):
        return _flags(ids.is_null())
    return _flags(pc.equal(pc.binary_length(ids), 0).fill_null(True))


def _flags(flags: pa.BooleanArray) -> Mask:
    mask: Mask = flags.to_numpy(zero_copy_only=False)
    return mask
