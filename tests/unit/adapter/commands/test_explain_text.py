"""An explanation for people: numbers and times are short, and an autoscaler's metric shows only its own resource."""

import pytest

from adapter.commands.explain_text import text_of
from adapter.diagnosis.explanation import (
    EvaluatedQuery,
    Explanation,
    ParsedRequest,
    Row,
    ServedValue,
)


def explained_row(value: str) -> str:
    row = Row(labels={"pod": "p"}, value=value, timestamp_seconds=1_000_000_000.987)
    query = EvaluatedQuery(
        backend="default", query="load", result="vector", rows_counted=1, rows=(row,)
    )
    text = text_of("", Explanation(path="/apis/x", code=200, queries=(query,)))
    [line] = [each for each in text.splitlines() if each.startswith("         {")]
    return line.strip()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.15001461881727518", "0.15001462"),
        ("-29.85694335291053", "-29.856943"),
        ("123456.789", "123456.79"),
        ("1234567.891", "1234567.9"),
        ("1234567891.5", "1234567892"),
        ("1.5e-07", "1.5e-07"),
        ("1.23456789e-07", "1.2345679e-07"),
        ("157286400", "157286400"),
        ("1e+22", "1e+22"),
        ("NaN", "NaN"),
        ("+Inf", "+Inf"),
    ],
)
def test_a_row_has_at_most_8_significant_digits_and_whole_seconds(value, shown):
    assert explained_row(value) == f'{{pod="p"}} {shown} at 2001-09-09T01:46:40Z'


def usage() -> Explanation:
    queries = [EvaluatedQuery(backend="default", query=each) for each in ("sum(a)", "sum(b)")]
    value = ServedValue(of="web-1", value="cpu=150m, memory=64", timestamp_seconds=1.0)
    return Explanation(
        path="/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
        code=200,
        queries=tuple(queries),
        value_count=1,
        values=(value,),
    )


@pytest.mark.parametrize(
    ("resource", "queries", "value"),
    [
        pytest.param("cpu", ["sum(a)"], "web-1 = 150m", id="cpu"),
        pytest.param("memory", ["sum(b)"], "web-1 = 64", id="memory"),
        pytest.param("", ["sum(a)", "sum(b)"], "web-1 = cpu=150m, memory=64", id="not known"),
        pytest.param("x", ["sum(a)", "sum(b)"], "web-1 = cpu=150m, memory=64", id="neither"),
    ],
)
def test_of_usage_only_the_resource_that_the_autoscaler_reads_is_shown(resource, queries, value):
    lines = text_of("", usage(), resource).splitlines()
    assert [each for each in lines if each.startswith("query")] == [f"query    {each}" for each in queries]  # fmt: skip
    assert lines[-1].strip() == value


def failed(metric: str, *similar: str) -> list[str]:
    request = ParsedRequest(api="external.metrics.k8s.io", metric=metric)
    explanation = Explanation(
        path="/apis/x", code=404, ended_at="rule", message="none", request=request, similar=similar
    )
    return text_of("", explanation).splitlines()[2:]


FAILED = "failed   at the step `rule`, with 404: none"


@pytest.mark.parametrize(
    ("similar", "lines"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["depth"], ["         Did you mean depth?"], id="one"),
        pytest.param(["pods/depth", "namespaces/depth"], ["         Did you mean depth?"], id="one of several resources"),
        pytest.param(["depth", "depths"], ["similar metrics: depth, depths"], id="several"),
        pytest.param(["pods/dpeth"], ["similar metrics: pods/dpeth"], id="the same of another resource"),
    ],
)  # fmt: skip
def test_the_only_similar_name_is_part_of_the_failure(similar, lines):
    assert failed("dpeth", *similar) == [FAILED, *lines]
