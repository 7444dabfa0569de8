"""Files as people's tools write them: one reader, the same rows, and refusals that name the file."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark.errors import InputError, UsageError
from ndcg_spark.tables.listing import conditions, listed

QRELS = pd.DataFrame(
    [("q1", "d1", 1), ("q1", "d2", 0), ("q1", "d3", 2), ("q2", "d1", 1), ("q2", "d4", 0)],
    columns=["query_id", "doc_id", "relevance"],
)
RUN = pd.DataFrame(
    [("bm25", "q1", "d1", 3.0), ("bm25", "q1", "d2", 2.0), ("bm25", "q1", "d3", 1.0),
     ("bm25", "q2", "d4", 2.0), ("bm25", "q2", "d1", 1.0)],
    columns=["run_id", "query_id", "doc_id", "score"],
)  # fmt: skip
RIGHT = {"q1": 0.7601875334, "q2": 0.6309297536}


@pytest.fixture
def place(tmp_path):
    QRELS.to_parquet(tmp_path / "q.parquet")
    RUN.to_parquet(tmp_path / "r.parquet")
    return tmp_path


@pytest.fixture
def evaluate(place, run_cli):
    def run(qrels="q.parquet", runs="r.parquet", *more):
        code, out, err = run_cli(
            "evaluate", "--qrels", place / qrels, "--runs", place / runs, "-m", "nDCG@10", "-q",
            "--format", "json", *more,
        )  # fmt: skip
        if code:
            return code, err
        rows = json.loads(out)["per_query"]
        return {row["query_id"]: row["value"] for row in rows}, err

    return run


def right(found):
    assert found[0] == pytest.approx(RIGHT), found


KEYS = ("category", "large_string", "string_view", "enum", "dictionary64")
GRADES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "float16", "float32",
          "float64", "decimal")  # fmt: skip
UNUSED = {
    "timestamp[ns]": pa.array([dt.datetime(2026, 11, 29)] * 5, pa.timestamp("ns")),
    "timestamp[ns, UTC]": pa.array([dt.datetime(2026, 11, 29)] * 5, pa.timestamp("ns", "UTC")),
    "time64[ns]": pa.array([1] * 5, pa.time64("ns")),
    "duration[ns]": pa.array([1] * 5, pa.duration("ns")),
    "date64": pa.array([dt.date(2026, 11, 29)] * 5, pa.date64()),
    "float16": pa.array(np.ones(5, np.float16)),
    "uint8": pa.array([1] * 5, pa.uint8()),
    "uint64": pa.array([2**64 - 1] * 5, pa.uint64()),
    "large_list": pa.array([[1.0]] * 5, pa.large_list(pa.float64())),
    "fixed list": pa.array([[1.0, 2.0]] * 5, pa.list_(pa.float32(), 2)),
    "struct with a dictionary": pa.StructArray.from_arrays(
        [pa.array(["x"] * 5).dictionary_encode()], names=["a"]
    ),
    "map": pa.array([[("a", 1)]] * 5, pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"x"] * 5),
    "null": pa.nulls(5),
}


@pytest.mark.every_engine
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_of_text(place, evaluate, kind):
    """Of both tables, in every column of text."""
    types = {
        "category": pa.dictionary(pa.int8(), pa.string()),
        "dictionary64": pa.dictionary(pa.int64(), pa.large_string()),
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "enum": None,
    }
    for name, table in (("q", QRELS), ("r", RUN)):
        if kind == "enum":
            own = pl.from_pandas(table)
            text = [c for c in own.columns if own[c].dtype == pl.String]
            own.with_columns(
                pl.col(c).cast(pl.Enum(own[c].unique().sort())) for c in text
            ).write_parquet(place / f"{name}.parquet")
            continue
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        fields = [f.with_type(types[kind]) if f.type == pa.large_string() or f.type == pa.string()
                  else f for f in arrow.schema]  # fmt: skip
        pq.write_table(arrow.cast(pa.schema(fields)), place / f"{name}.parquet")
    right(evaluate())


@pytest.mark.every_engine
@pytest.mark.parametrize("kind", GRADES)
def test_grades_and_scores_of_any_number(place, evaluate, kind):
    for name, table, column in (("q", QRELS, "relevance"), ("r", RUN, "score")):
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        values = table[column].astype(int).tolist()
        own = (
            pa.array([Decimal(v) for v in values], pa.decimal128(9, 2))
            if kind == "decimal"
            else pa.array(np.array(values, kind))
        )
        arrow = arrow.set_column(arrow.schema.get_field_index(column), column, own)
        pq.write_table(arrow, place / f"{name}.parquet")
    right(evaluate())


@pytest.mark.every_engine
@pytest.mark.parametrize("kind", UNUSED)
def test_what_nobody_reads_does_not_matter(place, evaluate, kind):
    for name, table in (("q", QRELS), ("r", RUN)):
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        arrow = arrow.append_column("a.b", UNUSED[kind]).append_column("other", UNUSED[kind])
        pq.write_table(arrow, place / f"{name}.parquet")
    right(evaluate())


def by_pandas(table, path):
    table.to_parquet(path)


def by_polars(table, path):
    pl.from_pandas(table).write_parquet(path)


def by_duckdb(table, path):
    duckdb.from_arrow(pa.Table.from_pandas(table)).write_parquet(str(path))


def by_pyarrow(table, path):
    pq.write_table(pa.Table.from_pandas(table), path)


@pytest.mark.every_engine
@pytest.mark.parametrize("write", [by_pandas, by_polars, by_duckdb, by_pyarrow])
def test_every_writer_with_its_own_defaults(place, evaluate, write):
    write(QRELS, place / "q.parquet")
    write(RUN, place / "r.parquet")
    right(evaluate())


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("column", "one", "other"),
    [
        ("score", "float32", "float64"), ("score", "int32", "float64"), ("score", "int8", "int64"),
        ("score", "float64", "int32"), ("score", "float16", "int64"), ("score", "int32", "int64"),
    ],
)  # fmt: skip
def test_files_of_one_source_may_differ_in_type(place, evaluate, column, one, other):
    (place / "m").mkdir()
    RUN[:3].astype({column: one}).to_parquet(place / "m" / "0.parquet")
    RUN[3:].astype({column: other}).to_parquet(place / "m" / "1.parquet")
    right(evaluate(runs="m"))


@pytest.mark.every_engine
def test_directories_below_directories(place, evaluate):
    """F1, F21: files beside a directory with files; runs in directories only."""
    (place / "n" / "more" / "deep").mkdir(parents=True)
    RUN[:3].to_parquet(place / "n" / "part-0.parquet")
    RUN[3:].to_parquet(place / "n" / "more" / "deep" / "part-1.parquet")
    (place / "n" / "_hidden").mkdir()
    (place / "n" / "_hidden" / "x.parquet").write_bytes(b"no data")
    right(evaluate(runs="n"))


@pytest.mark.every_engine
def test_partitions(place, evaluate):
    """F10, F28: the path wins over a column of that name; a null partition is a null."""
    duckdb.sql("set python_enable_replacements=false")
    table = duckdb.from_arrow(pa.Table.from_pandas(RUN, preserve_index=False))
    table.write_parquet(str(place / "d"), partition_by=["run_id"], write_partition_columns=True)
    right(evaluate(runs="d"))
    RUN.assign(run_id=[None] * 3 + ["b"] * 2).to_parquet(place / "null", partition_cols=["run_id"])
    code, err = evaluate(runs="null")
    assert code == 3
    assert "E120" in err


def test_partitions_that_are_not_alike(place, evaluate):
    """F1, F22: beside a partition's directory, and of several depths."""
    for name in ("n/day=2026-11-29/part-2.parquet", "h/day=x/h=1/a.parquet"):
        (place / name).parent.mkdir(parents=True)
        RUN.to_parquet(place / name)
    RUN.to_parquet(place / "n" / "part-0.parquet")
    RUN.to_parquet(place / "h" / "day=x" / "a.parquet")
    for runs, other in (("n", "by none"), ("h", "by day, h")):
        code, err = evaluate(runs=runs)
        assert code == 3
        assert "E117" in err
        assert other in err


def test_a_filter_on_partitions(place, evaluate, run_cli):
    for day in ("2026-11-28", "2026-11-29"):
        (place / "d" / f"date={day}").mkdir(parents=True)
        RUN.to_parquet(place / "d" / f"date={day}" / "part.parquet")
    code, err = evaluate(runs="d")
    assert code == 3
    assert "E132" in err
    assert "--where \"date = '2026-11-29'\" reads one" in err
    right(evaluate("q.parquet", "d", "--where", "date = '2026-11-29'"))
    for bad, text in (
        ("date = '2026-12-01'", "E119"), ("day = '2026-11-29'", "did you mean 'date'"),
        ("date is 3", "write date ="),
    ):  # fmt: skip
        code, err = evaluate("q.parquet", "d", "--where", bad)
        assert code in (2, 3)
        assert text in err, err
    assert conditions("a = 'x' AND b != 'it''s and so'") == [
        ("a", "=", "x"), ("b", "!=", "it's and so"),
    ]  # fmt: skip


def test_tables_of_other_formats_are_refused(place, evaluate):
    for name, kind in (("_delta_log/0.json", "Delta"), (".hoodie/hoodie.properties", "Hudi"),
                       ("metadata/v1.metadata.json", "Iceberg")):  # fmt: skip
        root = place / kind
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("{}")
        RUN.to_parquet(root / "part.parquet")
        code, err = evaluate(runs=kind)
        assert code == 3
        assert "E118" in err
        assert f"{kind} table" in err
        assert "table:NAME" in err


def test_glob_patterns(place, evaluate, run_cli):
    (place / "g" / "a").mkdir(parents=True)
    RUN[:3].to_parquet(place / "g" / "a" / "x.parquet")
    RUN[3:].to_parquet(place / "g" / "y.parquet")
    code, err = evaluate(runs="g/*")
    assert (code, "E150" in err) == (3, True)
    right(evaluate("q.parquet", "g/{a,*.parquet}", "--glob"))
    (place / "g" / "z.parquet").write_bytes(b"")
    code, err = evaluate("q.parquet", "g/*", "--glob")
    assert (code, "E104" in err, "z.parquet" in err) == (3, True, True)
    assert "E101" in evaluate("q.parquet", "none/*", "--glob")[1]


@pytest.mark.every_engine
def test_what_is_no_parquet_is_named(place, evaluate):
    """F23, F25, F27, flipped bytes: the file by its own name, and why."""
    (place / "d").mkdir()
    RUN.to_parquet(place / "d" / "a.parquet")
    (place / "d" / "README.md").write_text("# read me")
    code, err = evaluate(runs="d")
    assert (code, "E105" in err, "README.md" in err) == (3, True, True)
    (place / "d" / "README.md").unlink()
    RUN.rename(columns={"score": "points"}).to_parquet(place / "d" / "b.parquet")
    code, err = evaluate(runs="d")
    assert code == 3
    assert "E110: runs: the file 'b.parquet' lacks the column 'score'" in err
    columns = [pa.array(RUN[name]) for name in RUN] + [pa.array([1] * 5)]
    twice = pa.Table.from_arrays(columns, names=[*RUN, "score"])
    pq.write_table(twice, place / "twice.parquet")
    code, err = evaluate(runs="twice.parquet")
    assert (code, "E115" in err, "two columns of one name" in err) == (3, True, True)
    arrow = pa.Table.from_pandas(RUN)
    pq.write_table(arrow, place / "sum.parquet", write_page_checksum=True, compression="none",
                   use_dictionary=False)  # fmt: skip
    data = bytearray((place / "sum.parquet").read_bytes())
    data[data.index(np.float64([3.0, 2.0]).tobytes()) + 6] ^= (
        1  # in the page, not in its statistics
    )
    (place / "sum.parquet").write_bytes(data)
    code, err = evaluate(runs="sum.parquet")
    assert (code, "E105" in err, "sum.parquet" in err) == (3, True, True)


@pytest.mark.every_engine
def test_wrong_types_name_file_column_and_value(place, evaluate):
    (place / "d").mkdir()
    RUN[:3].to_parquet(place / "d" / "a.parquet")
    RUN[3:].assign(query_id=[1, 2]).to_parquet(place / "d" / "b.parquet")
    code, err = evaluate(runs="d")
    assert code == 3
    assert "E112: runs: the file 'b.parquet', column 'query_id' is bigint, not a string" in err
    RUN.astype({"score": str}).to_parquet(place / "text.parquet")
    code, err = evaluate(runs="text.parquet")
    assert (code, "E112" in err, "score is string, not a number" in err) == (3, True, True)
    large = np.array([1, 2, 2**63 + 5, 4, 5], np.uint64)
    for name, table in (("q", QRELS), ("r", RUN)):
        table.assign(query_id=large).to_parquet(place / f"{name}.parquet")
    code, err = evaluate()
    assert code == 3
    assert "column 'query_id' holds 9223372036854775813" in err


@pytest.mark.every_engine
def test_unsigned_ids_and_empty_parts(place, evaluate):
    """F14, F20: ids that fit a bigint; an empty part as pandas writes it."""
    for name, table in (("q", QRELS), ("r", RUN)):
        own = table.assign(doc_id=table["doc_id"].str[1:].astype("uint64"))
        own.to_parquet(place / f"{name}.parquet")
    right(evaluate())
    for kind in ("object", "float64"):
        (place / kind).mkdir()
        empty = pd.DataFrame({c: [] for c in RUN}).astype(kind)
        empty.to_parquet(place / kind / "part-0.parquet")
        RUN.to_parquet(place / kind / "part-1.parquet")
        QRELS.to_parquet(place / "q.parquet")
        right(evaluate(runs=kind))


def test_a_source_without_rows_among_others_is_said(place, evaluate):
    RUN[:0].to_parquet(place / "none.parquet")
    found = evaluate("q.parquet", "r.parquet", "--runs", place / "none.parquet")
    assert found[0] == pytest.approx(RIGHT)
    assert "E103: the source" in found[1]
    assert "none.parquet' of the runs has no rows" in found[1]


@pytest.mark.every_engine
@pytest.mark.parametrize("how", [{"compression": "brotli"}, {"compression": "zstd"},
                                 {"use_dictionary": False, "column_encoding":
                                  {"score": "BYTE_STREAM_SPLIT"}},
                                 {"row_group_size": 1}, {"data_page_version": "2.0"}])  # fmt: skip
def test_every_encoding(place, evaluate, how):
    pq.write_table(pa.Table.from_pandas(RUN), place / "r.parquet", **how)
    right(evaluate())


@pytest.mark.every_engine
def test_both_readers_give_the_same_bits(place, evaluate):
    found = [evaluate("q.parquet", "r.parquet", "--reader", r)[0] for r in ("arrow", "engine")]
    assert found[0] == found[1] == pytest.approx(RIGHT)


def test_a_table_of_the_catalog_needs_the_engine(place, run_cli):
    code, _, err = run_cli("evaluate", "--qrels", place / "q.parquet", "--runs", "table:x",
                           "--reader", "arrow")  # fmt: skip
    assert (code, "table of the catalog" in err) == (2, True)


def test_listing_without_an_engine(place):
    with pytest.raises(InputError, match="E101"):
        listed("runs", str(place / "nothing"))
    (place / "d" / "a=1").mkdir(parents=True)
    with pytest.raises(InputError, match="E102"):
        listed("runs", str(place / "d"))
    with pytest.raises(UsageError, match="cannot read the condition"):
        conditions("date")
