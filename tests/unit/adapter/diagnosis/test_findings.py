"""What a finding says becomes of a value is what serving does with it."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.diagnosis.findings import about_values
from adapter.documents.metric_values import custom_values, external_values
from adapter.documents.signal_contract import Outcome
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
    """The values, the code of the response, and its findings."""
    at = NOW - 10.0
    judged = []
    values, code = None, 200
    try:
        if isinstance(request, ExternalMetricRequest):
            last = (
                ExternalValue(
                    labels={}, value_milli=LAST_MILLI, timestamp_seconds=at, sampled_seconds=at
                ),
            )
            values = external_values(
                evaluation,
                query,
                request,
                now_seconds=NOW,
                last=last if has_last else (),
                judged=judged.extend,
            )
        else:
            last = {
                "a": ObjectValue(
                    name="a", value_milli=LAST_MILLI, timestamp_seconds=at, sampled_seconds=at
                )
            }
            values = custom_values(
                evaluation,
                query,
                request,
                names,
                now_seconds=NOW,
                last=last if has_last else {},
                judged=judged.extend,
            ).values
    except StatusError as refused:
        code = refused.code
    found = about_values(
        query, evaluation, request, judged, is_refused=values is None, now_seconds=NOW
    )
    return values, code, found


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
    values, code, found = served(evaluation, query, request, names, has_last=has_last)
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
    assert served(rows, query_of(contract), request, ("a",), has_last=False)[2] == []


def test_objects_with_different_outcomes_have_a_finding_each_and_errors_are_first():
    contract = SignalContract(
        on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
    )
    rows = vector(({"pod": "a"}, math.nan), ({"pod": "b"}, math.inf))
    request = request_of("list")
    *_, (zero, left_out) = served(rows, query_of(contract), request, ("a", "b"), has_last=False)
    assert "NaN for a; because of signal.onNaN, this counts as 0" in zero.message
    assert "+Inf for b; because of signal.onNaN, this is left out" in left_out.message


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
    _, code, found = served(evaluation, query_of(contract), request, names, has_last=False)
    assert [each.reason for each in found] == reasons
    assert (code == 200) is (not reasons)


WRONG = st.sampled_from(["NaN", "infinite", "histogram", "stale"])


@given(contract=CONTRACTS, first=WRONG, second=WRONG, has_last=st.booleans())
def test_the_response_to_several_wrong_rows_does_not_depend_on_their_order(
    contract, first, second, has_last
):
    outcomes = []
    for several in ((first, second), (second, first)):
        evaluation = Evaluation(
            samples=tuple(ROWS[each] for each in several), evaluated_at_seconds=NOW
        )
        values, code, found = served(evaluation, query_of(contract), DEPTH, (), has_last=has_last)
        assert any("is an error" in each.message for each in found) is (code != 200)
        replaced = any("replaced by the last good value" in each.message for each in found)
        if code == 200:
            assert (LAST_MILLI in {each.value_milli for each in values}) is replaced
        outcomes.append((code, sorted(each.value_milli for each in values or ())))
    assert outcomes[0] == outcomes[1]


@given(
    contract=CONTRACTS,
    wrongs=st.lists(st.sampled_from([*sorted(set(ROWS) - {"partial"})]), min_size=2, max_size=4),
    last_of=st.sets(st.integers(0, 3)),
)
def test_of_a_list_with_several_wrong_values_each_has_the_outcome_of_its_finding(
    contract, wrongs, last_of
):
    """Also if the response is an error because of one of them: of the others, it is what they would have had."""
    names = tuple("abcd"[: len(wrongs)])
    rows = [
        msgspec.structs.replace(ROWS[each], labels={"pod": name})
        for name, each in zip(names, wrongs, strict=True)
        if ROWS[each] is not None
    ]
    last = {
        names[each]: ObjectValue(
            name=names[each],
            value_milli=LAST_MILLI,
            timestamp_seconds=NOW - 10.0,
            sampled_seconds=NOW - 10.0,
        )
        for each in last_of
        if each < len(names)
    }
    judged = []
    query, evaluation = query_of(contract), Evaluation(samples=rows, evaluated_at_seconds=NOW)
    values, code = {}, 200
    try:
        found = custom_values(
            evaluation,
            query,
            request_of("list"),
            names,
            now_seconds=NOW,
            last=last,
            judged=judged.extend,
        )
        values = {each.name: each.value_milli for each in found.values}
    except StatusError as refused:
        code = refused.code
    errors = {Outcome.NOT_FOUND: 404, Outcome.FAILED: 500}
    assert code in {errors.get(each.outcome) for each in judged} | {200}
    assert (code == 200) is all(each.outcome not in errors for each in judged)
    assert sorted(each.name for each in judged) == sorted(names)
    for each in judged:
        if each.name in values:
            assert each.outcome in (Outcome.LAST, Outcome.ZERO)
            assert (each.outcome is Outcome.LAST) is (values[each.name] == LAST_MILLI)
        elif values:
            assert each.outcome is Outcome.LEFT_OUT
        elif each.outcome is Outcome.LAST:
            assert each.name in last


def test_the_fix_of_an_infinity_does_not_promise_a_zero():
    contract = SignalContract(
        on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
    )
    *_, [finding] = served(
        vector(({"pod": "a"}, math.inf)),
        query_of(contract),
        request_of("object"),
        ("a",),
        has_last=False,
    )
    assert "`zero` does not apply, because a 0 would scale down" in finding.fix
