"""PURE  Short constructors for the parts of scenarios."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from testbed.differential.scaler.scenario_model import (
    Autoscaler,
    ClusterState,
    Container,
    ErrorResponse,
    Pod,
    Responses,
    Sample,
    Scale,
    Scenario,
    Spec,
    Step,
    Usage,
)

Metric = dict[str, Any]
# Policies that never limit, whenever scale events were. (The API's default policies, per 15 s, would.)
ANY_UP: dict[str, Any] = {"type": "Pods", "value": 100_000, "periodSeconds": 1800}
ANY_DOWN: dict[str, Any] = {"type": "Percent", "value": 100, "periodSeconds": 1800}
# A behavior in which nothing that the controller remembers of earlier steps limits scaling.
FREE: dict[str, dict[str, Any]] = {
    "scaleUp": {"policies": [ANY_UP]},
    "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [ANY_DOWN]},
}


def utilization(percent: int) -> Metric:
    """A target of Resource and ContainerResource metrics."""
    return {"type": "Utilization", "averageUtilization": percent}


def average(value: str) -> Metric:
    """A target per pod."""
    return {"type": "AverageValue", "averageValue": value}


def total(value: str) -> Metric:
    """A target for the total."""
    return {"type": "Value", "value": value}


def resource(name: str, target: Metric) -> Metric:
    """A Resource metric."""
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def container_resource(name: str, container: str, target: Metric) -> Metric:
    """A ContainerResource metric."""
    source = {"name": name, "container": container, "target": target}
    return {"type": "ContainerResource", "containerResource": source}


def _named(name: str, selector: Mapping[str, Any] | None) -> Metric:
    return {"name": name} if selector is None else {"name": name, "selector": dict(selector)}


def pods_metric(name: str, value: str, selector: Mapping[str, Any] | None = None) -> Metric:
    """A Pods metric."""
    return {"type": "Pods", "pods": {"metric": _named(name, selector), "target": average(value)}}


def object_metric(
    name: str,
    target: Metric,
    selector: Mapping[str, Any] | None = None,
    described: Mapping[str, str] | None = None,
) -> Metric:
    """An Object metric; by default of a Service."""
    described = described or {"apiVersion": "v1", "kind": "Service", "name": "front"}
    source = {
        "describedObject": dict(described),
        "metric": _named(name, selector),
        "target": target,
    }
    return {"type": "Object", "object": source}


def external(name: str, target: Metric, selector: Mapping[str, Any] | None = None) -> Metric:
    """An External metric."""
    return {"type": "External", "external": {"metric": _named(name, selector), "target": target}}


def spec(*metrics: Metric, least: int = 1, most: int = 100, **more: Any) -> Spec:
    """An autoscaler's spec that scales down at once unless `behavior` is given (None: no behavior)."""
    behavior = more.pop("behavior", FREE)
    fields: dict[str, Any] = {"minReplicas": least, "maxReplicas": most, "metrics": list(metrics)}
    if behavior is not None:
        fields["behavior"] = behavior
    return {**fields, **more}


def pods(count: int, **fields: Any) -> tuple[Pod, ...]:
    """Identical pods p0, p1, ..."""
    return tuple(Pod(name=f"p{number}", **fields) for number in range(count))


def changed(all_pods: Sequence[Pod], number: int, **fields: Any) -> tuple[Pod, ...]:
    """The same pods with one changed."""
    return tuple(
        msgspec.structs.replace(pod, **fields) if index == number else pod
        for index, pod in enumerate(all_pods)
    )


def requesting(cpu: str = "1", memory: str = "1Gi") -> tuple[Container, ...]:
    """One container with requests."""
    return (Container(requests={"cpu": cpu, "memory": memory}),)


def usage(*cpu: str, memory: str = "512Mi", **fields: Any) -> tuple[Usage, ...]:
    """The cpu usage of p0, p1, ...; an empty string omits the pod."""
    return tuple(
        Usage(pod=f"p{number}", containers={"app": {"cpu": each, "memory": memory}}, **fields)
        for number, each in enumerate(cpu)
        if each
    )


def of_pods(metric: str, *values: str, **fields: Any) -> Responses:
    """A Pods metric of p0, p1, ...; an empty string omits the pod."""
    samples = tuple(
        Sample(name=f"p{number}", value=value, **fields)
        for number, value in enumerate(values)
        if value
    )
    return {f"pods/*/{metric}": samples}


def of_service(metric: str, *values: str) -> Responses:
    """An Object metric of the Service `front`."""
    return {f"services/front/{metric}": tuple(Sample(name="front", value=v) for v in values)}


def of_queue(metric: str, *values: str) -> Responses:
    """An External metric."""
    return {f"external/{metric}": tuple(Sample(value=value) for value in values)}


def state(
    wanted: Spec,
    *,
    replicas: int | None = 3,
    status: int | None = None,
    all_pods: int | Sequence[Pod] = 3,
    responses: Responses | None = None,
    measured: tuple[Usage, ...] | ErrorResponse = (),
    **more: Any,
) -> ClusterState:
    """One autoscaler `web` and its target; `more` are further fields of the Scale, or the target's `ref`."""
    ref = more.pop("ref", None)
    scale = Scale(replicas=replicas, status=status, **more)
    listed = pods(all_pods) if isinstance(all_pods, int) else tuple(all_pods)
    return ClusterState(
        autoscalers=(Autoscaler(spec=wanted, scale=scale, ref=ref),),
        pods=listed,
        responses=responses or {},
        usage=measured,
    )


def then(before: ClusterState, **changes: Any) -> ClusterState:
    """The following state, with changes of `responses`, `measured`, `all_pods`, `spec` or fields of the Scale."""
    autoscaler = before.autoscalers[0]
    listed = changes.pop("all_pods", before.pods)
    responses = changes.pop("responses", before.responses)
    measured = changes.pop("measured", before.usage)
    wanted = changes.pop("spec", autoscaler.spec)
    # What the autoscaler has written stays unless the step changes it.
    scale = msgspec.structs.replace(autoscaler.scale, **{"replicas": None, **changes})
    return ClusterState(
        autoscalers=(msgspec.structs.replace(autoscaler, spec=wanted, scale=scale),),
        pods=pods(listed) if isinstance(listed, int) else tuple(listed),
        responses=responses,
        usage=measured,
    )


def scenario(category: str, name: str, *steps: ClusterState | Step) -> Scenario:
    """A scenario of consecutive states."""
    whole = tuple(each if isinstance(each, Step) else Step(state=each) for each in steps)
    return Scenario(name=f"{category}: {name}", category=category, steps=whole)
