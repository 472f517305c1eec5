"""What a finding says becomes of a value is what serving does with it."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.diagnosis.findings import about_values
from adapter.documents.metric_values import custom_values, external_values
from adapter.model import (
    EVERY_OBJECT,
    PODS,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    ExternalValue,
    MetricQuery,
    ObjectValue,
    Plan,
    Reaction,
    ResultKind,
    Rows,
    Sample,
    SignalContract,
)
from tests.fakes.adapter import vector
from wire.api.labels import EVERYTHING
from wire.api.status import StatusError

NOW = 1_000.0
LAST_MILLI = 7_777
GOOD = Sample({"pod": "b"}, 2.0, NOW)
DEPTH = ExternalMetricRequest(namespace="shop", metric="depth", selector=EVERYTHING)
ROWS = {
    "empty": None,
    "NaN": Sample({"pod": "a"}, math.nan, NOW),
    "infinite": Sample({"pod": "a"}, math.inf, NOW),
    "too large": Sample({"pod": "a"}, 1e17, NOW),
    "histogram": Sample({"pod": "a"}, math.nan, NOW, is_histogram=True),
    "stale": Sample({"pod": "a"}, 1.0, NOW - 100.0),
    "partial": Sample({"pod": "a"}, 1.0, NOW),
}
REASONS = {"empty": "NoRows", "stale": "StaleSample", "partial": "PartialAnswer"}
VALUE_REACTIONS = [Reaction.FAIL, Reaction.ZERO, Reaction.LAST, Reaction.OMIT]
CONTRACTS = st.builds(
    SignalContract,
    on_empty=st.sampled_from(VALUE_REACTIONS),
    on_nan=st.sampled_from(VALUE_REACTIONS),
    on_stale=st.sampled_from(VALUE_REACTIONS),
    on_partial=st.sampled_from([Reaction.FAIL, Reaction.LAST, Reaction.ACCEPT]),
    stale_after_seconds=st.just(60.0),
    last_for_seconds=st.just(300.0),
)


def request_of(kind):
    if kind == "external":
        return DEPTH
    return CustomMetricRequest(
        resource=PODS,
        name=EVERY_OBJECT if kind == "list" else "a",
        metric="load",
        namespace="shop",
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
    )


def query_of(contract):
    return MetricQuery(
        plan=Plan("q"), rows=Rows(object_label="pod"), contract=contract, rule="rules[0]"
    )


def served(evaluation, query, request, names, *, has_last):
    """The values, and the code of the response."""
    at = NOW - 10.0
    try:
        if isinstance(request, ExternalMetricRequest):
            last = (ExternalValue(labels={}, value_milli=LAST_MILLI, timestamp_seconds=at),)
            return external_values(
                evaluation, query, request, now_seconds=NOW, last=last if has_last else ()
            ), 200
        last = {"a": ObjectValue(name="a", value_milli=LAST_MILLI, timestamp_seconds=at)}
        return custom_values(
            evaluation, query, request, names, now_seconds=NOW, last=last if has_last else {}
        ).values, 200
    except StatusError as refused:
        return None, refused.code


def became(values, code, kind):
    """What the response has for `a`, in the words of a finding."""
    if values is None:
        return f"is an error ({code})"
    of_a = {
        each.value_milli
        for each in values
        if kind == "external" or (isinstance(each, ObjectValue) and each.name == "a")
    }
    if LAST_MILLI in of_a:
        return "is replaced by the last good value"
    if 0 in of_a:
        return "counts as 0"
    return "is accepted" if 1_000 in of_a else "is left out of the response"


@given(
    contract=CONTRACTS,
    wrong=st.sampled_from(sorted(ROWS)),
    kind=st.sampled_from(["list", "object", "external"]),
    has_other=st.booleans(),
    has_last=st.booleans(),
)
def test_a_finding_says_what_is_served(contract, wrong, kind, has_other, has_last):
    row = ROWS[wrong]
    has_other = has_other and not (kind == "external" and wrong == "empty")
    samples = (*([row] if row else []), *([GOOD] if has_other else []))
    evaluation = Evaluation(samples=samples, evaluated_at_seconds=NOW, partial=wrong == "partial")
    request = request_of(kind)
    names = {"list": ("a", "b") if has_other else ("a",), "object": ("a",), "external": ()}[kind]
    query = query_of(contract)
    values, code = served(evaluation, query, request, names, has_last=has_last)
    found = about_values(query, evaluation, request, names, values, now_seconds=NOW)
    of_a = [
        each
        for each in found
        if each.reason == REASONS.get(wrong, "NotANumber") and " for b" not in each.message
    ]
    assert became(values, code, kind) in of_a[0].message, (found, values, code)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_of_several_rows_for_one_object_the_served_one_counts(value):
    contract = SignalContract(
        on_empty=Reaction.OMIT, on_nan=Reaction.FAIL, on_partial=Reaction.ACCEPT
    )
    rows = vector(({"pod": "a"}, value), ({"pod": "a"}, 1.0))
    request = request_of("list")
    values, _ = served(rows, query_of(contract), request, ("a",), has_last=False)
    assert about_values(query_of(contract), rows, request, ("a",), values, now_seconds=NOW) == []


def test_objects_with_different_outcomes_have_a_finding_each_and_errors_are_first():
    contract = SignalContract(
        on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
    )
    rows = vector(({"pod": "a"}, math.nan), ({"pod": "b"}, math.inf))
    request = request_of("list")
    values, _ = served(rows, query_of(contract), request, ("a", "b"), has_last=False)
    zero, left_out = about_values(
        query_of(contract), rows, request, ("a", "b"), values, now_seconds=NOW
    )
    assert "NaN for a; by signal.onNaN, this counts as 0" in zero.message
    assert "+Inf for b; by signal.onNaN, this is left out" in left_out.message


@pytest.mark.parametrize(
    ("kind", "result", "reasons"),
    [
        pytest.param("list", ResultKind.SCALAR, ["NotAVector"], id="custom"),
        pytest.param("external", ResultKind.SCALAR, [], id="external"),
        pytest.param("external", ResultKind.STRING, ["NotAVector"], id="text"),
    ],
)
def test_a_scalar_is_refused_where_serving_refuses_it(kind, result, reasons):
    contract = SignalContract(
        on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL
    )
    evaluation = msgspec.structs.replace(vector(({}, 1.0)), kind=result)
    request = request_of(kind)
    names = () if kind == "external" else ("a",)
    values, code = served(evaluation, query_of(contract), request, names, has_last=False)
    found = about_values(query_of(contract), evaluation, request, names, values, now_seconds=NOW)
    assert [each.reason for each in found] == reasons
    assert (code == 200) is (not reasons)
