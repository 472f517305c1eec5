"""Random metrics of every type, and what the metrics APIs say to them."""

from datetime import datetime
from random import Random

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.observed import Pod
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
from testbed.oracle.scaler.cases import (
    CustomAnswer,
    ExternalAnswer,
    MetricAnswers,
    ResourceAnswer,
)
from wire.api import custom_metrics, external_metrics
from wire.api.meta import (
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    ObjectReference,
    time_from_unix,
)
from wire.api.quantity import format_milli
from wire.api.resource_metrics import ContainerMetrics, PodMetrics, PodMetricsList

_TARGETS = ("1", "10", "100m", "1500m", "7", "50Mi", "1k", "333u", "9223372036854775807")
_UGLY = ("9223372036854775807", "1E", "10P", "0", "-5", "1n", "9223372036854775", "100T", "-1500u")
_FACTORS = (0.0, 0.1, 0.5, 0.9, 0.9, 0.95, 1.0, 1.0, 1.05, 1.1, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0)
_DOWN = "the server is currently unable to handle the request"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Around what the answers are made up."""

    random: Random
    pods: tuple[Pod, ...]
    replicas: int
    now_unix_seconds: float


def metric_specs(random: Random, count: int) -> tuple[MetricSpec, ...]:
    """That many metrics of any type; names distinguish custom and external ones."""
    return tuple(_metric_spec(random, index) for index in range(count))


def metric_answers(given: Given, metrics: tuple[MetricSpec, ...]) -> MetricAnswers:
    """The APIs' answers to all of them; a factor for the whole reconcile keeps pods and metrics alike."""
    factor = given.random.choice(_FACTORS)
    custom: dict[str, CustomAnswer] = {}
    external: dict[str, ExternalAnswer] = {}
    for metric in metrics:
        if metric.pods:
            custom[metric.pods.metric.name] = _pods_answer(given, metric.pods.target, factor)
        elif metric.object:
            custom[metric.object.metric.name] = _object_answer(given, metric.object.target, factor)
        elif metric.external:
            target = metric.external.target
            external[metric.external.metric.name] = _external_answer(given, target, factor)
    return MetricAnswers(
        resource=_resource_answer(given, metrics, factor), custom=custom, external=external
    )


def _metric_spec(random: Random, index: int) -> MetricSpec:
    identifier = MetricIdentifier(name=f"m{index}", selector=_selector(random))
    if random.random() < 0.01:
        # Of an API server that is newer than the controller.
        return MetricSpec(type="Carbon")
    match random.randrange(5):
        case 0:
            return MetricSpec(
                type="Pods",
                pods=PodsMetricSource(metric=identifier, target=_average(random)),
            )
        case 1:
            described = CrossVersionObjectReference(kind="Service", name="front", api_version="v1")
            source = ObjectMetricSource(
                described_object=described, metric=identifier, target=_target(random)
            )
            return MetricSpec(type="Object", object=source)
        case 2:
            target = _target(random)
            return MetricSpec(
                type="External",
                external=ExternalMetricSource(metric=identifier, target=target),
            )
        case 3:
            return MetricSpec(
                type="Resource",
                resource=ResourceMetricSource(
                    name=random.choice(("cpu", "memory")), target=_resource_target(random)
                ),
            )
        case _:
            return MetricSpec(
                type="ContainerResource",
                container_resource=ContainerResourceMetricSource(
                    name=random.choice(("cpu", "cpu", "memory")),
                    container=random.choice(("app",) * 6 + ("helper", "init-0")),
                    target=_resource_target(random),
                ),
            )


def _selector(random: Random) -> LabelSelector | None:
    if random.random() < 0.7:
        return None
    return random.choice(
        (
            LabelSelector(),
            LabelSelector(match_labels={"queue": "jobs", "az": "b"}),
            LabelSelector(
                match_labels={"queue": "jobs"},
                match_expressions=[
                    LabelSelectorRequirement(key="tier", operator="In", values=["y", "x"]),
                    LabelSelectorRequirement(key="old", operator="DoesNotExist"),
                ],
            ),
            LabelSelector(match_expressions=[LabelSelectorRequirement(key="k", operator="Like")]),
        )
    )


def _average(random: Random) -> MetricTarget:
    return MetricTarget(type="AverageValue", average_value=random.choice(_TARGETS))


def _target(random: Random) -> MetricTarget:
    if random.random() < 0.02:
        return MetricTarget(type="Utilization", average_utilization=50)
    if random.random() < 0.5:
        return _average(random)
    return MetricTarget(type="Value", value=random.choice(_TARGETS))


def _resource_target(random: Random) -> MetricTarget:
    if random.random() < 0.35:
        amount = random.choice(("100m", "250m", "64Mi", "100M", "1"))
        return MetricTarget(type="AverageValue", average_value=amount)
    if random.random() < 0.01:
        return MetricTarget(type="Utilization")
    return MetricTarget(
        type="Utilization", average_utilization=random.choice((1, 30, 50, 80, 100, 150, 1000))
    )


def _value(given: Given, milli_: int, factor: float) -> str:
    """Around a number of thousandths, or something that breaks numbers."""
    if given.random.random() < 0.03:
        return given.random.choice(_UGLY)
    jitter = given.random.choice((1.0, 1.0, 0.97, 1.01, 1.3))
    return format_milli(int(milli_ * factor * jitter) % 2**62)


def _pods_answer(given: Given, target: MetricTarget, factor: float) -> CustomAnswer:
    if given.random.random() < 0.04:
        return CustomAnswer(error=_DOWN)
    goal = milli(target.average_value or "1")
    items = [
        _metric_value(given, pod.metadata.name, _value(given, goal, factor))
        for pod in given.pods
        if given.random.random() < 0.93
    ]
    if given.random.random() < 0.06:
        items.append(_metric_value(given, "unlisted", _value(given, goal, factor)))
    if items and given.random.random() < 0.03:
        items.append(_metric_value(given, "web-0", _value(given, goal, 2 * factor)))
    return CustomAnswer(list=custom_metrics.MetricValueList(items=items))


def _object_answer(given: Given, target: MetricTarget, factor: float) -> CustomAnswer:
    if given.random.random() < 0.04:
        return CustomAnswer(error=_DOWN)
    goal = milli(target.value or target.average_value or "1")
    shared = goal * max(1, given.replicas) if target.average_value else goal
    count = given.random.choice((1,) * 40 + (0, 2))
    items = [_metric_value(given, "front", _value(given, shared, factor)) for _ in range(count)]
    return CustomAnswer(list=custom_metrics.MetricValueList(items=items))


def _external_answer(given: Given, target: MetricTarget, factor: float) -> ExternalAnswer:
    if given.random.random() < 0.04:
        return ExternalAnswer(error=_DOWN)
    goal = milli(target.value or target.average_value or "1")
    shared = goal * max(1, given.replicas) if target.average_value else goal
    count = given.random.choice((1, 1, 1, 2, 3, 0))
    items = [
        external_metrics.ExternalMetricValue(
            metric_name="m",
            metric_labels=None,
            timestamp=_sampled(given),
            value=_value(given, shared // max(1, count), factor),
        )
        for _ in range(count)
    ]
    return ExternalAnswer(list=external_metrics.ExternalMetricValueList(items=items))


def _metric_value(given: Given, name: str, value: str) -> custom_metrics.MetricValue:
    return custom_metrics.MetricValue(
        described_object=ObjectReference(kind="Pod", name=name),
        metric=custom_metrics.MetricIdentifier(name="m"),
        timestamp=_sampled(given),
        window_seconds=given.random.choice((None, None, 30, 0)),
        value=value,
    )


def _resource_answer(
    given: Given, metrics: tuple[MetricSpec, ...], factor: float
) -> ResourceAnswer:
    if not any(metric.resource or metric.container_resource for metric in metrics):
        return ResourceAnswer()
    if given.random.random() < 0.04:
        return ResourceAnswer(error=_DOWN)
    percent = _percent_target(metrics) * factor / 100
    items = [
        _pod_metrics(given, pod, percent) for pod in given.pods if given.random.random() < 0.93
    ]
    if given.random.random() < 0.06:
        usage = {"cpu": "100m", "memory": "64Mi"}
        items.append(_pod_usage(given, "unlisted", [ContainerMetrics(name="app", usage=usage)]))
    return ResourceAnswer(list=PodMetricsList(items=items))


def _percent_target(metrics: tuple[MetricSpec, ...]) -> int:
    for metric in metrics:
        source = metric.resource or metric.container_resource
        if source and source.target.average_utilization:
            return source.target.average_utilization
    return 100


def _pod_metrics(given: Given, pod: Pod, share: float) -> PodMetrics:
    containers = [
        ContainerMetrics(
            name=container.name,
            usage={
                name: _value(given, milli(text) % 2**53, share)
                for name, text in (container.resources.requests or {}).items()
                if given.random.random() < 0.99
            },
        )
        for container in pod.spec.containers or ()
        if given.random.random() < 0.98
    ]
    return _pod_usage(given, pod.metadata.name, containers)


def _pod_usage(given: Given, name: str, containers: list[ContainerMetrics]) -> PodMetrics:
    return PodMetrics(
        metadata=ObjectMeta(name=name, namespace="shop"),
        timestamp=_sampled(given),
        window=given.random.choice(("30s", "1m0s", "15.5s")),
        containers=containers,
    )


def _sampled(given: Given) -> datetime:
    return time_from_unix(given.now_unix_seconds - given.random.choice((0, 5, 15, 30, 60, 120)))
