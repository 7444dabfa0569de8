"""Columns under other names: ``{"qrels.query_id": "qid", "runs.score": "s"}``."""

from __future__ import annotations

from collections.abc import Mapping

from ndcg_spark.errors import UsageError, nearest

ROLES = ("qrels", "runs", "weights")


def by_role(columns: Mapping[str, str] | None) -> dict[str, dict[str, str]]:
    """``{"qrels": {"query_id": "qid"}, "runs": {…}, …}``.

    Raises:
        UsageError: for a key that is no ROLE.COLUMN.
    """
    found: dict[str, dict[str, str]] = {role: {} for role in ROLES}
    for key, name in (columns or {}).items():
        role, dot, column = key.partition(".")
        if not dot or role not in found:
            raise UsageError(
                f"bad columns {key}={name}{nearest(role, found)}; write "
                "qrels.query_id=NAME or runs.score=NAME"
            )
        found[role][column] = name
    return found
