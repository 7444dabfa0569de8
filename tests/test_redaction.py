"""No password, token or signature leaves, whatever text it stands in."""

from __future__ import annotations

import json
import string
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcg_spark.errors import InputError, InputWarning, UsageError
from ndcg_spark.redaction import redacted
from ndcg_spark.tables.paths import filesystem
from ndcg_spark.tables.write import Output

# what a password may be made of inside a URL, / and @ among it
SIGNS = string.ascii_letters + string.digits + "/@:+=%._~!$*-"
secrets = st.text(SIGNS, min_size=1, max_size=30).map(lambda text: f"hun{text}ter")
values = st.text(string.ascii_letters + string.digits + "/+=%._~-", min_size=1, max_size=30).map(
    lambda text: f"hun{text}ter"
)
around = st.sampled_from(
    ["", "cannot read ", "error: [", "at line 3\n\t", "'", 'path="', "(\u2192 "]
)
names = st.sampled_from(
    ["password", "PASSWORD", "sig", "Signature", "X-Amz-Signature", "X-Amz-Security-Token", "token",
     "fs.s3a.secret.key", "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net", "api_key",
     "AWS_SECRET_ACCESS_KEY", "sas", "client_secret", "javax.jdo.option.ConnectionPassword"]
)  # fmt: skip


@given(secrets, around, st.sampled_from(["s3a", "jdbc:postgresql", "https", "hdfs", "sc"]))
def test_passwords_in_urls(secret, before, scheme):
    said = redacted(f"{before}{scheme}://user:{secret}@host/runs/x.parquet")
    assert secret not in said
    assert "host/runs/x.parquet" in said


@given(values, names, around, st.sampled_from(["=", ": ", " = ", '="', "='"]),
       st.sampled_from(["", "https://host/a?x=1&", "sc://host:15002/;", "{"]))  # fmt: skip
def test_values_that_are_named(secret, name, before, equals, start):
    assert secret not in redacted(f"{before}{start}{name}{equals}{secret}")


@given(values)
def test_headers_and_mappings(secret):
    assert secret not in redacted(f"Authorization: Bearer {secret}xyz")
    assert secret not in redacted(json.dumps({"password": secret, "a": 1}))
    assert secret not in redacted(repr({"client_secret": secret, "a": 1}))


@pytest.mark.parametrize(
    "text",
    ["/data/a@b/runs", "s3://bucket/a@b/runs", "nDCG(gain='exp2')@10", "significance=0.05",
     "design = a; signal: 3", "author=x", "tokens of 3 queries", "doc_id 'http://a.b/c?q=1&x=2'",
     "write KEY=VALUE", "basic idea", "the key of the partition: date=2026-11-29"],
)  # fmt: skip
def test_other_texts_stay(text):
    assert redacted(text) == text


def test_the_places_where_texts_leave(tmp_path):
    place = "s4://key:hun/t@er2@bucket/runs?sig=hunter2"
    for call in (lambda: filesystem(place), lambda: Output(f"{place}*"), lambda: Output(place)):
        with pytest.raises(InputError) as problem:
            call()
        for text in (str(problem.value), repr(problem.value), problem.value.message):
            assert "er2" not in text
    assert "hunter2" not in str(UsageError("bad --conf 'password=hunter2'"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"the source {place!r} has no rows", InputWarning, stacklevel=1)
    assert "er2" not in str(caught[0].message)
    output = Output(str(tmp_path))
    with output.writing():
        output.write_json(
            "manifest", "_manifest.json", {"inputs": {"runs": [place]}, "n": [1, (2,)]}
        )
        output.publish(["manifest"])
    stored = output.read_json("manifest", "_manifest.json")
    assert stored == {"inputs": {"runs": ["s4://***@bucket/runs?sig=***"]}, "n": [1, [2]]}
