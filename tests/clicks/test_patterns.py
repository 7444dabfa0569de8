"""Click logs: every shape of input, the worked numbers, and state that adds up."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import ndcg_spark as nd
from ndcg_spark.clicks.impressions import Impressions
from ndcg_spark.clicks.log_kernel import Shape
from ndcg_spark.clicks.patterns_kernel import Gains, Read
from ndcg_spark.clicks.states import (
    click_patterns,
    daily_state,
    keys_of,
    merged_patterns,
    merged_state,
    unit_state,
)
from ndcg_spark.clicks.summary import arm_differences, click_summary, unit_summary
from ndcg_spark.clicks.sums_kernel import score_patterns

pytestmark = pytest.mark.every_engine

MEASURES = nd.parse_measures("nDCG,nDCG@3,RR,AP,P@1,binG@10,mean_reciprocal_click")
DAY = "2026-11-29"
RESULT = "array<struct<doc_id:string,rank:int,clicks:int,dwell_s:double>>"
LOG = f"impression_id string, event_date string, query_id string, user_id string, arm string, results {RESULT}"


def log(seed=1, n=300, users=60):
    """Impressions with 1 to 6 results in two arms, as rows of LOG."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        size = int(rng.integers(1, 7))
        items = [
            (f"d{doc}", rank, int(rng.random() < 0.5 / rank), float(rng.integers(1, 60)))
            for rank, doc in enumerate(rng.choice(20, size, replace=False), 1)
        ]
        rows.append(
            (f"i{i}", DAY, f"q{rng.integers(9)}", f"u{rng.integers(users)}", "AB"[i % 2], items)
        )
    return rows


def day(spark, rows, shape=None, schema=LOG):
    shape = shape or Shape()
    return patterns_of(spark.createDataFrame(rows, schema), shape)


def patterns_of(table, shape, extra=()):
    keys = keys_of(shape, extra)
    return click_patterns(Impressions.of(table.sparkSession, table, shape).counted(keys), keys)


def values(table, *keys):
    found = {}
    for row in table.collect():
        record = row.asDict()
        found[tuple(record.pop(key) for key in keys)] = record
    return found


def test_the_displayed_list_of_the_design():
    """clicklogs.md C4: clicks at 2 and 5 of 5."""
    measures = nd.parse_measures("nDCG,RR,AP,DCG,IDCG,mean_reciprocal_click")
    found, undefined = score_patterns(["01001", "00000"], (0.0, 1.0), measures)
    expected = [0.624051, 0.5, 0.45, 1.017783, 1.630930, 0.35]
    assert found[0] == pytest.approx(expected, abs=1e-6)
    assert not undefined[0].any()
    assert undefined[1, :3].all()


def test_graded_gains_are_used_as_they_stand():
    gains = Gains((("clicks", 1.0), ("booking", 5.0)))
    found, _ = score_patterns(["120"], gains.values, nd.parse_measures("DCG,nDCG,P@2"))
    dcg = 1 + 5 / np.log2(3)
    assert found[0] == pytest.approx([dcg, dcg / (5 + 1 / np.log2(3)), 1.0])


@pytest.mark.parametrize("size", [1, 62, 63, 200])
def test_lists_of_any_length(spark, size):
    items = [(f"d{rank}", rank, int(rank == size), None) for rank in range(1, size + 1)]
    rows = [("i", DAY, "q", "u", "A", items)]
    state = daily_state(day(spark, rows), MEASURES, Gains())
    assert values(state, "measure", "segment")["RR", "all"]["sum"] == pytest.approx(1 / size)


def shapes(spark, rows):
    """The same impressions in every shape: (name, table, Shape)."""
    keys = ("impression_id", "event_date", "query_id", "user_id", "arm")
    nested = spark.createDataFrame(rows, LOG)
    shuffled = [(*r[:5], r[5][::-1]) for r in rows]  # the ranks say the order
    lists = [
        (*r[:5], [i[0] for i in r[5]], [i[2] for i in r[5]], [float(i[3]) for i in r[5]])
        for r in rows
    ]
    text = ", ".join(f"{key} string" for key in keys)
    clicked = [(*r[:6], [d for d, c in zip(r[5], r[6], strict=True) if c]) for r in lists]
    long = [(*r[:5], *item) for r in rows for item in r[5]]
    np.random.default_rng(2).shuffle(long)
    yield "nested", nested, Shape()
    yield "in any order", spark.createDataFrame(shuffled, LOG), Shape()
    yield (
        "Baidu-like",
        spark.createDataFrame(
            lists, f"{text}, urls array<string>, click array<int>, t array<double>"
        ),
        Shape({"doc_id": "urls", "clicks": "click", "dwell_s": "t"}),
    )
    yield (
        "EB-NeRD-like",
        spark.createDataFrame(
            clicked, f"{text}, article_ids_inview array<string>, article_ids_clicked array<string>"
        ),
        Shape({"doc_id": "article_ids_inview", "clicked_ids": "article_ids_clicked"}),
    )
    yield (
        "Open-Bandit-like",
        spark.createDataFrame(
            [(*map(str, r[:5]), str(r[5]), int(r[6]), int(r[7]), float(r[8])) for r in long],
            f"{text}, item_id string, position int, click int, dwell_s double",
        ),
        Shape({"doc_id": "item_id", "rank": "position", "clicks": "click"}),
    )


def test_every_shape_gives_the_same_tables(spark):
    rows = log(n=80)
    found = {}
    for name, table, shape in shapes(spark, rows):
        patterns = patterns_of(table, shape)
        state = daily_state(patterns.repartition(3), MEASURES, Gains())
        found[name] = sorted(map(tuple, state.collect()))
    first = found.pop("nested")
    assert len(first) > 100
    for name, other in found.items():
        assert other == first, name


def test_state_equals_the_impressions_one_by_one(spark):
    rows = log(n=200)
    state = merged_state(daily_state(day(spark, rows), MEASURES, Gains()), ("event_date", "bucket"))
    found = values(state, "segment", "arm", "measure")
    for arm in "AB":
        for measure in MEASURES:
            texts = ["".join(str(i[2]) for i in r[5]) for r in rows if r[4] == arm]
            scores, undefined = score_patterns(texts, (0.0, 1.0), [measure])
            row = found["all", arm, str(measure)]
            assert row["n"] == len(texts)
            assert row["n_undefined"] == undefined.sum()
            assert row["sum"] == pytest.approx(scores[~undefined].sum(), abs=1e-9)
            assert row["sumsq"] == pytest.approx((scores[~undefined] ** 2).sum(), abs=1e-9)


def test_two_half_days_are_the_whole_day_exactly(spark):
    rows = log()
    whole = daily_state(day(spark, rows), MEASURES, Gains())
    halves = day(spark, rows[::2]).unionByName(day(spark, rows[1::2]))
    merged = daily_state(merged_patterns(halves), MEASURES, Gains())
    by_state = daily_state(day(spark, rows[::2]), MEASURES, Gains()).unionByName(
        daily_state(day(spark, rows[1::2]), MEASURES, Gains())
    )
    expected = sorted(map(tuple, whole.collect()))
    assert sorted(map(tuple, merged.collect())) == expected
    again = merged_state(by_state, ()).select(*whole.columns)
    assert sorted(map(tuple, again.collect())) == expected


def test_buckets_are_the_same_on_every_engine(spark):
    """pmod(xxhash64(user), 1000), by Spark's definition of the hash (seed 42)."""
    users = [("i", DAY, user, user, "A", []) for user in BUCKETS]
    rows = Impressions.of(spark, spark.createDataFrame(users, LOG), Shape()).table().collect()
    assert {r["query_id"]: r["bucket"] for r in rows} == BUCKETS
    assert not {r["user_id"] for r in rows} & set(BUCKETS)  # users leave as hashes only


BUCKETS = {"u1": 287, "é": 100, "": 652}


def test_arms_are_compared_by_user(spark):
    """clicklogs.md C5: users as the clusters; A .687500 (se .048789), B .916667 (se .029266)."""
    from ndcg_spark.clicks.clusters_kernel import Arm, standard_error

    a = Arm(np.array([2.0, 0.5, 3.0]), np.array([3.0, 1.0, 4.0]))
    b = Arm(np.array([2.8, 1.9, 0.8]), np.array([3.0, 2.0, 1.0]))

    def se(arm):
        return standard_error(np.tile(arm.residuals / 10**0.5, 10), 30) * (29 / 30 * 3 / 2) ** 0.5

    assert (a.mean, b.mean) == pytest.approx((0.6875, 0.916667), abs=1e-6)
    assert (se(a), se(b)) == pytest.approx((0.048789, 0.029266), abs=1e-6)
    both = (se(a) ** 2 + se(b) ** 2) ** 0.5
    assert both == pytest.approx(0.056893, abs=1e-6)
    assert (b.mean - a.mean) / both == pytest.approx(4.028, abs=1e-3)


def test_summary_and_differences(spark):
    rows = log(n=2000, users=400)
    state = daily_state(day(spark, rows), MEASURES, Gains())
    found = values(click_summary(state), "segment", "measure", "arm")
    texts = {
        arm: [("".join(str(i[2]) for i in r[5]), r[3]) for r in rows if r[4] == arm] for arm in "AB"
    }
    means = {}
    for arm, shown in texts.items():
        scores, undefined = score_patterns([t for t, _ in shown], (0.0, 1.0), MEASURES[:1])
        row = found["all", "nDCG", arm]
        means[arm] = scores[~undefined].mean()
        assert row["mean"] == pytest.approx(means[arm], abs=1e-9)
        assert row["coverage"] == pytest.approx(1 - undefined.mean())
        assert row["ci_low"] < row["mean"] < row["ci_high"]
        # users have few impressions each: the error is near that of independent impressions
        plain = scores[~undefined].std(ddof=1) / (~undefined).sum() ** 0.5
        assert 0.8 < row["se"] / plain < 1.25
    delta = values(arm_differences(state, "A"), "segment", "measure")["all", "nDCG"]
    assert delta["delta"] == pytest.approx(means["B"] - means["A"], abs=1e-9)
    assert delta["ci_low"] < delta["delta"] < delta["ci_high"]
    assert 0 < delta["p_value"] <= 1
    small = values(click_summary(state, smallest=10_000), "segment", "measure", "arm")
    assert small["all", "nDCG", "A"]["suppressed"]
    assert small["all", "nDCG", "A"]["mean"] is None


def test_three_weights_side_by_side(spark):
    """clicklogs.md C5: one head query x 900 at .80 and 50 tail queries x 2 at .40."""
    from ndcg_spark.clicks.states import with_doubles
    from ndcg_spark.clicks.sums_kernel import LOW, UNIT

    rows = []
    for query, n, value in [("head", 900, 0.8), *[(f"t{i}", 2, 0.4) for i in range(50)]]:
        unit = round(value * 2**UNIT) * n
        parts = (unit >> LOW, unit & ((1 << LOW) - 1), 0, 0)
        rows.append((DAY, "all", "A", query, "nDCG", n, 0, *parts))
    table = spark.createDataFrame(
        rows,
        "event_date string, segment string, arm string, unit_id string, measure string, n bigint, "
        "n_undefined bigint, sum_high bigint, sum_low bigint, sumsq_high bigint, sumsq_low bigint",
    )
    row = unit_summary(with_doubles(table), "query").first()
    found = (row["mean"], row["weighted"], row["sqrt_weighted"])
    assert found == pytest.approx((0.407843, 0.76, 0.519153), abs=1e-6)
    assert row["n_units"] == 51


def test_segments_bots_and_units(spark):
    schema = LOG + ", country string, device string, is_bot boolean"
    rows = [
        (*r, "DE" if i % 3 else None, "mobile" if i % 2 else "desk", i % 10 == 0)
        for i, r in enumerate(log(n=90))
    ]
    shape = Shape(segments=("country", "device"))
    patterns = patterns_of(spark.createDataFrame(rows, schema), shape, ("query_id",))
    segments = ["country", "country|device"]
    state = daily_state(patterns, MEASURES[:1], Gains(), segments)
    n = {
        k[0]: v["n"]
        for k, v in values(merged_state(state, ("event_date", "bucket", "arm")), "segment").items()
    }
    assert n["all"] == 81
    assert n["all+bots"] == 90
    assert n["country=DE"] + n["country=null"] == 81
    assert sum(v for k, v in n.items() if "|device=" in k) == 81
    units = unit_state(patterns, MEASURES[:1], Gains(), "query_id")
    assert sum(r["n"] for r in units.where("segment = 'all'").collect()) == 81


def test_dwell_and_events():
    shape = Gains((("clicks", 1.0),), ((10.0, 0.5), (30.0, 1.0)))
    from ndcg_spark.clicks.patterns_kernel import patterns

    batch = pa.RecordBatch.from_pydict(
        {
            "ranks": pa.array([None], pa.list_(pa.int64())),
            "clicks": pa.array([[1, 1, 1, 1, 0]]),
            "dwell": pa.array([[40.0, 3.0, 12.0, None, 50.0]]),
        }
    )
    row = next(patterns(iter([batch]), shape)).to_pylist()[0]
    assert [shape.values[int(c)] for c in row["pattern"]] == [1.0, 0.0, 0.5, 1.0, 0.0]


def test_positions_are_read_wherever_their_column_stands():
    from ndcg_spark.clicks.patterns_kernel import patterns

    lists = {"ranks": pa.array([[2, 1, 3]]), "clicks": pa.array([[1, 0, 0]])}
    for names in (("ranks", "clicks"), ("clicks", "ranks")):
        batch = pa.RecordBatch.from_pydict({name: lists[name] for name in names})
        events = [name for name in names if name != "ranks"]
        if names[0] == "ranks":  # keys stand before the lists: an empty set of them
            batch = batch.select(["ranks", *events])
        read = Read.of(batch, Gains())
        assert read.order.tolist() == [1, 0, 2]
    row = next(patterns(iter([pa.RecordBatch.from_pydict(lists)]), Gains())).to_pylist()[0]
    assert row["pattern"] == "010"


@pytest.mark.parametrize(
    ("seconds", "gain"),
    [(9.999, 0.0), (10.0, 0.5), (10.001, 0.5), (29.999, 0.5), (30.0, 1.0), (0.0, 0.0)],
)
def test_a_threshold_of_dwell_belongs_to_its_step(seconds, gain):
    from ndcg_spark.clicks.patterns_kernel import patterns

    shape = Gains((("clicks", 1.0),), ((10.0, 0.5), (30.0, 1.0)))
    lists = {"clicks": pa.array([[1]]), "dwell": pa.array([[seconds]])}
    row = next(patterns(iter([pa.RecordBatch.from_pydict(lists)]), shape)).to_pylist()[0]
    assert shape.values[int(row["pattern"])] == gain


@pytest.mark.parametrize(
    ("ranks", "clicks", "problem"),
    [
        ([1, 2, 4], [0, 1, 0], "bad_positions"),
        ([1, 2, 2], [0, 1, 0], "bad_positions"),
        ([0, 1, 2], [0, 1, 0], "bad_positions"),
        ([1, None, 3], [0, 1, 0], "bad_positions"),
        ([1, 2], [0, 1, 0], "bad_lengths"),
        ([1, 2, 3], [0, None, 0], "bad_values"),
        ([1, 2, 3], [0, -1, 0], "bad_values"),
        ([], [], "empty"),
        (None, None, "empty"),
    ],
)
def test_broken_impressions_are_counted_not_scored(spark, ranks, clicks, problem):
    schema = "impression_id string, event_date string, rank array<int>, clicks array<int>"
    rows = [("i", DAY, ranks, clicks), ("j", DAY, [2, 1], [1, 0])]
    found = {
        r["problem"]: (r["n"], r["pattern"]) for r in day(spark, rows, schema=schema).collect()
    }
    assert found == {problem: (1, ""), None: (1, "01")}


def days(table, shape):
    found = Impressions.of(table.sparkSession, table, shape).dates_there()
    return [row["event_date"] for row in found.collect()]


def test_days_in_another_time_zone(spark):
    rows = [("i", datetime.datetime(2026, 11, 29, 23, 30, tzinfo=datetime.UTC), [1])]
    table = spark.createDataFrame(
        rows, "impression_id string, event_ts timestamp, clicks array<int>"
    )
    for zone, expected in (
        ("UTC", DAY),
        ("Europe/Berlin", "2026-11-30"),
        ("America/New_York", DAY),
    ):
        assert days(table, Shape(timezone=zone))[0] == expected


def test_logs_without_what_is_needed_are_refused(spark):
    table = spark.createDataFrame([("i", [1])], "impression_id string, clicks array<int>")
    with pytest.raises(nd.InputError, match=r"E110.*event_ts"):
        Impressions.of(spark, table, Shape())
    dated = table.selectExpr("*", f"'{DAY}' as event_date")
    with pytest.raises(nd.InputError, match=r"E110.*country"):
        Impressions.of(spark, dated, Shape(segments=("country",)))
    with pytest.raises(nd.InputError, match=r"E110.*clicks"):
        Impressions.of(spark, dated.drop("clicks"), Shape())
    with pytest.raises(nd.UsageError, match="did you mean 'arm'"):
        Impressions.of(spark, dated, Shape({"amr": "x"}))
