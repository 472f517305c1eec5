"""What both sides must agree on: everything they show but the names that cannot be the same."""

import pytest

from testbed.differential.scaler.seen import (
    Seen,
    SeenEvent,
    added_up,
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
EVENT = SeenEvent("Normal", "SuccessfulRescale", "New size: 5; reason: ", 1)


def seen(**changes):
    fields = {"replicas": 5, "scale_writes": (5,), "status": STATUS, "events": (EVENT,), **changes}
    return {"web": Seen(**fields)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Service on ours-1 front", "Service on NAMESPACE front", id="the namespace"),
        pytest.param('on loadautoscalers.loadline.io "web"', 'on AUTOSCALERS "web"', id="our kind"),
        pytest.param(
            'on horizontalpodautoscalers.autoscaling "web"', 'on AUTOSCALERS "web"', id="their kind"
        ),
        pytest.param(
            "are controlled by multiple HPAs: [ours-1/b ours-1/a]",
            "are controlled by multiple HPAs: [NAMESPACE/a NAMESPACE/b]",
            id="controllers in any order",
        ),
    ],
)
def test_what_cannot_be_the_same_gets_one_name(text, expected):
    assert neutral(text, "ours-1") == expected


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        pytest.param({"replicas": 4}, "web: replicas", id="replicas"),
        pytest.param({"scale_writes": (5, 5)}, "web: writes of the scale", id="one write more"),
        pytest.param(
            {"status": {**STATUS, "desiredReplicas": 4}}, "web: desiredReplicas", id="the status"
        ),
        pytest.param(
            {"status": {**STATUS, "lastScaleTime": None}},
            "web: has lastScaleTime",
            id="a missing time",
        ),
        pytest.param(
            {"status": {**STATUS, "currentMetrics": [{"type": ""}]}},
            "web: currentMetrics",
            id="a metric",
        ),
        pytest.param(
            {"status": {**STATUS, "conditions": [{**STATUS["conditions"][0], "message": "to 4"}]}},
            "web: condition AbleToScale",
            id="the words of a condition",
        ),
        pytest.param(
            {"events": (SeenEvent("Normal", "SuccessfulRescale", EVENT.message, 2),)},
            "web: events",
            id="how often an event came",
        ),
    ],
)
def test_a_difference_in_anything_is_told_by_its_name(changes, what):
    theirs, ours = flattened(seen(), {"q"}), flattened(seen(**changes), {"q"})
    assert [each.what for each in differences("s", "1.1", theirs, ours)] == [what]


def test_other_questions_to_the_metrics_apis_are_a_difference():
    found = differences("s", "1.1", flattened(seen(), {"q"}), flattened(seen(), {"q", "r"}))
    assert [each.what for each in found] == ["questions to the metrics APIs"]
    assert "theirs: ['q']" in str(found[0])


def test_null_and_nothing_are_the_same_list_of_metrics():
    theirs = flattened(seen(status={**STATUS, "currentMetrics": None}), None)
    ours = flattened(seen(status={**STATUS, "currentMetrics": []}), None)
    assert theirs == ours


def test_events_that_say_the_same_are_added_up_in_the_order_of_the_first():
    other = SeenEvent("Warning", "SelectorRequired", "selector is required", 3)
    assert added_up([EVENT, other, EVENT]) == (
        SeenEvent("Normal", EVENT.reason, EVENT.message, 2),
        other,
    )
