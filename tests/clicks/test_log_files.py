"""Click logs as people's tools write them: the same counts, or a refusal that names the column."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark.arrays.xxhash import xxhash64
from tests.xxhash64 import xxhash64 as by_hand

DAY = "2026-11-29"
T = dt.datetime(2026, 11, 29, 10, tzinfo=dt.UTC)
# (impression, documents in order, clicks)
ROWS = [(1, [10, 11, 12], [0, 1, 0]), (2, [11, 10], [1, 0]), (3, [12, 13], [0, 0])]
RIGHT = {"impressions": 3, "clicks_not_shown": 0, "empty": 0, "bad_values": 0}
MEAN = (1 / np.log2(3) + 1) / 2  # nDCG of the clicked lists


@pytest.fixture
def clicks(tmp_path, run_cli):
    def run(table, *more, command="clicks", date=DAY):
        if isinstance(table, pa.Table):
            pq.write_table(table, tmp_path / "log.parquet")
            table = tmp_path / "log.parquet"
        return run_cli(
            command, "--impressions", table, "--date", date, "--out", tmp_path / "out", "--format",
            "json", *(["-m", "nDCG", "--min-group", "1"] if command == "clicks" else []), *more,
        )  # fmt: skip

    return run


def right(found):
    code, out, err = found
    assert code == 0, err
    result = json.loads(out)
    assert {name: result["counts"][name] for name in RIGHT} == RIGHT, result["counts"]
    (row,) = [r for r in result["daily"] if r["segment"] == "all"]
    assert row["mean"] == pytest.approx(MEAN, abs=1e-9)
    assert row["n_undefined"] == 1


def refused(found, *words):
    code, _, err = found
    assert code == 3, (code, err)
    for word in words:
        assert word in err, err


TEXT, INT, LONG = pa.string(), pa.int32(), pa.int64()


def nested(doc=TEXT, rank=INT, clicks=LONG, of=pa.list_, when=None):
    """A log with `results`, its fields of these types."""
    kind = of(pa.struct([("doc_id", doc), ("rank", rank), ("clicks", clicks)]))
    name = (lambda d: f"d{d}") if pa.types.is_string(doc) else (lambda d: d)
    count = bool if pa.types.is_boolean(clicks) else int
    results = [
        [
            {"doc_id": name(d), "rank": r, "clicks": count(c)}
            for r, (d, c) in enumerate(zip(*own, strict=True), 1)
        ]
        for _, *own in ROWS
    ]
    if when is None:
        when = pa.array([T] * 3, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "impression_id": [r[0] for r in ROWS],
            "event_ts": when,
            "results": pa.array(results, kind),
        }
    )


NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize("kind", NUMBERS)
def test_ranks_and_clicks_of_any_integer(clicks, kind):
    own = getattr(pa, kind)()
    right(clicks(nested(rank=own, clicks=own)))


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "bool_"])
def test_clicks_of_other_numbers(clicks, kind):
    table = nested(clicks=pa.float64() if kind != "bool_" else pa.bool_())
    if kind != "bool_":
        lists = table["results"].combine_chunks()
        flat = lists.flatten()
        values = pa.array(np.array(flat.field("clicks")).astype(kind.replace("_", "")))
        struct = pa.StructArray.from_arrays(
            [flat.field("doc_id"), flat.field("rank"), values], names=["doc_id", "rank", "clicks"]
        )
        table = table.set_column(2, "results", pa.ListArray.from_arrays(lists.offsets, struct))
    right(clicks(table))


@pytest.mark.parametrize("of", [pa.list_, pa.large_list], ids=["list", "large_list"])
@pytest.mark.parametrize("doc", [pa.string(), pa.int32(), pa.uint64()], ids=str)
@pytest.mark.every_engine
def test_lists_of_results(clicks, of, doc):
    right(clicks(nested(of=of, doc=doc)))


def test_fixed_size_lists(clicks):
    """Every list has as many entries: padded rows would be another log."""
    results = pa.array(
        [[{"doc_id": "a", "rank": 1, "clicks": 1}, {"doc_id": "b", "rank": 2, "clicks": 0}]] * 2,
        pa.list_(
            pa.struct([("doc_id", pa.string()), ("rank", pa.int8()), ("clicks", pa.int8())]), 2
        ),
    )
    table = pa.table({"impression_id": [1, 2], "event_date": [DAY] * 2, "results": results})
    code, out, err = clicks(table)
    assert code == 0, err
    assert json.loads(out)["counts"]["impressions"] == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_times_of_any_unit(clicks, unit, zone):
    right(clicks(nested(when=pa.array([T] * 3, pa.timestamp(unit, zone)))))


def test_a_time_without_a_zone_is_refused(clicks):
    for unit in ("us", "ns"):
        naive = pa.array([T.replace(tzinfo=None)] * 3, pa.timestamp(unit))
        refused(clicks(nested(when=naive)), "E112", "event_ts", "time zone")


DATES = {
    "text": pa.array([DAY] * 3),
    "compact": pa.array(["20261129"] * 3),
    "with a time": pa.array(["2026-11-29 00:00:00"] * 3),
    "ISO time": pa.array(["2026-11-29T10:00:00Z"] * 3),
    "category": pa.array([DAY] * 3).dictionary_encode(),
    "date32": pa.array([T.date()] * 3, pa.date32()),
    "date64": pa.array([T.date()] * 3, pa.date64()),
    "timestamp": pa.array([dt.datetime(2026, 11, 29)] * 3, pa.timestamp("ns")),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_of_any_kind(clicks, kind):
    table = nested().drop_columns("event_ts").append_column("event_date", DATES[kind])
    right(clicks(table))


def test_dates_that_are_none(clicks):
    """F15, F16: refused by type, or named with what is there."""
    table = nested().drop_columns("event_ts")
    number = table.append_column("event_date", pa.array([20261129] * 3))
    refused(clicks(number), "E112", "event_date", "bigint")
    other = table.append_column("event_date", pa.array(["29.11.2026"] * 3))
    refused(clicks(other), "E103", "29.11.2026")


def test_the_day_as_a_partition(clicks, tmp_path):
    """Of any spelling; other days are not even opened."""
    table = nested().drop_columns("event_ts")
    for place, own in (("dt=20261129", table), ("dt=20261128", None)):
        (tmp_path / "p" / place).mkdir(parents=True)
        if own is None:
            (tmp_path / "p" / place / "broken.parquet").write_bytes(b"PAR1 is no file")
        else:
            pq.write_table(own, tmp_path / "p" / place / "0.parquet")
    flags = ("--columns", "impressions.event_date=dt")
    right(clicks(tmp_path / "p", *flags))
    refused(clicks(tmp_path / "p", *flags, date="2026-11-27"), "E103", "20261128, 20261129")


def lists(clicked, doc=None, **more):
    docs = [r[1] for r in ROWS] if doc is None else doc
    return pa.table(
        {"impression_id": [1, 2, 3], "event_date": [DAY] * 3, "doc_id": docs, **clicked, **more}
    )


HITS = [[11], [11], []]


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "float64", "text", "null"])
def test_clicked_ids(clicks, kind):
    """F4: doubles, as pandas makes of integers where one is missing, are the same numbers."""
    if kind == "text":
        docs = pa.array([[f"d{d}" for d in r[1]] for r in ROWS])
        right(clicks(lists({"clicked_ids": [[f"d{d}" for d in own] for own in HITS]}, docs)))
        return
    if kind == "null":
        right(clicks(lists({"clicked_ids": pa.array([[11], [11], None])})))
        return
    right(clicks(lists({"clicked_ids": pa.array(HITS, pa.list_(getattr(pa, kind)()))})))


def test_clicks_on_what_was_not_shown(clicks):
    table = lists({"clicked_ids": pa.array([[11, 99, 99], [11], [98, 97]])})
    counts = json.loads(clicks(table)[1])["counts"]
    assert (counts["impressions"], counts["clicks_not_shown"]) == (3, 3)


def test_clicked_ids_that_cannot_be_compared(clicks):
    """F4, F18"""
    texts = lists({"clicked_ids": [["11"], ["11"], []]})
    refused(clicks(texts), "E140", "clicked_ids", "string", "bigint")
    halves = lists({"clicked_ids": [[11.5], [11.0], []]})
    refused(clicks(halves), "E112", "clicked_ids", "11.5", "log.parquet")
    refused(clicks(lists({"clicked_ids": [11, 11, 12]})), "E112", "clicked_ids", "bigint")


def test_clicks_that_are_no_numbers(clicks):
    """F17"""
    refused(clicks(text_clicks()), "E112", "clicks", "string")


def text_clicks():
    table = nested()
    rows = [
        [{**item, "clicks": str(bool(item["clicks"])).lower()} for item in own]
        for own in table["results"].to_pylist()
    ]
    return table.set_column(2, "results", pa.array(rows))


def long(clicks, **more):
    rows = [
        (i, d, r, c)
        for i, docs, cs in ROWS
        for r, (d, c) in enumerate(zip(docs, cs, strict=True), 1)
    ]
    ids, docs, ranks, counts = map(list, zip(*rows, strict=True))
    kind = {"bool": pa.bool_(), "uint8": pa.uint8(), "double": pa.float64()}[clicks]
    own = [bool(c) for c in counts] if clicks == "bool" else counts
    return pa.table(
        {
            "impression_id": ids,
            "event_date": [DAY] * 7,
            "doc_id": docs,
            "rank": ranks,
            "clicks": pa.array(own, kind),
            **more,
        }
    )


@pytest.mark.parametrize("kind", ["bool", "uint8", "double"])
@pytest.mark.every_engine
def test_one_row_a_result(clicks, kind):
    """F12"""
    right(clicks(long(kind)))


def test_a_column_named_with_a_dot(clicks):
    """F13: unused, and as a segment."""
    table = long("uint8", **{"device.type": ["m"] * 5 + ["d"] * 2})
    right(clicks(table))
    code, out, err = clicks(
        table, "--segments", "device", "--columns", "impressions.device=device.type"
    )
    assert code == 0, err
    segments = {row["segment"] for row in json.loads(out)["daily"]}
    assert {"device=m", "device=d"} <= segments


UNUSED = {
    "timestamp[ns]": pa.array([T] * 3, pa.timestamp("ns", "UTC")),
    "time64": pa.array([1] * 3, pa.time64("ns")),
    "duration": pa.array([1] * 3, pa.duration("ns")),
    "uint64": pa.array([2**64 - 1] * 3, pa.uint64()),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "dictionary": pa.array(["x"] * 3).dictionary_encode(),
    "embedding": pa.array([[0.5, 1.5]] * 3, pa.list_(pa.float32(), 2)),
}


@pytest.mark.parametrize("kind", UNUSED)
def test_what_nobody_reads_never_matters(clicks, kind):
    right(clicks(nested().append_column("other", UNUSED[kind])))


SEGMENTS = {
    "category": (pa.array(["x", "y", None]).dictionary_encode(), {"x", "y", "null"}),
    "uint8": (pa.array([1, 2, None], pa.uint8()), {"1", "2", "null"}),
    "double": (pa.array([1.0, 2.5, None]), {"1.0", "2.5", "null"}),
    "bool": (pa.array([True, False, None]), {"true", "false", "null"}),
    "string_view": (pa.array(["x", "y", None], pa.string_view()), {"x", "y", "null"}),
    "date": (pa.array([T.date()] * 3), {DAY}),
}


@pytest.mark.parametrize("kind", SEGMENTS)
def test_segments_of_any_type(clicks, kind):
    column, names = SEGMENTS[kind]
    code, out, err = clicks(nested().append_column("country", column), "--segments", "country")
    assert code == 0, err
    found = {row["segment"] for row in json.loads(out)["daily"]}
    assert {f"country={name}" for name in names} <= found


def test_a_filter_on_partitions(clicks, tmp_path):
    for country, table in (("de", nested()), ("fr", nested().slice(0, 1))):
        (tmp_path / "log" / f"country={country}").mkdir(parents=True)
        pq.write_table(table, tmp_path / "log" / f"country={country}" / "0.parquet")
    right(clicks(tmp_path / "log", "--where", "country = 'de'"))
    refused(clicks(tmp_path / "log", "--where", "land = 'de'"), "E119", "country")
    flags = ("--where", "country = 'de'", "--reader", "engine")
    code, _, err = clicks(tmp_path / "log", *flags)
    assert code == 2  # it would be ignored else
    assert "--where" in err


def test_a_key_as_a_segment(clicks):
    """The arm, or the query that --units counts by too."""
    table = nested().append_column("arm", pa.array(["A", "B", "A"]))
    table = table.append_column("query_id", pa.array(["q", "q", "r"]))
    for flags, names in (
        (["--segments", "arm"], {"arm=A", "arm=B"}),
        (["--segments", "query_id", "--units", "query"], {"query_id=q", "query_id=r"}),
    ):
        code, out, err = clicks(table, *flags)
        assert code == 0, err
        assert names <= {row["segment"] for row in json.loads(out)["daily"]}


def test_keys_that_have_no_text(clicks):
    table = nested().append_column("user_id", pa.array([{"a": 1}] * 3))
    refused(clicks(table), "E112", "user_id", "no text")


def test_users_that_are_missing_are_their_impressions(clicks, tmp_path):
    """Whether the file says that some are missing or not, the buckets are the same."""
    buckets = []
    for users in (["a", "b", "c"], ["a", None, None]):
        code, _, err = clicks(nested().append_column("user_id", pa.array(users, pa.string())))
        assert code == 0, err
        rows = pq.read_table(tmp_path / "out" / "click_patterns").to_pylist()
        buckets.append(sorted(row["bucket"] for row in rows))
    names = ("a", "b", "c"), ("a", "2", "3")
    expected = [
        sorted((by_hand(n) - (by_hand(n) >> 63 << 64)) % 1000 for n in own) for own in names
    ]
    assert buckets == expected


def test_types_that_differ_between_files(clicks, tmp_path):
    place = tmp_path / "several"
    place.mkdir()
    for number, (rank, of, when) in enumerate(
        [
            (pa.int32(), pa.list_, "us"),
            (pa.uint8(), pa.large_list, "ns"),
            (pa.int64(), pa.list_, "ms"),
        ]
    ):
        table = nested(rank=rank, of=of, when=pa.array([T] * 3, pa.timestamp(when, "UTC")))
        pq.write_table(table.slice(number, 1), place / f"{number}.parquet")
    right(clicks(place))


def test_a_file_unlike_the_first_is_named(clicks, tmp_path):
    place = tmp_path / "several"
    place.mkdir()
    pq.write_table(nested(), place / "0.parquet")
    pq.write_table(nested().append_column("is_bot", pa.array([True] * 3)), place / "1.parquet")
    refused(clicks(place), "E110", "1.parquet", "is_bot")
    pq.write_table(text_clicks(), place / "1.parquet")
    refused(clicks(place), "E112", "1.parquet", "clicks")


@pytest.mark.every_engine
def test_the_tools_own_defaults(clicks, tmp_path):
    """pandas and Polars, each with the types that it chooses."""
    rows = {
        "impression_id": [1, 2, 3], "event_ts": [T] * 3, "doc_id": [r[1] for r in ROWS],
        "clicks": [r[2] for r in ROWS], "arm": ["all"] * 3,
    }  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["event_ts"] = pd.to_datetime(frame["event_ts"]).astype("datetime64[ns, UTC]")
    frame["arm"] = frame["arm"].astype("category")
    frame.to_parquet(tmp_path / "pandas.parquet")
    right(clicks(tmp_path / "pandas.parquet"))
    pl.DataFrame(rows).with_columns(pl.col("arm").cast(pl.Categorical)).write_parquet(
        tmp_path / "polars.parquet"
    )
    right(clicks(tmp_path / "polars.parquet"))


def test_labels_and_bias_of_the_same_files(clicks, tmp_path):
    table = nested(rank=pa.uint8(), clicks=pa.uint8(), of=pa.large_list)
    table = table.append_column("query_id", pa.array(["q"] * 3).dictionary_encode())
    code, _, err = clicks(table, "--thresholds", "1=1", command="click-labels")
    assert code == 0, err
    found = pq.read_table(tmp_path / "out" / "qrels").to_pylist()
    assert {r["doc_id"]: r["relevance"] for r in found} == {"d10": 0, "d11": 1, "d12": 0, "d13": 0}
    code, out, err = clicks(table, "--method", "power_law", command="click-bias")
    assert code == 0, err
    (row,) = [r for r in json.loads(out)["estimates"] if r["name"] == "power_law"]
    assert row["ips"] == pytest.approx((1 + 2 / np.log2(3)) / 3, abs=1e-6)


@pytest.mark.every_engine
def test_the_readers_agree(clicks):
    table = nested().append_column("query_id", pa.array(["q"] * 3))
    for reader in ("arrow", "engine"):
        right(clicks(table, "--reader", reader))


def test_buckets_of_long_and_short_users():
    users = ["", "u", "é" * 7, "x" * 31]
    assert [int(h) % 2**64 for h in xxhash64(pa.array(users))] == [by_hand(u) for u in users]
    # by Spark: select xxhash64(repeat('x', n))
    long = {
        32: 1299777543150008824, 36: 3793499004131604605, 64: -140592692249202750,
        100: 365730103971579591,
    }  # fmt: skip
    assert xxhash64(pa.array(["x" * n for n in long])).tolist() == list(long.values())


@pytest.mark.every_engine
def test_timestamps_as_spark_stores_them(tmp_path, run_cli):
    """INT96 has no zone in its type, and is a moment in UTC all the same."""
    moment = dt.datetime(2026, 11, 29, 23, 30, tzinfo=dt.UTC)
    table = pa.table(
        {
            "event_ts": pa.array([moment] * 150, pa.timestamp("us", "UTC")),
            "impression_id": [str(i) for i in range(150)],
            "clicks": [[0, 1]] * 150,
        }
    )
    pq.write_table(table, tmp_path / "log.parquet", use_deprecated_int96_timestamps=True)
    assert pq.read_schema(tmp_path / "log.parquet").field("event_ts").type == pa.timestamp("ns")
    command = ("clicks", "--impressions", tmp_path / "log.parquet", "-m", "RR")
    assert run_cli(*command, "--date", "2026-11-29")[0] == 0
    berlin = ("--timezone", "Europe/Berlin")
    assert run_cli(*command, "--date", "2026-11-30", *berlin)[0] == 0
    assert run_cli(*command, "--date", "2026-11-29", *berlin)[0] == 3
