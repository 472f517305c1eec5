"""Samples to values: prometheus-adapter's arithmetic, and the signal contract where a value is not usable."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.config.signal_block import DISCOVERED_CUSTOM, DISCOVERED_EXTERNAL, NAMED
from adapter.documents.metric_values import custom_values, external_values
from adapter.documents.signal_contract import milli
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


def metric_query(contract: SignalContract = DISCOVERED_CUSTOM, *, where=()) -> MetricQuery:
    return MetricQuery(
        plan=Plan("q"),
        rows=Rows(object_label="pod", where=where),
        contract=contract,
        rule="rules[0]",
    )


def every_pod(name: str = EVERY_OBJECT) -> CustomMetricRequest:
    return CustomMetricRequest(
        resource=PODS,
        name=name,
        metric="load",
        namespace="shop",
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
    )


def values_of(evaluation, requested, *names, last=None, name=EVERY_OBJECT):
    found = custom_values(evaluation, requested, every_pod(name), names, now_seconds=NOW, last=last)
    return [(value.name, value.value_milli) for value in found.values]


def left_out_of(evaluation, requested, *names):
    found = custom_values(evaluation, requested, every_pod(), names, now_seconds=NOW)
    return found.left_out


DEPTH = ExternalMetricRequest(namespace="shop", metric="depth", selector=EVERYTHING)


def depths_of(evaluation, contract=DISCOVERED_EXTERNAL, last=(), where=()):
    found = external_values(
        evaluation, metric_query(contract, where=where), DEPTH, now_seconds=NOW, last=last
    )
    return [(value.labels, value.value_milli) for value in found]


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "thousandths"),
    [
        pytest.param(1.2345, 1234, id="cut off, not rounded"),
        pytest.param(-1.2345, -1234, id="cut off toward zero"),
        pytest.param(0.0009, 0, id="less than a thousandth"),
        pytest.param(9.2e15, 9_200_000_000_000_000_000, id="nearly the greatest"),
        pytest.param(9.3e15, None, id="more than an int64 of thousandths"),
        pytest.param(math.inf, None, id="infinity"),
        pytest.param(math.nan, None, id="NaN"),
    ],
)
def test_a_value_becomes_thousandths_or_nothing(value, thousandths):
    assert milli(value) == thousandths


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_thousandths_are_never_further_than_one_from_the_value(value):
    found = milli(value)
    assert found is None or abs(found) <= abs(value * 1000)


# --- custom -----------------------------------------------------------------------------------------------------------


def test_values_are_in_the_order_of_the_objects_and_other_rows_are_left_out():
    rows = vector(({"pod": "b"}, 1), ({"pod": "other"}, 2), ({"pod": "a"}, 3))
    assert values_of(rows, metric_query(), "a", "b", "c") == [("a", 3000), ("b", 1000)]


def test_of_several_rows_for_one_object_the_last_wins():
    assert values_of(vector(({"pod": "a"}, 1), ({"pod": "a"}, 2)), metric_query(), "a") == [
        ("a", 2000)
    ]


def test_rows_of_another_namespace_are_not_used():
    rows = vector(({"pod": "a", "namespace": "shop"}, 1), ({"pod": "a", "namespace": "other"}, 9))
    assert values_of(rows, metric_query(where=(("namespace", "shop"),)), "a") == [("a", 1000)]


def test_an_empty_result_is_an_empty_list_for_discovery_rules():
    assert values_of(vector(), metric_query(), "a") == []


def test_a_named_object_without_a_row_is_not_found():
    beginning = "the server could not find the metric load for pods a: "
    with pytest.raises(StatusError, match=f"{beginning}the query has no row") as refused:
        values_of(vector(({"pod": "b"}, 1)), metric_query(), "a", name="a")
    assert refused.value.code == 404
    assert refused.value.in_full.message.startswith(f"{beginning}'q' has no row")
    assert refused.value.in_full.code == 404


def test_an_empty_answer_fails_for_our_rules_but_one_missing_object_does_not():
    with pytest.raises(StatusError):
        values_of(vector(), metric_query(NAMED), "a", "b")
    assert values_of(vector(({"pod": "a"}, 1)), metric_query(NAMED), "a", "b") == [("a", 1000)]


def test_nan_is_zero_for_discovery_rules_and_an_error_for_named_ones():
    rows = vector(({"pod": "a"}, math.nan))
    assert values_of(rows, metric_query(), "a") == [("a", 0)]
    beginning = "the value is nan for 'a' in the answer to "
    with pytest.raises(StatusError, match=f"{beginning}the query") as refused:
        values_of(rows, metric_query(NAMED), "a")
    assert refused.value.in_full.message.endswith(f"{beginning}'q'")


@pytest.mark.deviation("values-beyond-int64")
@pytest.mark.parametrize("contract", [DISCOVERED_CUSTOM, NAMED], ids=["discovered", "named"])
def test_infinity_is_never_a_number(contract):
    with pytest.raises(StatusError, match="the value is inf"):
        values_of(vector(({"pod": "a"}, math.inf)), metric_query(contract), "a")


@pytest.mark.parametrize("kind", [ResultKind.SCALAR, ResultKind.MATRIX, ResultKind.STRING])
def test_a_custom_metric_must_be_a_vector(kind):
    evaluation = msgspec.structs.replace(vector(), kind=kind)
    with pytest.raises(
        StatusError, match=f"must yield an instant vector, but yields a {kind.value}"
    ):
        values_of(evaluation, metric_query(), "a")


# --- the contract -----------------------------------------------------------------------------------------------------


def contract(**changes) -> SignalContract:
    return msgspec.structs.replace(NAMED, **changes)


LAST_GOOD = {
    "a": ObjectValue(name="a", value_milli=7, timestamp_seconds=0, sampled_seconds=NOW - 60)
}


def test_zero_gives_every_missing_object_a_zero():
    zero = metric_query(contract(on_empty=Reaction.ZERO))
    assert values_of(vector(({"pod": "a"}, 1)), zero, "a", "b") == [("a", 1000), ("b", 0)]


def test_the_last_good_value_is_used_while_it_is_recent():
    young = metric_query(contract(on_nan=Reaction.LAST, last_for_seconds=60))
    assert values_of(vector(({"pod": "a"}, math.nan)), young, "a", last=LAST_GOOD) == [("a", 7)]


@pytest.mark.deviation("native-histograms")
def test_a_native_histogram_is_never_a_zero_and_spares_the_other_objects():
    histogram = Sample({"pod": "a"}, math.nan, NOW, is_histogram=True)
    rows = Evaluation(samples=(histogram, Sample({"pod": "b"}, 2.0, NOW)), evaluated_at_seconds=NOW)
    assert values_of(rows, metric_query(), "a", "b") == [("b", 2000)]
    for names, name in ((("a",), "a"), (("a",), EVERY_OBJECT)):
        with pytest.raises(StatusError, match="histogram_quantile") as refused:
            values_of(rows, metric_query(), *names, name=name)
        assert refused.value.code == 500
    omit = metric_query(contract(on_nan=Reaction.OMIT))
    assert values_of(rows, omit, "a", "b") == [("b", 2000)]
    with pytest.raises(StatusError, match="histogram_quantile"):
        values_of(rows, metric_query(contract()), "a", "b")


@pytest.mark.deviation("values-beyond-int64")
def test_an_infinite_value_spares_the_other_objects_and_is_named():
    rows = vector(({"pod": "a"}, math.inf), ({"pod": "b"}, 2.0))
    assert values_of(rows, metric_query(), "a", "b", "c") == [("b", 2000)]
    assert left_out_of(rows, metric_query(), "a", "b", "c") == (("a", "the value is inf"),)
    with pytest.raises(StatusError, match="the value is inf for 'a'"):
        values_of(rows, metric_query(), "a")
    with pytest.raises(StatusError, match="the value is inf for 'a'"):
        values_of(rows, metric_query(), "a", name="a")
    with pytest.raises(StatusError, match="the value is inf for 'a'"):
        values_of(rows, metric_query(contract(on_nan=Reaction.FAIL)), "a", "b")


def test_an_object_without_a_last_good_value_is_left_out_and_the_others_keep_theirs():
    kept = metric_query(contract(on_empty=Reaction.LAST, last_for_seconds=60))
    found = values_of(vector(({"pod": "b"}, 2.0)), kept, "a", "b", "new", last=LAST_GOOD)
    assert found == [("a", 7), ("b", 2000)]


@pytest.mark.parametrize("reaction", ["on_nan", "on_stale"])
def test_an_unusable_value_without_a_last_good_one_leaves_only_its_object_out(reaction):
    kept = metric_query(
        contract(**{reaction: Reaction.LAST}, last_for_seconds=60, stale_after_seconds=30)
    )
    old = Sample({"pod": "new"}, math.nan if reaction == "on_nan" else 1.0, NOW - 31)
    rows = Evaluation(samples=(old, Sample({"pod": "b"}, 2.0, NOW)), evaluated_at_seconds=NOW)
    assert values_of(rows, kept, "b", "new") == [("b", 2000)]


def test_a_list_without_any_last_good_value_is_an_error_and_not_empty():
    kept = metric_query(contract(on_empty=Reaction.LAST, last_for_seconds=60))
    with pytest.raises(StatusError) as refused:
        values_of(vector(), kept, "new", "newer")
    assert refused.value.code == 500
    assert "no row for 'new'" in refused.value.message


def test_the_last_good_value_is_not_used_when_it_is_old():
    old = metric_query(contract(on_nan=Reaction.LAST, last_for_seconds=59))
    with pytest.raises(StatusError):
        values_of(vector(({"pod": "a"}, math.nan)), old, "a", last=LAST_GOOD)


def test_a_stale_sample_is_not_taken():
    stale = metric_query(contract(stale_after_seconds=30))
    assert values_of(vector(({"pod": "a"}, 1), at_seconds=NOW - 30), stale, "a") == [("a", 1000)]
    with pytest.raises(StatusError, match="the newest sample is 31s old"):
        values_of(vector(({"pod": "a"}, 1), at_seconds=NOW - 31), stale, "a")


def test_a_partial_result_fails_for_named_rules_and_is_accepted_for_discovery_rules():
    partial = msgspec.structs.replace(vector(({"pod": "a"}, 1)), partial=True)
    assert values_of(partial, metric_query(), "a") == [("a", 1000)]
    with pytest.raises(StatusError, match="some stores did not answer"):
        values_of(partial, metric_query(NAMED), "a")


# --- external ---------------------------------------------------------------------------------------------------------


def test_every_row_is_an_item_with_its_labels():
    rows = vector(({"queue": "a", "__name__": "depth"}, 3), ({}, 0.5))
    assert depths_of(rows) == [({"queue": "a", "__name__": "depth"}, 3000), ({}, 500)]


def test_a_scalar_is_an_item_without_labels():
    scalar = msgspec.structs.replace(vector(({}, 42.5)), kind=ResultKind.SCALAR)
    assert depths_of(scalar) == [(None, 42_500)]


@pytest.mark.deviation("values-beyond-int64")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e19])
def test_a_row_that_is_not_a_number_fails_the_whole_sum_and_is_never_the_smallest_integer(value):
    with pytest.raises(StatusError) as refused:
        depths_of(vector(({"queue": "a"}, 1), ({"queue": "b"}, value)))
    assert refused.value.code == 500


def test_a_row_may_be_omitted_when_the_contract_says_so():
    rows = vector(({"queue": "a"}, 1), ({"queue": "b"}, math.nan))
    assert depths_of(rows, contract(on_nan=Reaction.OMIT)) == [({"queue": "a"}, 1000)]


def test_all_last_good_rows_are_used_when_one_row_is_not_a_number():
    last = (
        ExternalValue(
            labels={"queue": "a"}, value_milli=5, timestamp_seconds=0, sampled_seconds=NOW - 1
        ),
    )
    rows = vector(({"queue": "a"}, math.nan), ({"queue": "b"}, 1))
    assert depths_of(rows, contract(on_nan=Reaction.LAST, last_for_seconds=10), last) == [
        ({"queue": "a"}, 5)
    ]


def test_no_row_is_an_empty_list_for_discovery_rules_an_error_for_named_ones_and_zero_when_chosen():
    assert depths_of(vector()) == []
    beginning = "could not find the metric depth for : "
    with pytest.raises(StatusError, match=f"{beginning}the query yields no row") as refused:
        depths_of(vector(), NAMED)
    assert f"{beginning}'q' yields no row" in refused.value.in_full.message
    assert depths_of(vector(), contract(on_empty=Reaction.ZERO)) == [(None, 0)]


def test_only_rows_of_the_requested_namespace_are_used_when_rows_have_one():
    rows = vector(({"namespace": "shop"}, 1), ({"namespace": "other"}, 2))
    assert depths_of(rows, where=(("namespace", "shop"),)) == [({"namespace": "shop"}, 1000)]
