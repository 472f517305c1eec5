"""Which request each type of metric sends, and the wording of its failure."""

from datetime import datetime
from typing import Any

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed, ObjectValue, PodSamples, Reading
from scaler.api.autoscaler import (
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.telemetry import Telemetry
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from wire.api.labels import parse
from wire.api.meta import LabelSelector, LabelSelectorRequirement
from wire.api.status import StatusError, Unavailable, not_found

PODS = parse("app=web")
WANTED = MetricTarget(type="AverageValue", average_value="1")
MAIL = LabelSelector(match_labels={"queue": "mail"})
AT = "2026-01-01T00:00:00Z"
GROUPS = {
    "groups": [
        {
            "name": "custom.metrics.k8s.io",
            "versions": [{"version": "v1beta1"}, {"version": "v1beta2"}],
            "preferredVersion": {"version": "v1beta2"},
        }
    ]
}
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop"


def kube_with() -> FakeKube:
    kube = FakeKube()
    kube.serve("/apis", GROUPS)
    return kube


def measurements(kube: FakeKube, *, keeps_case: bool = True) -> Measurements:
    mapper = FakeMapper(
        resource("", "v1", "services", "Service"),
        resource("networking.k8s.io", "v1", "ingresses", "Ingress"),
    )
    return Measurements(kube, mapper, Telemetry(), period_seconds=15.0, keeps_case=keeps_case)


async def read(metrics: Measurements, metric: MetricSpec) -> Reading:
    (found,) = await metrics.reads("shop", [metric], PODS).read()
    return found.reading


def pods(selector: LabelSelector | None = None, name: str = "rps") -> MetricSpec:
    metric = MetricIdentifier(name=name, selector=selector)
    return MetricSpec(type="Pods", pods=PodsMetricSource(metric=metric, target=WANTED))


def of_object(
    kind: str, api_version: str = "v1", selector: LabelSelector | None = None
) -> MetricSpec:
    described = CrossVersionObjectReference(kind=kind, name="front", api_version=api_version)
    metric = MetricIdentifier(name="hits", selector=selector)
    source = ObjectMetricSource(described_object=described, metric=metric, target=WANTED)
    return MetricSpec(type="Object", object=source)


def external(selector: LabelSelector | None = None, name: str = "queue") -> MetricSpec:
    metric = MetricIdentifier(name=name, selector=selector)
    return MetricSpec(type="External", external=ExternalMetricSource(metric=metric, target=WANTED))


@pytest.mark.deviation("external-metric-case")
@pytest.mark.parametrize(
    ("kind", "requested"),
    [(HORIZONTAL_POD_AUTOSCALERS, "queue_length"), (LOAD_AUTOSCALERS, "Queue_Length")],
    ids=["HPA", "LoadAutoscaler"],
)
async def test_the_name_of_an_external_metric_of_an_hpa_is_requested_in_lower_case(kind, requested):
    """client-go's Request.URL writes the resource in lower case, and the name of the metric is the resource."""
    kube = kube_with()
    item = {"metricName": "q", "timestamp": "2026-11-27T00:00:00Z", "value": "3"}
    kube.serve(f"{EXTERNAL}/{requested}", {"items": [item]})
    metrics = measurements(kube, keeps_case=kind.keeps_case)
    assert await read(metrics, external(name="Queue_Length")) == ExternalValues((3000,))


CPU = MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=WANTED))
APP_CPU = MetricSpec(
    type="ContainerResource",
    container_resource=ContainerResourceMetricSource(name="cpu", container="app", target=WANTED),
)


@pytest.mark.parametrize(
    ("metric", "path", "params"),
    [
        pytest.param(pods(), f"{CUSTOM}/pods/*/rps", {"labelSelector": "app=web"}, id="pods"),
        pytest.param(
            pods(MAIL),
            f"{CUSTOM}/pods/*/rps",
            {"labelSelector": "app=web", "metricLabelSelector": "queue=mail"},
            id="pods with a selector",
        ),
        pytest.param(of_object("Service"), f"{CUSTOM}/services/front/hits", {}, id="object"),
        pytest.param(
            of_object("Ingress", "networking.k8s.io/v1"),
            f"{CUSTOM}/ingresses.networking.k8s.io/front/hits",
            {},
            id="object of a group",
        ),
        pytest.param(
            of_object("Service", selector=MAIL),
            f"{CUSTOM}/services/front/hits",
            {"metricLabelSelector": "queue=mail"},
            id="object with a selector",
        ),
        pytest.param(
            of_object("Namespace"),
            f"{CUSTOM}/metrics/hits",
            {},
            id="the namespace itself, whatever the reference names",
        ),
        pytest.param(external(), f"{EXTERNAL}/queue", {}, id="external"),
        pytest.param(
            external(MAIL),
            f"{EXTERNAL}/queue",
            {"labelSelector": "queue=mail"},
            id="external selected",
        ),
        pytest.param(external(name="a|b c"), f"{EXTERNAL}/a%7Cb%20c", {}, id="external, odd name"),
        pytest.param(
            CPU,
            "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
            {"labelSelector": "app=web"},
            id="resource",
        ),
        pytest.param(
            APP_CPU,
            "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
            {"labelSelector": "app=web"},
            id="container resource",
        ),
    ],
)
async def test_each_metric_is_read_by_the_same_request_as_the_hpa_controllers(metric, path, params):
    kube = kube_with()
    await read(measurements(kube), metric)
    assert kube.requested[-1] == (path, params)


def value(name: str, amount: str) -> dict[str, Any]:
    return {
        "describedObject": {"name": name},
        "metric": {"name": "rps"},
        "timestamp": AT,
        "value": amount,
    }


async def test_responses_become_readings():
    kube = kube_with()
    kube.serve(f"{CUSTOM}/pods/*/rps", {"items": [value("web-1", "1500m"), value("web-2", "2")]})
    kube.serve(f"{CUSTOM}/services/front/hits", {"items": [value("front", "7")]})
    series = [
        {"metricName": "queue", "metricLabels": None, "timestamp": AT, "value": amount}
        for amount in ("3", "4")
    ]
    kube.serve(f"{EXTERNAL}/queue", {"items": series})
    usage = {"name": "app", "usage": {"cpu": "250m"}}
    measured = {
        "metadata": {"name": "web-1"},
        "timestamp": AT,
        "window": "15s",
        "containers": [usage],
    }
    kube.serve("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods", {"items": [measured]})
    metrics = measurements(kube)
    found = await read(metrics, pods())
    assert isinstance(found, PodSamples)
    assert {name: sample.value_milli for name, sample in found.by_pod.items()} == {
        "web-1": 1500,
        "web-2": 2000,
    }
    assert await read(metrics, of_object("Service")) == ObjectValue(7000)
    assert await read(metrics, external()) == ExternalValues((3000, 4000))
    for metric in (CPU, APP_CPU):
        used = await read(metrics, metric)
        assert isinstance(used, PodSamples)
        sample = used.by_pod["web-1"]
        assert (sample.value_milli, sample.window_seconds) == (250, 15.0)
        assert sample.sampled_at_unix_seconds == datetime.fromisoformat(AT).timestamp()


def generic(code: int) -> Exception:
    return StatusError("the server answered with a page", code=code, reason="", generic=True)


@pytest.mark.parametrize(
    ("metric", "path", "answer", "message"),
    [
        pytest.param(
            external(),
            f"{EXTERNAL}/queue",
            not_found("no metric queue"),
            "unable to fetch metrics from external metrics API: no metric queue",
            id="the API's own message",
        ),
        pytest.param(
            external(),
            f"{EXTERNAL}/queue",
            generic(404),
            "unable to fetch metrics from external metrics API: "
            "the server could not find the requested resource (get queue.external.metrics.k8s.io)",
            id="no such API",
        ),
        pytest.param(
            CPU,
            "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
            generic(503),
            "unable to fetch metrics from resource metrics API: "
            "the server is currently unable to handle the request (get pods.metrics.k8s.io)",
            id="an API that is down",
        ),
        pytest.param(
            pods(),
            f"{CUSTOM}/pods/*/rps",
            generic(503),
            "unable to fetch metrics from custom metrics API: "
            "the server is currently unable to handle the request (get pods.custom.metrics.k8s.io *)",
            id="pods of an API that is down",
        ),
        pytest.param(
            pods(),
            f"{CUSTOM}/pods/*/rps",
            Unavailable("connection refused"),
            "unable to fetch metrics from custom metrics API: connection refused",
            id="connection refused",
        ),
        pytest.param(
            pods(),
            f"{CUSTOM}/pods/*/rps",
            b"<html>",
            "unable to fetch metrics from custom metrics API: the response is malformed",
            id="not JSON",
        ),
        pytest.param(
            pods(),
            "/apis",
            b'{"groups": []}',
            "unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
            id="no custom metrics API",
        ),
        pytest.param(
            pods(),
            "/apis",
            b'{"groups": [{"name": "custom.metrics.k8s.io", "versions": [{"version": "v3"}]}]}',
            "unable to fetch metrics from custom metrics API: no known available metric versions found",
            id="no known version",
        ),
        *(
            pytest.param(
                metric,
                "/apis",
                b'{"kind": "Status", "status": "Success"}',
                "unable to fetch metrics from custom metrics API: the response is malformed",
                id=f"no list of groups, {metric.type}",
            )
            for metric in (pods(), of_object("Ingress", "networking.k8s.io/v1"))
        ),
        pytest.param(
            of_object("Thing", "example.com/v1"),
            "/unused",
            b"",
            "unable to fetch metrics from custom metrics API: unable to map kind Thing.example.com "
            'to resource: no matches for kind "Thing" in group "example.com"',
            id="unknown kind",
        ),
        pytest.param(
            of_object("Thing", "example.com/v1"),
            "/apis",
            b'{"groups": []}',
            "unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
            id="unknown kind, and no custom metrics API",
        ),
        pytest.param(
            of_object("Ingress", "networking.k8s.io/v1/b"),
            "/unused",
            b"",
            "unable to fetch metrics from custom metrics API: unable to map kind Ingress "
            'to resource: no matches for kind "Ingress" in group ""',
            id="an apiVersion with two slashes, as schema.FromAPIVersionAndKind reads it",
        ),
        pytest.param(
            external(),
            f"{EXTERNAL}/queue",
            b'{"items": null}',
            "no metrics returned from external metrics API",
            id="no series",
        ),
        pytest.param(
            external(
                LabelSelector(
                    match_expressions=[LabelSelectorRequirement(key="a", operator="Like")]
                )
            ),
            "/unused",
            b"",
            '"Like" is not a valid label selector operator',
            id="selector",
        ),
        pytest.param(MetricSpec(type="Gossip"), "/unused", b"", "unknown metric source", id="type"),
    ],
)
async def test_a_metric_that_cannot_be_read_is_a_value_worded_as_upstream(
    metric, path, answer, message
):
    kube = kube_with()
    kube.answers[path] = answer
    found = await read(measurements(kube), metric)
    assert isinstance(found, MetricFailed)
    assert found.message.startswith(message)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(
            MetricTarget(type="Utilization", value="5"), id="of a type that it cannot have"
        ),
        pytest.param(
            MetricTarget(type="Value", average_value="5"), id="of a type without its field"
        ),
        pytest.param(MetricTarget(type="AverageValue", value="5"), id="of an average without one"),
    ],
)
async def test_an_object_metric_without_a_usable_target_sends_no_request(target):
    kube = kube_with()
    described = CrossVersionObjectReference(kind="Service", name="front", api_version="v1")
    source = ObjectMetricSource(
        described_object=described, metric=MetricIdentifier(name="hits"), target=target
    )
    reading = await read(measurements(kube), MetricSpec(type="Object", object=source))
    assert isinstance(reading, MetricFailed)
    assert "neither a value target nor an average value target" in reading.message
    assert kube.requested == []


@pytest.mark.deviation("metrics-without-a-value")
@pytest.mark.parametrize("item", ["{}", '{"value": null}'])
@pytest.mark.parametrize(
    ("metric", "path"),
    [
        pytest.param(external(), f"{EXTERNAL}/queue", id="external"),
        pytest.param(pods(), f"{CUSTOM}/pods/*/rps", id="of pods"),
    ],
)
async def test_an_item_without_a_value_is_a_failure(metric, path, item):
    kube = kube_with()
    kube.answers[path] = f'{{"items": [{item}]}}'.encode()
    found = await read(measurements(kube), metric)
    assert isinstance(found, MetricFailed)
    assert "the response is malformed" in found.message
