"""Random metrics of every type, and what the metrics APIs say to them."""

from datetime import datetime
from random import Random

import msgspec

from scaler.model.amounts import milli
from scaler.model.autoscaler import (
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
from scaler.model.observed import Pod
from testbed.oracle.scaler.questions import (
    CustomAnswer,
    ExternalAnswer,
    MetricAnswers,
    ResourceAnswer,
)
from wire import custom_metrics, external_metrics
from wire.meta import (
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    ObjectReference,
    time_from_unix,
)
from wire.quantity import format_milli
from wire.resource_metrics import ContainerMetrics, PodMetrics, PodMetricsList

_TARGETS = ("1", "10", "100m", "1500m", "7", "50Mi", "1k", "333u", "9223372036854775807")
_UGLY = ("9223372036854775807", "1E", "10P", "0", "-5", "1n", "9223372036854775", "100T", "-1500u")
_FACTORS = (0.0, 0.1, 0.5, 0.9, 0.9, 0.95, 1.0, 1.0, 1.05, 1.1, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0)
_DOWN = "the server is currently unable to handle the request"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Around what the answers are made up."""

    random: Random
    pods: tuple[Pod, ...]
    replicas: int
    now_unix_seconds: float


def metric_specs(random: Random, count: int) -> tuple[MetricSpec, ...]:
    """So many metrics of any type; names tell custom and external ones apart."""
    return tuple(_metric_spec(random, index) for index in range(count))


def metric_answers(asked: Asked, metrics: tuple[MetricSpec, ...]) -> MetricAnswers:
    """What the APIs say to all of them; a factor for the whole look keeps pods and metrics alike."""
    factor = asked.random.choice(_FACTORS)
    custom: dict[str, CustomAnswer] = {}
    external: dict[str, ExternalAnswer] = {}
    for metric in metrics:
        if metric.pods:
            custom[metric.pods.metric.name] = _pods_answer(asked, metric.pods.target, factor)
        elif metric.object:
            custom[metric.object.metric.name] = _object_answer(asked, metric.object.target, factor)
        elif metric.external:
            target = metric.external.target
            external[metric.external.metric.name] = _external_answer(asked, target, factor)
    return MetricAnswers(
        resource=_resource_answer(asked, metrics, factor), custom=custom, external=external
    )


def _metric_spec(random: Random, index: int) -> MetricSpec:
    identifier = MetricIdentifier(name=f"m{index}", selector=_selector(random))
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


def _value(asked: Asked, milli_: int, factor: float) -> str:
    """Around a number of thousandths, or something that breaks numbers."""
    if asked.random.random() < 0.03:
        return asked.random.choice(_UGLY)
    jitter = asked.random.choice((1.0, 1.0, 0.97, 1.01, 1.3))
    return format_milli(int(milli_ * factor * jitter) % 2**62)


def _pods_answer(asked: Asked, target: MetricTarget, factor: float) -> CustomAnswer:
    if asked.random.random() < 0.04:
        return CustomAnswer(error=_DOWN)
    goal = milli(target.average_value or "1")
    items = [
        _metric_value(asked, pod.metadata.name, _value(asked, goal, factor))
        for pod in asked.pods
        if asked.random.random() < 0.93
    ]
    if asked.random.random() < 0.06:
        items.append(_metric_value(asked, "stranger", _value(asked, goal, factor)))
    if items and asked.random.random() < 0.03:
        items.append(_metric_value(asked, "web-0", _value(asked, goal, 2 * factor)))
    return CustomAnswer(list=custom_metrics.MetricValueList(items=items))


def _object_answer(asked: Asked, target: MetricTarget, factor: float) -> CustomAnswer:
    if asked.random.random() < 0.04:
        return CustomAnswer(error=_DOWN)
    goal = milli(target.value or target.average_value or "1")
    shared = goal * max(1, asked.replicas) if target.average_value else goal
    count = asked.random.choice((1,) * 40 + (0, 2))
    items = [_metric_value(asked, "front", _value(asked, shared, factor)) for _ in range(count)]
    return CustomAnswer(list=custom_metrics.MetricValueList(items=items))


def _external_answer(asked: Asked, target: MetricTarget, factor: float) -> ExternalAnswer:
    if asked.random.random() < 0.04:
        return ExternalAnswer(error=_DOWN)
    goal = milli(target.value or target.average_value or "1")
    shared = goal * max(1, asked.replicas) if target.average_value else goal
    count = asked.random.choice((1, 1, 1, 2, 3, 0))
    items = [
        external_metrics.ExternalMetricValue(
            metric_name="m",
            metric_labels=None,
            timestamp=_sampled(asked),
            value=_value(asked, shared // max(1, count), factor),
        )
        for _ in range(count)
    ]
    return ExternalAnswer(list=external_metrics.ExternalMetricValueList(items=items))


def _metric_value(asked: Asked, name: str, value: str) -> custom_metrics.MetricValue:
    return custom_metrics.MetricValue(
        described_object=ObjectReference(kind="Pod", name=name),
        metric=custom_metrics.MetricIdentifier(name="m"),
        timestamp=_sampled(asked),
        window_seconds=asked.random.choice((None, None, 30, 0)),
        value=value,
    )


def _resource_answer(
    asked: Asked, metrics: tuple[MetricSpec, ...], factor: float
) -> ResourceAnswer:
    if not any(metric.resource or metric.container_resource for metric in metrics):
        return ResourceAnswer()
    if asked.random.random() < 0.04:
        return ResourceAnswer(error=_DOWN)
    percent = _percent_target(metrics) * factor / 100
    items = [
        _pod_metrics(asked, pod, percent) for pod in asked.pods if asked.random.random() < 0.93
    ]
    if asked.random.random() < 0.06:
        usage = {"cpu": "100m", "memory": "64Mi"}
        items.append(_pod_usage(asked, "stranger", [ContainerMetrics(name="app", usage=usage)]))
    return ResourceAnswer(list=PodMetricsList(items=items))


def _percent_target(metrics: tuple[MetricSpec, ...]) -> int:
    for metric in metrics:
        source = metric.resource or metric.container_resource
        if source and source.target.average_utilization:
            return source.target.average_utilization
    return 100


def _pod_metrics(asked: Asked, pod: Pod, share: float) -> PodMetrics:
    containers = [
        ContainerMetrics(
            name=container.name,
            usage={
                name: _value(asked, milli(text) % 2**53, share)
                for name, text in (container.resources.requests or {}).items()
                if asked.random.random() < 0.99
            },
        )
        for container in pod.spec.containers or ()
        if asked.random.random() < 0.98
    ]
    return _pod_usage(asked, pod.metadata.name, containers)


def _pod_usage(asked: Asked, name: str, containers: list[ContainerMetrics]) -> PodMetrics:
    return PodMetrics(
        metadata=ObjectMeta(name=name, namespace="shop"),
        timestamp=_sampled(asked),
        window=asked.random.choice(("30s", "1m0s", "15.5s")),
        containers=containers,
    )


def _sampled(asked: Asked) -> datetime:
    return time_from_unix(asked.now_unix_seconds - asked.random.choice((0, 5, 15, 30, 60, 120)))
