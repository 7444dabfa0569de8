"""The named options that hold for every measure of an evaluation, one default each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from ndcg_spark.errors import UsageError
from ndcg_spark.measures.fields import check_fields, option


@dataclass(frozen=True, kw_only=True)
class Policies:
    """How an evaluation treats ties, missing queries, negatives, duplicates and the like.

    Raises:
        UsageError: for a value that an option does not allow.
    """

    ties: Literal["docid_desc", "docid_asc", "mean", "best", "worst"] = option(
        "docid_desc",
        "equal scores: by doc_id, descending (trec_eval) or ascending UTF-8 bytes; or the mean, "
        "best or worst over all orders the scores allow",
    )
    order_by: Literal["score", "rank"] = option(
        "score", "rank by score, or take the rank column (1-based, no gap, no repeat)"
    )
    score_order: Literal["descending", "ascending"] = option(
        "descending", "ascending: smaller scores are better (distances)"
    )
    queries: Literal["judged", "intersection", "run"] = option(
        "judged",
        "every judged query (a missing one scores 0), those in both, or those of the run",
    )
    no_relevant: Literal["zero", "skip", "one", "nan"] = option(
        "zero", "value of a query without a relevant document"
    )
    judged_only: bool = option(False, "drop unjudged documents before ranking (trec_eval -J)")
    negative: Literal["nonrelevant", "unjudged", "error"] = option(
        "nonrelevant", "a negative grade: judged with gain 0, as if unjudged, or refused"
    )
    rel: float = option(1.0, "smallest grade that counts as relevant in binary measures", "-l")
    depth: int | None = option(None, "cut every run at this rank (trec_eval -M); not the ideal")
    prune: bool = option(
        False,
        "every measure has a cut-off: drop what lies deeper before the shuffle; counts and checks "
        "then see no further",
    )
    ignore_identical_ids: bool = option(
        False, "drop a document whose doc_id is the query's id before ranking (BEIR's ArguAna)"
    )
    duplicate_docs: Literal["error", "max"] = option(
        "error", "a document twice in a list: refuse, or keep its best score"
    )
    duplicate_qrels: Literal["error", "max"] = option(
        "error", "a document judged twice: refuse, or keep the highest grade"
    )
    nan_score: Literal["error", "last"] = option(
        "error", "a NaN or null score: refuse, or rank it last"
    )
    on_no_overlap: Literal["error", "zero"] = option(
        "error", "runs and qrels share no query: refuse, or score everything 0"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.depth is not None and self.depth < 1:
            raise UsageError(f"Policies.depth must be at least 1, not {self.depth}")
        if self.over_orders and self.depth is not None:
            raise UsageError(f"ties={self.ties!r} cannot go with depth: the cut may split a tie")
        if self.over_orders and self.order_by == "rank":
            raise UsageError(f"ties={self.ties!r} needs scores; order_by='rank' has none")
        if self.prune and (self.over_orders or self.judged_only or self.duplicate_docs == "max"):
            raise UsageError(
                "prune needs lists whose places are settled before the judgements are seen; it "
                "cannot go with ties over all orders, judged_only or duplicate_docs='max'"
            )
        if self.order_by == "rank" and self.duplicate_docs == "max":
            raise UsageError(
                "duplicate_docs='max' cannot go with order_by='rank': a ranking that repeats a "
                "document has no defined places; use order_by='score' or clean the run"
            )

        if self.order_by == "rank" and self.ignore_identical_ids:
            raise UsageError(
                "ignore_identical_ids cannot go with order_by='rank': the ranks would have gaps"
            )

    @property
    def descending(self) -> bool:
        """Whether larger is better in what lists are ranked by: not in ranks, nor in distances."""
        return self.order_by == "score" and self.score_order == "descending"

    @property
    def over_orders(self) -> bool:
        """Whether tied documents stand for all their orders instead of one."""
        return self.ties in ("mean", "best", "worst")


class PolicyKeywords(TypedDict, total=False):
    """The options of `Policies` as keywords, for editors and type checkers (a test compares)."""

    ties: Literal["docid_desc", "docid_asc", "mean", "best", "worst"]
    order_by: Literal["score", "rank"]
    score_order: Literal["descending", "ascending"]
    queries: Literal["judged", "intersection", "run"]
    no_relevant: Literal["zero", "skip", "one", "nan"]
    judged_only: bool
    negative: Literal["nonrelevant", "unjudged", "error"]
    rel: float
    depth: int | None
    prune: bool
    ignore_identical_ids: bool
    duplicate_docs: Literal["error", "max"]
    duplicate_qrels: Literal["error", "max"]
    nan_score: Literal["error", "last"]
    on_no_overlap: Literal["error", "zero"]
