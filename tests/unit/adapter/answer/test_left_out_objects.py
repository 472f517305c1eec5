"""Objects that are left out of a list are counted each time and named in the log now and then."""

import logging

from prometheus_client import REGISTRY

from adapter import telemetry
from adapter.answer.left_out_objects import REPORTED_EVERY_SECONDS, LeftOutObjects
from adapter.model import (
    EVERY_OBJECT,
    PODS,
    CustomMetricRequest,
    MetricQuery,
    Plan,
    Reaction,
    Rows,
    SignalContract,
)
from adapter.telemetry import LEFT_OUT_METRICS_MAX, OTHER_METRICS
from wire.api.labels import EVERYTHING

CONTRACT = SignalContract(on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT)
QUERY = MetricQuery(plan=Plan("load"), rows=Rows(), contract=CONTRACT, rule="rules[7]")


def request(namespace="shop", metric="load"):
    return CustomMetricRequest(
        resource=PODS,
        name=EVERY_OBJECT,
        metric=metric,
        namespace=namespace,
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
    )


def counted(metric="load"):
    return REGISTRY.get_sample_value("loadline_adapter_left_out_objects_total", {"metric": metric})


def test_the_first_object_is_named_once_per_period_and_all_are_counted(caplog):
    now_seconds = 0.0
    objects = LeftOutObjects(monotonic=lambda: now_seconds)
    left_out = (("web-1", "the value is inf"), ("web-2", "the value is inf"))
    with caplog.at_level(logging.WARNING):
        objects.report(request(), QUERY, left_out)
        before = counted()
        objects.report(request(), QUERY, left_out)
        assert counted() - before == 2
        assert [record.message for record in caplog.records] == [
            "rules[7]: the list of load for pods in namespace 'shop' does not have 'web-1' and 1 more: the value is inf"
        ]
        objects.report(request("other"), QUERY, left_out[:1])
        now_seconds = REPORTED_EVERY_SECONDS
        objects.report(request(), QUERY, left_out)
    assert len(caplog.records) == 3
    assert caplog.records[1].message.endswith("'other' does not have 'web-1': the value is inf")


def test_everyone_chooses_names_of_metrics_so_only_some_are_counted_by_name():
    telemetry.forget_rules()
    objects = LeftOutObjects()
    for number in range(LEFT_OUT_METRICS_MAX + 10):
        objects.report(request(metric=f"metric_{number}"), QUERY, [("web-1", "the value is inf")])
    objects.report(request(metric="metric_0"), QUERY, [("web-1", "the value is inf")])
    assert counted("metric_0") == 2
    assert counted(f"metric_{LEFT_OUT_METRICS_MAX}") is None
    assert counted(OTHER_METRICS) == 10
    telemetry.forget_rules()
    objects.report(request(metric="new"), QUERY, [("web-1", "the value is inf")])
    assert (counted("new"), counted("metric_0")) == (1, None)
