"""Which engine the flags ask for."""

import pytest

from ndcg_spark.engine import sessions as session
from ndcg_spark.errors import UsageError


def test_flags_that_contradict_each_other():
    with pytest.raises(UsageError, match="exclude each other"):
        session.open_engine(master="local", remote="sc://127.0.0.1:1")
    with pytest.raises(UsageError, match="takes neither"):
        session.open_engine("sail", master="local")


def test_auto_takes_the_engine_that_is_at_hand(monkeypatch):
    taken = []
    monkeypatch.setattr(session, "_embedded", lambda conf, by_rows: taken.append("sail"))
    monkeypatch.setattr(session, "_spark", lambda *a: taken.append("spark"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    session.open_engine()
    session.open_engine(master="local")
    session.open_engine(remote="sc://127.0.0.1:1")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")  # inside spark-submit
    session.open_engine()
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT")
    monkeypatch.setattr(session, "has_sail", lambda: False)
    session.open_engine()
    assert taken == ["sail", "spark", "spark", "spark", "spark"]


def test_the_embedded_engine_must_be_installed(monkeypatch):
    monkeypatch.setattr(session, "has_sail", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'ndcg-spark\[sail\]'"):
        session.open_engine("sail")
