"""Objects that are left out of a list are counted each time and named in the log now and then."""

import logging

from prometheus_client import REGISTRY

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
from wire.api.labels import EVERYTHING

CONTRACT = SignalContract(on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT)
QUERY = MetricQuery(plan=Plan("load"), rows=Rows(), contract=CONTRACT, rule="rules[7]")


def request(namespace="shop"):
    return CustomMetricRequest(
        resource=PODS,
        name=EVERY_OBJECT,
        metric="load",
        namespace=namespace,
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
    )


def counted():
    return REGISTRY.get_sample_value("loadline_adapter_left_out_objects_total", {"metric": "load"})


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
