"""The last hours on one time axis: from Prometheus, or from what the page and the status know."""

import json

import msgspec
import pytest

from kubectl_loadline.page.chart import from_prometheus, on_grid, without_prometheus
from kubectl_loadline.page.collected import Counts, Seen
from kubectl_loadline.page.events import marks
from wire.prometheus.query_api import RangeSeries

SCALER = "loadline_scaler_autoscaler_"


def series(name, samples, **labels):
    return RangeSeries({"__name__": name, **labels}, samples)


def recorded(*found):
    return from_prometheus(found, start=0.0, end=60.0, basis="b")


def test_all_curves_have_one_time_axis_and_a_gap_is_none():
    found = recorded(
        series(f"{SCALER}status_current_replicas", {15.0: 3.0, 30.0: 3.0}),
        series(f"{SCALER}status_desired_replicas", {30.0: 4.0}),
        series(f"{SCALER}proposed_replicas", {30.0: 5.0, 45.0: 5.0}),
        series(f"{SCALER}effective_max_replicas", {15.0: 9.0}),
        series(f"{SCALER}metric_value", {45.0: 120.0}, metric="queue"),
        series(f"{SCALER}metric_value", {15.0: 80.0}, metric="cpu"),
    )
    assert found.times == (15.0, 30.0, 45.0)
    assert found.current == (3.0, 3.0, None)
    assert found.desired == (None, 4.0, None)
    assert found.demand == (None, 5.0, 5.0)
    assert found.max == (9.0, None, None)
    assert [(each.name, each.values) for each in found.loads] == [
        ("cpu", (80.0, None, None)),
        ("queue", (None, None, 120.0)),
    ]


def test_the_limits_of_the_decision_count_before_those_of_the_spec_and_the_scaler_before_others():
    found = recorded(
        series("kube_loadautoscaler_status_current_replicas", {15.0: 1.0}),
        series(f"{SCALER}status_current_replicas", {15.0: 3.0}),
        series(f"{SCALER}spec_max_replicas", {15.0: 9.0}),
        series(f"{SCALER}effective_max_replicas", {15.0: 6.0}),
        series("kube_loadautoscaler_spec_min_replicas", {15.0: 2.0}),
    )
    assert (found.current, found.max, found.min) == ((3.0,), (6.0,), (2.0,))


def test_without_replicas_there_is_no_chart():
    assert recorded(series(f"{SCALER}metric_value", {15.0: 80.0}, metric="cpu")) is None


def seen(*counts):
    return [Seen(at, Counts(current, current, 1, 9)) for at, current in counts]


def test_without_prometheus_it_has_what_the_page_has_seen_and_what_the_status_remembers():
    step = {"replicas": 2, "sinceUnixSeconds": 10.0, "untilUnixSeconds": 50.0}
    body = json.dumps({"status": {"history": {"recommendations": [step]}}}).encode()
    found = without_prometheus(body, seen((20.0, 3), (40.0, 4)), start=0.0, end=60.0, basis="b")
    assert found.times == (10.0, 20.0, 40.0, 50.0, 60.0)
    assert found.demand == (2.0, 2.0, 2.0, 2.0, None)
    assert found.current == (None, 3.0, 4.0, 4.0, 4.0)
    assert found.max == (None, 9.0, 9.0, 9.0, 9.0)
    assert found.loads == ()


def test_an_hpa_that_was_not_seen_yet_has_an_empty_chart():
    assert without_prometheus(b"{}", (), start=0.0, end=60.0, basis="b").times == ()


def test_a_sparkline_begins_when_the_page_has_seen_it_first():
    found = on_grid(seen((15.0, 3), (30.0, None), (35.0, 5)), [0.0, 15.0, 20.0, 30.0, 40.0])
    assert found == (None, 3.0, 3.0, None, 5.0)


def event(reason, **times):
    return {"type": "Normal", "reason": reason, "message": "queue(nil) above target", **times}


def test_events_are_marks_at_the_time_at_which_they_last_happened():
    items = [
        event("b", firstTimestamp="1970-01-01T00:00:10Z", lastTimestamp="1970-01-01T00:00:50Z"),
        event("a", eventTime="1970-01-01T00:00:20.5Z", firstTimestamp=None, lastTimestamp=None),
        event("c", lastTimestamp="1970-01-01T00:02:00Z"),
        event("d"),
    ]
    found = marks(json.dumps({"items": items}).encode(), start=0.0, end=60.0)
    assert [(each.reason, each.at) for each in found] == [("a", 20.5), ("b", 50.0)]
    assert found[0].message == "queue above target"


@pytest.mark.parametrize("body", [b"{", b'{"items": [{"lastTimestamp": "yesterday"}]}'])
def test_a_list_of_events_in_another_form_is_refused(body):
    with pytest.raises(msgspec.DecodeError):
        marks(body, start=0.0, end=60.0)
