"""Everything that both sides show must be equal, except for names that necessarily differ."""

import pytest

from testbed.differential.scaler.observed_state import (
    ObservedEvent,
    ObservedState,
    aggregated,
    differences,
    flattened,
    neutral,
)

STATUS = {
    "currentReplicas": 3,
    "desiredReplicas": 5,
    "lastScaleTime": "2026-01-01T00:00:00Z",
    "conditions": [
        {"type": "AbleToScale", "status": "True", "reason": "SucceededRescale", "message": "to 5"}
    ],
}
EVENT = ObservedEvent("Normal", "SuccessfulRescale", "New size: 5; reason: ", 1)


def observed(**changes):
    fields = {"replicas": 5, "scale_writes": (5,), "status": STATUS, "events": (EVENT,), **changes}
    return {"web": ObservedState(**fields)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Service on loadline-1 front", "Service on NAMESPACE front", id="the namespace"
        ),
        pytest.param(
            'on loadautoscalers.loadline.io "web"', 'on AUTOSCALERS "web"', id="LoadAutoscalers"
        ),
        pytest.param(
            'on horizontalpodautoscalers.autoscaling "web"', 'on AUTOSCALERS "web"', id="HPAs"
        ),
        pytest.param(
            "are controlled by multiple HPAs: [loadline-1/b loadline-1/a]",
            "are controlled by multiple HPAs: [NAMESPACE/a NAMESPACE/b]",
            id="controllers in any order",
        ),
        pytest.param(
            "are controlled by more than one HPA (e.g. [loadline-1/b loadline-1/a])",
            "are controlled by more than one HPA (e.g. [NAMESPACE/a NAMESPACE/b])",
            id="a pair of controllers in any order",
        ),
    ],
)
def test_names_that_necessarily_differ_are_replaced(text, expected):
    assert neutral(text, "loadline-1") == expected


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        pytest.param({"replicas": 4}, "web: replicas", id="replicas"),
        pytest.param({"scale_writes": (5, 5)}, "web: writes of the scale", id="one more write"),
        pytest.param(
            {"status": {**STATUS, "desiredReplicas": 4}}, "web: desiredReplicas", id="the status"
        ),
        pytest.param(
            {"status": {**STATUS, "lastScaleTime": None}},
            "web: has lastScaleTime",
            id="a missing time",
        ),
        pytest.param(
            {"status": {**STATUS, "observedGeneration": 0}},
            "web: observedGeneration",
            id="a generation of 0 in place of none",
        ),
        pytest.param(
            {"status": {**STATUS, "currentMetrics": [{"type": ""}]}},
            "web: currentMetrics",
            id="a metric",
        ),
        pytest.param(
            {"status": {**STATUS, "conditions": [{**STATUS["conditions"][0], "message": "to 4"}]}},
            "web: condition AbleToScale",
            id="the message of a condition",
        ),
        pytest.param(
            {"events": (ObservedEvent("Normal", "SuccessfulRescale", EVENT.message, 2),)},
            "web: events",
            id="the count of an event",
        ),
    ],
)
def test_every_difference_is_reported_by_name(changes, what):
    upstream, loadline = flattened(observed(), {"q"}), flattened(observed(**changes), {"q"})
    assert [each.what for each in differences("s", "1.1", upstream, loadline)] == [what]


def test_different_metric_requests_are_a_difference():
    found = differences("s", "1.1", flattened(observed(), {"q"}), flattened(observed(), {"q", "r"}))
    assert [each.what for each in found] == ["requests to the metrics APIs"]
    assert "upstream: ['q']" in str(found[0])


def test_null_and_empty_metrics_are_equal():
    upstream = flattened(observed(status={**STATUS, "currentMetrics": None}), None)
    loadline = flattened(observed(status={**STATUS, "currentMetrics": []}), None)
    assert upstream == loadline


def test_equal_events_are_merged_in_the_order_of_the_first():
    other = ObservedEvent("Warning", "SelectorRequired", "selector is required", 3)
    assert aggregated([EVENT, other, EVENT]) == (
        ObservedEvent("Normal", EVENT.reason, EVENT.message, 2),
        other,
    )
