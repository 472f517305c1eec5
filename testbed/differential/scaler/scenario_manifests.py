"""PURE  States of scenarios as Kubernetes objects."""

import datetime
from typing import Any

from testbed.differential.scaler.scenario_model import Autoscaler, Container, Pod

Manifest = dict[str, Any]
FINALIZER = "testbed.loadline.io/keep"
IMAGE = "registry.invalid/none"


def namespace(name: str) -> Manifest:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def autoscaler_manifest(autoscaler: Autoscaler, *, api_version: str, kind: str) -> Manifest:
    """An autoscaler of either kind, with the same spec."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": autoscaler.name},
        "spec": {**autoscaler.spec, "scaleTargetRef": dict(autoscaler.target_ref)},
    }


def deployment(autoscaler: Autoscaler) -> Manifest:
    """A Deployment without a controller, so the harness writes its status."""
    labels = _labels(autoscaler.scale.selector)
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": IMAGE}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": autoscaler.target_ref["name"]},
        "spec": {
            "replicas": autoscaler.scale.replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def deployment_status(autoscaler: Autoscaler) -> Manifest:
    """Its status as the deployment controller would report it."""
    scale = autoscaler.scale
    return {"status": {"replicas": scale.replicas if scale.status is None else scale.status}}


def _labels(selector: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in selector.split(","))


def pod(described: Pod) -> Manifest:
    """The metadata and spec of a pod."""
    by_kind: dict[str, list[Manifest]] = {"container": [], "sidecar": [], "init": []}
    for each in described.containers:
        by_kind[each.kind].append(_container(each))
    metadata: Manifest = {"name": described.name, "labels": dict(described.labels)}
    if described.deleting:
        metadata["finalizers"] = [FINALIZER]
    spec: Manifest = {
        "containers": by_kind["container"],
        "initContainers": by_kind["sidecar"] + by_kind["init"],
    }
    if described.requests is not None:
        spec["resources"] = {"requests": dict(described.requests)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(container: Container) -> Manifest:
    restart = {"restartPolicy": "Always"} if container.kind == "sidecar" else {}
    resources = {"requests": dict(container.requests)}
    return {"name": container.name, "image": IMAGE, "resources": resources, **restart}


def pod_status(described: Pod, now: datetime.datetime) -> Manifest:
    """The status that the kubelet would report, as a merge patch."""
    status: Manifest = {"phase": described.phase, "conditions": [], "startTime": None}
    if described.started_seconds_ago is not None:
        status["startTime"] = _before(now, described.started_seconds_ago)
    if described.ready is not None:
        changed = _before(now, described.ready_changed_seconds_ago)
        ready = {"type": "Ready", "status": described.ready, "lastTransitionTime": changed}
        status["conditions"] = [ready]
    return {"status": status}


def differ_only_in_status(one: Pod, other: Pod) -> bool:
    """Whether the two differ only in status; otherwise the pod must be replaced."""
    return pod(one) == pod(other)


def _before(now: datetime.datetime, seconds: float) -> str:
    return (now - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
