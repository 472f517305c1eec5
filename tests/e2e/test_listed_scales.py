"""The Scale that an object shows is the one that kube-apiserver returns for it."""

import msgspec
import pytest

from scaler.cluster.scale_of_object import BUILT_IN, ScaleOf, of_custom_resources
from scaler.cluster.target_scale import Scale
from scaler.runtime.initial_lists import DEFINITIONS
from testbed.cluster import Cluster
from testbed.waiting import until
from wire.api import kube_json

LABELS = {"app": "listed", "tier": "web"}
EXPRESSIONS = {
    "matchLabels": {"tier": "web"},
    "matchExpressions": [
        {"key": "app", "operator": "In", "values": ["other", "listed"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}
WORKLOADS = {
    "deployments": ("Deployment", {"replicas": 2, "selector": EXPRESSIONS}),
    "replicasets": ("ReplicaSet", {"selector": {"matchLabels": LABELS}}),
    "statefulsets": (
        "StatefulSet",
        {"replicas": 0, "serviceName": "listed", "selector": EXPRESSIONS},
    ),
}
GROUP = "listed.example.com"
PATHS = {"specReplicasPath": ".spec.size.replicas", "statusReplicasPath": ".status.current"}
RESOURCES = {
    "full": (
        {**PATHS, "labelSelectorPath": ".status.selector"},
        {"size": {"replicas": 3}},
        {"current": 2, "selector": "app=listed,tier in (b,a)"},
    ),
    "news": ({**PATHS, "labelSelectorPath": ".status.selector"}, {"size": {"replicas": 1}}, {}),
    "plains": (PATHS, {"size": {"replicas": 1}}, {"current": 1}),
}


def read(cluster: Cluster, path: str) -> bytes:
    return msgspec.json.encode(cluster.get(path))


def assert_same_scale(cluster: Cluster, scale_of: ScaleOf, path: str) -> None:
    """Of the same version: controllers change the status of a new object."""

    def same_version() -> tuple[Scale, Scale] | None:
        shown = scale_of(read(cluster, path))
        scale = kube_json.decode(read(cluster, f"{path}/scale"), Scale)
        is_same = shown.metadata.resource_version == scale.metadata.resource_version
        return (shown, scale) if is_same else None

    both = until(same_version, what=f"two reads of one version of {path}")
    shown, scale = both
    assert shown.spec == scale.spec
    assert shown.status == scale.status
    for field in ("name", "namespace", "uid"):
        assert getattr(shown.metadata, field) == getattr(scale.metadata, field)


@pytest.mark.parametrize("plural", WORKLOADS)
def test_a_workload_shows_the_scale_that_kube_apiserver_returns(cluster: Cluster, plural: str):
    kind, spec = WORKLOADS[plural]
    metadata = {"name": "listed", "namespace": "default"}
    spec = {**spec, "template": TEMPLATE}
    cluster.apply({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})
    path = f"/apis/apps/v1/namespaces/default/{plural}/listed"
    try:
        assert_same_scale(cluster, BUILT_IN["apps", plural], path)
    finally:
        cluster.kubectl("delete", plural, "listed", "-ndefault")


def test_a_replication_controller_shows_the_scale_that_kube_apiserver_returns(cluster: Cluster):
    spec = {"replicas": 2, "selector": LABELS, "template": TEMPLATE}
    metadata = {"name": "listed", "namespace": "default"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata, "spec": spec}
    )
    path = "/api/v1/namespaces/default/replicationcontrollers/listed"
    try:
        assert_same_scale(cluster, BUILT_IN["", "replicationcontrollers"], path)
    finally:
        cluster.kubectl("delete", "replicationcontroller", "listed", "-ndefault")


@pytest.mark.parametrize("plural", RESOURCES)
def test_a_custom_resource_shows_the_scale_that_kube_apiserver_returns(
    cluster: Cluster, plural: str
):
    paths, spec, status = RESOURCES[plural]
    kind = plural.title()
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"scale": paths},
        "schema": {"openAPIV3Schema": open_schema},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    cluster.apply_crd(msgspec.json.encode(definition).decode())
    metadata = {"name": "listed", "namespace": "default"}
    found = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
    cluster.apply({**found, "spec": spec, "status": status})
    path = f"/apis/{GROUP}/v1/namespaces/default/{plural}/listed"
    try:
        scale_of = of_custom_resources(read(cluster, f"{DEFINITIONS}/{plural}.{GROUP}"), "v1")
        assert_same_scale(cluster, scale_of, path)
    finally:
        cluster.kubectl("delete", "crd", f"{plural}.{GROUP}")
