"""The cases from public bug reports, through the plan."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from pyspark.sql import types as T

import ndcg_spark as nd
from ndcg_spark.measures import resolve

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text())
POLICY_NAMES = {"rel_level": "rel"}
PARAMETERS = {
    "precision_denominator",
    "recall_denominator",
    "ap_denominator",
    "judged_denominator",
    "gain",
}


def test_all_cases_are_here():
    assert len(CASES) == 122


def measure_and_policies(case):
    """The case's measure with its own parameters, and the evaluation's policies."""
    options = dict(case["options"])
    name = case["measure"]
    if "max_grade" in options:
        name = name.replace("@", f"(max_rel={options.pop('max_grade')})@")
    (measure,) = nd.parse_measures(name, options.pop("dialect", "ndcg_spark"))
    options.pop("weights", None)  # of the mean, see below
    own = {key: options.pop(key) for key in list(options) if key in PARAMETERS}
    if own:
        measure = type(measure)(**{**measure.set_parameters(), **own})
    if options.pop("negative_is_unjudged", False):
        options["negative"] = "unjudged"
    policies = {POLICY_NAMES.get(key, key): value for key, value in options.items()}
    policies.setdefault("on_no_overlap", "zero")
    return measure, policies


def tables(spark, case):
    """The case's qrels and run as DataFrames; the order of the rows is the rank."""
    kind = T.LongType() if isinstance(case["run"][0][1], int) else T.StringType()
    ranks: dict[str, int] = {}
    run = []
    for query, doc, score in case["run"]:
        ranks[query] = ranks.get(query, 0) + 1
        run.append((query, doc, None if score is None else float(score), ranks[query]))
    qrels = [(q, d, None if g is None else float(g)) for q, d, g in case["qrels"]]
    ids = [T.StructField("query_id", T.StringType()), T.StructField("doc_id", kind)]
    run_type = T.StructType(
        [*ids, T.StructField("score", T.DoubleType()), T.StructField("rank", T.IntegerType())]
    )
    qrels_type = T.StructType([*ids, T.StructField("relevance", T.DoubleType())])
    return spark.createDataFrame(run, run_type), spark.createDataFrame(qrels, qrels_type)


@pytest.fixture(scope="module")
def answers(spark):
    """Every value case in one evaluation per set of options: {(case, query): value}."""
    groups: dict[str, list] = {}
    for case in CASES:
        if "error" not in case["expected"]:
            _, policies = measure_and_policies(case)
            integers = isinstance(case["run"][0][1], int)
            # exp2 and a scale's end refuse other cases' grades
            alone = (
                case["measure"] if "max_grade" in case["options"] else case["options"].get("gain")
            )
            alone = [alone, case["options"].get("max_grade")]
            key = json.dumps([policies, integers, alone], sort_keys=True)
            groups.setdefault(key, []).append(case)
    found = {}
    for key, cases in groups.items():
        policies, *_ = json.loads(key)
        whole = {
            "run": [[f"{c['id']}/{q}", d, s] for c in cases for q, d, s in c["run"]],
            "qrels": [[f"{c['id']}/{q}", d, g] for c in cases for q, d, g in c["qrels"]],
        }
        measures = {c["id"]: measure_and_policies(c)[0] for c in cases}
        run, qrels = tables(spark, whole)
        scores = nd.evaluate(run, qrels, measures.values(), **policies)
        wanted = {
            case: str(resolve([m], policies.get("rel", 1.0))[0]) for case, m in measures.items()
        }
        for row in scores.collect():
            case, query = row["query_id"].rsplit("/", 1)
            if row["measure"] == wanted[case]:
                found[case, query] = row["value"]
    return found


@pytest.mark.parametrize(
    "case", [c for c in CASES if "error" not in c["expected"]], ids=lambda c: c["id"]
)
def test_value(case, answers):
    expected = case["expected"]["per_query"]
    found = {q: v for (c, q), v in answers.items() if c == case["id"] and v is not None}
    assert found == pytest.approx(expected, abs=1e-12)
    weight = case["options"].get("weights", dict.fromkeys(found, 1))
    mean = math.fsum(found[q] * weight[q] for q in found) / math.fsum(weight.values())
    assert mean == pytest.approx(case["expected"]["mean"], abs=1e-12)


@pytest.mark.parametrize(
    "case", [c for c in CASES if "error" in c["expected"]], ids=lambda c: c["id"]
)
def test_refusal(case, spark):
    measure, policies = measure_and_policies(case)
    run, qrels = tables(spark, case)
    assert REFUSED[case["id"]] in " ".join(problems(nd.check(run, qrels, [measure], **policies)))
    with pytest.raises(Exception, match="ndcg_spark refused its input"):
        nd.evaluate(run, qrels, [measure], **policies).collect()


def problems(found):
    return [row["problem"] for row in found.collect()]


REFUSED = {
    "nan-error": "E122: 1 rows of the runs have a NaN score (run run, query q, document z)",
    "spark-nan": "E122: 1 rows of the runs have a NaN score (run run, query q, document z)",
    "null-score": "E122: 1 rows of the runs have a null score (run run, query q, document a)",
    "grade-1100": "E114: 1 judgements have a grade that is too large for exp2 gain (limit 1023 in "
    "double precision); use linear gain or a gain map (query q, document a, grade 1100)",
    "null-doc": "E120: 1 rows of the judgements have a null document id (query q2)",
    "dup-doc": "E132: 1 documents are duplicated in the run (run run, query q, document a)",
}
