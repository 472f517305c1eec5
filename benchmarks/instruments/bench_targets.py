"""Scalable custom resources with an autoscaler each, and checks of their replicas."""

import asyncio
import base64
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from benchmarks.instruments.metrics_api import METRIC, TARGET, replicas
from testbed import web
from testbed.certificates import KeyPair
from testbed.cluster import Cluster
from wire.kube.client import KubeClient
from wire.kube.connection import connect

NAMESPACE = "bench"
GROUP, PLURAL, KIND = "bench.loadline.io", "benchtargets", "BenchTarget"
SCALER_ACCOUNT = "scaler"
_TARGETS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{PLURAL}"
_HPAS = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"


class Targets:
    """All targets, accessed as the administrator."""

    def __init__(self, cluster: Cluster, count: int) -> None:
        self._cluster = cluster
        self._count = count
        self._port = int(cluster.api_url.rsplit(":", 1)[1])
        self.tls = web.trusting(None)
        self.tls.load_cert_chain(*_administrator(cluster))

    def reset(self) -> None:
        """Set every target to one replica."""
        asyncio.run(self._reset())

    async def _reset(self) -> None:
        # kubectl would send one request after the other, and throttle itself.
        connection = await connect(self._cluster.kubeconfig, user_agent="benchmarks")
        client = KubeClient(connection)
        one = msgspec.json.encode({"spec": {"replicas": 1}})
        try:
            await asyncio.gather(
                *(client.patch(f"{_TARGETS}/web-{number}", one) for number in range(self._count))
            )
        finally:
            await client.close()

    def have_expected_replicas(self) -> bool:
        """Whether each target has the replicas for its metric's value."""
        items = self._list(_TARGETS)
        return {n: each["spec"]["replicas"] for n, each in items.items()} == {
            n: replicas(n) for n in range(self._count)
        }

    def check_statuses(self) -> None:
        """Check the measured value and desired replicas in every status. Raises AssertionError."""
        for number, each in self._list(_HPAS).items():
            status = each["status"]
            assert status["desiredReplicas"] == replicas(number), each
            [metric] = status["currentMetrics"]
            assert metric["external"]["current"] == {"averageValue": str(TARGET)}, each

    def _list(self, path: str) -> dict[int, Any]:
        response = web.get(self._port, path, tls=self.tls)
        assert response is not None, "kube-apiserver does not respond"
        assert response.status == 200, response.text
        items = msgspec.json.decode(response.body)["items"]
        return {int(each["metadata"]["name"].removeprefix("web-")): each for each in items}


def manifests(count: int) -> Iterator[str]:
    """The CustomResourceDefinition first, then all other objects."""
    yield _text(_definition())
    yield _text({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield from map(_text, _account())
    for number in range(count):
        meta = {"name": f"web-{number}", "namespace": NAMESPACE}
        yield _text(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": KIND,
                "metadata": meta,
                "spec": {"replicas": 1},
                # No controller runs them: the metric is divided by this constant number.
                "status": {"replicas": replicas(number), "selector": f"app=web-{number}"},
            }
        )
        yield _text(
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": meta,
                "spec": _autoscaler(number),
            }
        )


def _autoscaler(number: int) -> dict[str, Any]:
    named = {"name": METRIC, "selector": {"matchLabels": {"queue": str(number)}}}
    target = {"type": "AverageValue", "averageValue": str(TARGET)}
    return {
        "scaleTargetRef": {"apiVersion": f"{GROUP}/v1", "kind": KIND, "name": f"web-{number}"},
        "minReplicas": 1,
        "maxReplicas": 50,
        "metrics": [{"type": "External", "external": {"metric": named, "target": target}}],
    }


def _definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"scale": scale},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "benchtarget", "kind": KIND},
            "versions": [version],
        },
    }


def _account() -> Iterator[dict[str, Any]]:
    """The permissions that the chart would grant; kube-controller-manager uses a service account, too."""
    rbac = "rbac.authorization.k8s.io"
    watching = ["get", "list", "watch"]
    rules = [
        (["autoscaling"], ["horizontalpodautoscalers"], watching),
        (["autoscaling"], ["horizontalpodautoscalers/status"], ["update"]),
        ([""], ["pods"], watching),
        ([GROUP], [f"{PLURAL}/scale"], ["get", "update"]),
        (["", "events.k8s.io"], ["events"], ["create", "patch"]),
        (["external.metrics.k8s.io"], ["*"], ["list"]),
    ]
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": SCALER_ACCOUNT, "namespace": NAMESPACE},
    }
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "bench-scaler"},
        "rules": [{"apiGroups": g, "resources": r, "verbs": v} for g, r, v in rules],
    }
    # For the access reviews of /metrics.
    for role in ("bench-scaler", "system:auth-delegator"):
        yield {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"bench-{role.replace(':', '-')}"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [
                {"kind": "ServiceAccount", "name": SCALER_ACCOUNT, "namespace": NAMESPACE}
            ],
        }
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "bench-scaler-reads-authorities", "namespace": "kube-system"},
        "roleRef": {
            "apiGroup": rbac,
            "kind": "Role",
            "name": "extension-apiserver-authentication-reader",
        },
        "subjects": [{"kind": "ServiceAccount", "name": SCALER_ACCOUNT, "namespace": NAMESPACE}],
    }


def _text(manifest: Mapping[str, object]) -> str:
    return msgspec.json.encode(manifest).decode()


def _administrator(cluster: Cluster) -> tuple[Any, Any]:
    [user] = msgspec.json.decode(cluster.kubeconfig.read_bytes())["users"]
    parts = {
        kind: base64.b64decode(user["user"][f"client-{kind}-data"])
        for kind in ("certificate", "key")
    }
    return KeyPair(**parts).write(cluster.certificate_directory, "bench")
