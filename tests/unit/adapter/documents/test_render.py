"""Values to documents: versions, windows, quantities and the described object."""

import msgspec
import pytest

from adapter.config.signal_block import NAMED
from adapter.documents import render
from adapter.model import (
    NODES,
    PODS,
    CustomMetricRequest,
    ExternalMetricRequest,
    ExternalValue,
    GroupResource,
    KubeObject,
    MetricQuery,
    ObjectValue,
    Plan,
    Rows,
    Usage,
    UsageValue,
)
from tests.fakes.adapter import FakeMapping
from wire.api import labels
from wire.api.status import StatusError

NOW = 1_700_000_000.9


def metric_query(window_seconds: float | None = None) -> MetricQuery:
    return MetricQuery(
        plan=Plan("q"),
        rows=Rows(object_label="pod"),
        contract=NAMED,
        rule="metrics[0]",
        window_seconds=window_seconds,
    )


def requested(
    version: str = "v1beta1", *, selector: str = "", resource: GroupResource = PODS
) -> CustomMetricRequest:
    return CustomMetricRequest(
        resource=resource, name="*", metric="load", namespace="shop", selector=labels.EVERYTHING,
        metric_selector=labels.parse(selector), api_version=version,
    )  # fmt: skip


def document(value: object) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(value))


VALUES = (ObjectValue(name="web-0", value_milli=1_500, timestamp_seconds=NOW, sampled_seconds=NOW),)


def test_the_older_version_says_window_and_selector():
    shown = document(
        render.custom_list(requested(selector="code=200"), VALUES, metric_query(60), FakeMapping())
    )
    assert shown["apiVersion"] == "custom.metrics.k8s.io/v1beta1"
    assert shown["items"] == [
        {
            "describedObject": {
                "kind": "Pod",
                "namespace": "shop",
                "name": "web-0",
                "apiVersion": "/v1",
            },
            "metricName": "load",
            "timestamp": "2023-11-14T22:13:20Z",
            "window": 60,
            "value": "1500m",
            "selector": {"matchLabels": {"code": "200"}},
        }
    ]


def test_the_newer_version_says_window_seconds_and_puts_the_selector_into_the_metric():
    shown = document(
        render.custom_list(
            requested("v1beta2", selector="code in (1,2)"), VALUES, metric_query(60), FakeMapping()
        )
    )
    assert shown["apiVersion"] == "custom.metrics.k8s.io/v1beta2"
    item = shown["items"][0]
    assert item["windowSeconds"] == 60
    assert item["metric"] == {
        "name": "load",
        "selector": {"matchExpressions": [{"key": "code", "operator": "In", "values": ["1", "2"]}]},
    }


def test_an_instant_value_has_no_window():
    item = document(render.custom_list(requested(), VALUES, metric_query(), FakeMapping()))[
        "items"
    ][0]
    assert "window" not in item
    assert item["selector"] is None


def test_the_described_object_is_of_its_group_and_preferred_version():
    shown = document(
        render.custom_list(
            requested(resource=GroupResource("deployment", "apps")),
            VALUES,
            metric_query(),
            FakeMapping(),
        )
    )
    assert shown["items"][0]["describedObject"]["apiVersion"] == "apps/v1"


def test_a_selector_that_cannot_be_repeated_is_an_error_only_where_it_would_be():
    with pytest.raises(
        StatusError, match=r'^"!=" is not a valid label selector operator'
    ) as refused:
        render.custom_list(requested(selector="code!=200"), VALUES, metric_query(), FakeMapping())
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert (
        document(
            render.custom_list(requested(selector="code!=200"), (), metric_query(), FakeMapping())
        )["items"]
        == []
    )


def test_external_rows_keep_their_labels_and_a_scalar_has_null():
    request = ExternalMetricRequest(namespace="shop", metric="depth", selector=labels.EVERYTHING)
    values = [
        ExternalValue(
            labels={"queue": "a"}, value_milli=3_000, timestamp_seconds=NOW, sampled_seconds=NOW
        ),
        ExternalValue(labels=None, value_milli=1, timestamp_seconds=NOW, sampled_seconds=NOW),
    ]
    shown = document(render.external_list(request, values, metric_query()))["items"]
    assert [(item["metricLabels"], item["value"]) for item in shown] == [
        ({"queue": "a"}, "3"),
        (None, "1m"),
    ]


@pytest.mark.parametrize("resource", [PODS, NODES], ids=["pod", "node"])
def test_usage_is_decimal_for_cpu_and_binary_for_memory(resource):
    container = "web" if resource == PODS else ""
    value = UsageValue(
        subject=KubeObject(name="x", labels={"app": "x"}),
        usage={container: Usage(cpu_milli=250, memory_milli=2 * 1024 * 1000)},
        timestamp_seconds=NOW,
        sampled_seconds=NOW,
        window_seconds=180,
    )
    shown = document(
        render.pod_metrics(value, NOW) if resource == PODS else render.node_metrics(value, NOW)
    )
    usage = shown["containers"][0]["usage"] if resource == PODS else shown["usage"]
    assert usage == {"cpu": "250m", "memory": "2Ki"}
    assert (shown["window"], shown["metadata"]["labels"]) == ("3m0s", {"app": "x"})
