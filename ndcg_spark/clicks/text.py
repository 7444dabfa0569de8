"""What the jobs on click logs print."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from ndcg_spark.clicks.bias_job import BiasFound
from ndcg_spark.clicks.clusters_kernel import ROUGH
from ndcg_spark.clicks.job import ClickDay
from ndcg_spark.clicks.splits import BROKEN
from ndcg_spark.clicks.teams_job import Interleaved
from ndcg_spark.clicks.teams_kernel import PREFERENCE
from ndcg_spark.engine.text import interval, json_text, number, print_rows, text_table


def print_clicks(found: ClickDay, how: str, out: TextIO) -> None:
    """Print a day of clicks: means with intervals by segment and arm, differences, the trend."""
    if how == "json":
        print(json_text("clicks", dataclasses.asdict(found)), file=out)
        return
    rows = [["measure", "segment", "arm", "mean", "95% interval", "coverage", "impressions"]]
    for row in (row for row in found.daily if row["unit"] == "impression"):
        shown = "-" if row["suppressed"] else interval(row["ci_low"], row["ci_high"])
        rows.append(
            [
                row["measure"],
                row["segment"],
                row["arm"],
                number(row["mean"], False),
                shown,
                number(row["coverage"], False),
                str(row["n_units"]),
            ]
        )
    print(f"{found.date}\n{text_table(rows)}", file=out)
    _print_differences(found.differences, out)
    print_rows(found.sample_ratio, SPLIT, out)
    _warn_of_split(found.sample_ratio, out)
    means = [row for row in found.daily if row["unit"] != "impression"]
    columns = ("unit", "measure", "segment", "arm", "mean", "weighted", "sqrt_weighted")
    print_rows(means, columns, out)
    trend = [row for row in found.trend if row["segment"] == "all"]
    _warn_of_few([*found.daily, *found.differences], out)
    print_rows(trend, ("measure", "arm", "days", "before", "now", "change"), out)
    print("\n" + ", ".join(f"{name} {n}" for name, n in found.counts.items()), file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


SPLIT = ("period", "arm", "share", "users", "expected_users", "users_elsewhere", "impressions",
         "p_value", "verdict")  # fmt: skip


MATCHED = ("n_matched", "ess", "ips_impression", "ips_se", "snips_impression", "snips_se")
MANY_ELSEWHERE = 0.01  # of an arm's users


def _print_differences(rows: Sequence[Mapping[str, Any]], out: TextIO) -> None:
    """The differences of the day; and of the experiment, with what it was asked for."""
    columns = ["measure", "segment", "candidate", "delta", "interval", "p_value"]
    for period in dict.fromkeys(row["period"] for row in rows):
        own = [
            {
                **row,
                "interval": interval(row["ci_low"], row["ci_high"]),
                "any_time": interval(row["cs_low"], row["cs_high"]),
            }
            for row in rows
            if row["period"] == period
        ]
        more = ["days"] * (period != "day")
        more += ["any_time", "p_anytime"] * any(row["mixture"] for row in own)
        adjusted = any(row["theta"] is not None for row in own)
        more += ["estimate", "theta", "variance_removed"] * adjusted
        print_rows(own, [*columns, *more], out)


def _warn_of_split(rows: Sequence[Mapping[str, Any]], out: TextIO) -> None:
    users, several = (
        max((row[k] for row in rows), default=0) for k in ("users", "users_elsewhere")
    )
    if several > MANY_ELSEWHERE * users:
        print(
            f"\nusers elsewhere: {several} of an arm's {users} users were in another arm too: the "
            "arms were not assigned by user, and the split of the others says little",
            file=out,
        )
    for period in dict.fromkeys(row["period"] for row in rows if row["verdict"] == BROKEN):
        print(
            f"\nsample_ratio broken ({period}): the users were not split as designed; the "
            "differences between arms cannot be trusted before that is understood",
            file=out,
        )


def print_interleaving(found: Interleaved, how: str, out: TextIO) -> None:
    """Print which team is preferred, the day and the experiment, by how much and how surely."""
    if how == "json":
        print(json_text("interleaving", dataclasses.asdict(found)), file=out)
        return
    print(found.date, file=out)
    for period in dict.fromkeys(row["period"] for row in found.interleaving):
        own = [row for row in found.interleaving if row["period"] == period]
        counts = [{**row, "team": row["candidate"]} for row in own if row["measure"] == PREFERENCE]
        columns = ("segment", "team", "n", "n_clickless", "wins", "ties", "losses", "sign_p")
        print_rows(counts, columns, out)
        _print_differences(own, out)
    _warn_of_few(found.interleaving, out)
    print("\n" + ", ".join(f"{name} {n}" for name, n in found.counts.items()), file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)


def _warn_of_few(rows: Sequence[Mapping[str, Any]], out: TextIO) -> None:
    """An error from few buckets of users is rough itself."""
    few = [row["n_buckets"] for row in rows if (row["n_buckets"] or ROUGH) < ROUGH]
    if few:
        print(
            f"\nfew users: {min(few)} buckets in use somewhere; an error is rough below {ROUGH} "
            "(its own relative error is 1 / sqrt(2 K))",
            file=out,
        )


def print_bias(found: BiasFound, how: str, out: TextIO) -> None:
    """Print propensities, estimates with diagnostics, and the sweep."""
    if how == "json":
        print(json_text("click-bias", dataclasses.asdict(found)), file=out)
        return
    ranks = found.propensities
    rows = [[str(r), f"{p:.4f}", str(found.links.get(r, "-"))] for r, p in ranks.items()]
    print(text_table([["rank", "propensity", "linking documents"], *rows]), file=out)
    if found.fit:
        print(f"converged in {found.fit['steps']:.0f} steps", file=out)
    if found.support:
        own = found.support
        print(
            f"of the candidate's top {own['depth']}, {own['share']:.1%} of the documents and "
            f"{own['share_by_weight']:.1%} of the weight were ever shown",
            file=out,
        )
    columns = ("name", "run", "ips", "se", "snips_click", "ess_share", "n_clipped", "n_unsupported")
    print_rows(found.estimates, columns, out)
    _warn_of_few(found.estimates, out)
    print_rows(found.sweep, ("name", "delta", "se"), out)
    if found.off_policy:
        print_rows([found.off_policy], MATCHED, out)
    for eta in found.sign_flips:
        print(f"the sign flips at eta {eta:.2f}", file=out)
    for table, path in found.tables.items():
        print(f"{table}: {path}", file=out)
