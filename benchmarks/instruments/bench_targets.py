"""Scalable custom resources with an autoscaler each, and checks of their replicas."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

from benchmarks.instruments.metric_kinds import (
    CPU_REQUEST_MILLI,
    METRIC,
    SINCE,
    MetricKind,
    is_expected,
    metric_spec,
    pod_names,
    replicas,
)
from testbed import web
from testbed.cluster import Cluster
from wire.kube.client import KubeClient
from wire.kube.connection import connect

NAMESPACE = "bench"
GROUP, PLURAL, KIND = "bench.loadline.io", "benchtargets", "BenchTarget"
SCALER_ACCOUNT = "scaler"
CONCURRENT_REQUESTS = 50
PER_NAMESPACE = 50
"""How many targets a namespace has if they are spread."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of objects: the targets, or one of both kinds of autoscalers, whose specs have the same fields."""

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str) -> str:
        """Of the collection."""
        return f"/apis/{self.api_version}/namespaces/{namespace}/{self.plural}"


HPA = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
TARGET = Kind(f"{GROUP}/v1", KIND, PLURAL)
LOAD_AUTOSCALER = Kind("loadline.io/v1beta1", "LoadAutoscaler", "loadautoscalers")


class Targets:
    """All targets, accessed as the administrator."""

    def __init__(
        self,
        cluster: Cluster,
        count: int,
        kind: MetricKind = MetricKind.EXTERNAL,
        *,
        spread: bool = False,
        autoscalers: Kind = HPA,
    ) -> None:
        """`kind`: of the metrics of all autoscalers. `spread`: over namespaces, or else they are all in one."""
        self._spread = spread
        self._cluster = cluster
        self._kind = kind
        self._count = count
        self.autoscalers = autoscalers
        self._metric_of: Callable[[int], str] = lambda _: METRIC
        self._port = cluster.api_port
        self.tls = cluster.administrator_tls

    def create(self, metric_of: Callable[[int], str], *, with_pods: bool) -> None:
        """Create every target and its autoscaler on the metric `metric_of(number)`."""
        self._metric_of = metric_of

        async def create_namespace(client: KubeClient, number: int) -> None:
            if self._spread and number % PER_NAMESPACE == 0:
                metadata = {"name": self._namespace_of(number)}
                namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
                await client.create("/api/v1/namespaces", _text(namespace))

        async def create(client: KubeClient, number: int) -> None:
            namespace = self._namespace_of(number)
            await client.create(TARGET.path(namespace), _text(_target(number)))
            await client.create(self.autoscalers.path(namespace), self._autoscaler(number))
            pods = f"/api/v1/namespaces/{namespace}/pods"
            for name in pod_names(number) if with_pods else ():
                await client.create(pods, _text(_pod(number, name)))
                await client.patch(f"{pods}/{name}/status", _text(_READY))

        asyncio.run(self._for_each(create_namespace))
        asyncio.run(self._for_each(create))

    def replace_autoscalers(self, kind: Kind) -> None:
        """Delete those that there are, and create those of another kind with the same specs."""
        before, self.autoscalers = self.autoscalers, kind

        async def replace(client: KubeClient, number: int) -> None:
            namespace = self._namespace_of(number)
            await client.send("DELETE", f"{before.path(namespace)}/web-{number}")
            await client.create(kind.path(namespace), self._autoscaler(number))

        asyncio.run(self._for_each(replace))

    def _namespace_of(self, number: int) -> str:
        return f"{NAMESPACE}-{number // PER_NAMESPACE}" if self._spread else NAMESPACE

    def _autoscaler(self, number: int) -> bytes:
        metric = metric_spec(self._kind, number, self._metric_of(number))
        return _text(_autoscaler(self.autoscalers, number, metric))

    def reset(self) -> None:
        """Set every target to one replica."""
        self._scale(lambda _: 1)

    def scale(self) -> None:
        """Set every target to the replicas for its metric's value."""
        self._scale(replicas)

    def _scale(self, replicas_of: Callable[[int], int]) -> None:
        async def scale(client: KubeClient, number: int) -> None:
            patch = _text({"spec": {"replicas": replicas_of(number)}})
            await client.patch(f"{TARGET.path(self._namespace_of(number))}/web-{number}", patch)

        asyncio.run(self._for_each(scale))

    async def _for_each(self, act: Callable[[KubeClient, int], Awaitable[None]]) -> None:
        # kubectl would send one request after the other, and throttle itself.
        connection = await connect(self._cluster.kubeconfig, user_agent="benchmarks")
        client, limit = KubeClient(connection), asyncio.Semaphore(CONCURRENT_REQUESTS)

        async def limited(number: int) -> None:
            async with limit:
                await act(client, number)

        try:
            await asyncio.gather(*(limited(number) for number in range(self._count)))
        finally:
            await client.close()

    def have_expected_replicas(self) -> bool:
        """Whether each target has the replicas for its metric's value."""
        items = self._list(TARGET)
        return {n: each["spec"]["replicas"] for n, each in items.items()} == {
            n: replicas(n) for n in range(self._count)
        }

    def check_statuses(self) -> None:
        """Check the measured value and desired replicas in every status. Raises AssertionError."""
        for number, each in self._list(self.autoscalers).items():
            assert each["status"]["desiredReplicas"] == replicas(number), each
            assert is_expected(self._kind, number, each["status"]), each

    def statuses(self) -> dict[int, dict[str, Any]]:
        """The status of every autoscaler, without its times and what only one controller writes."""
        return {
            number: _comparable(each["status"])
            for number, each in self._list(self.autoscalers).items()
        }

    def _list(self, kind: Kind) -> dict[int, Any]:
        path = f"/apis/{kind.api_version}/{kind.plural}"
        response = web.get(self._port, path, tls=self.tls)
        assert response is not None, "kube-apiserver does not respond"
        assert response.status == 200, response.text
        items = msgspec.json.decode(response.body)["items"]
        return {int(each["metadata"]["name"].removeprefix("web-")): each for each in items}


def prerequisites() -> Iterator[dict[str, Any]]:
    """The CustomResourceDefinition of the targets first, then the namespace and the scaler's account."""
    yield _definition()
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield from _account()


def _target(number: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": f"web-{number}"},
        "spec": {"replicas": 1},
        # No controller runs them: the metric is divided by this constant number.
        "status": {"replicas": replicas(number), "selector": f"app=web-{number}"},
    }


_READY = {
    "status": {
        "phase": "Running",
        "startTime": SINCE,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": SINCE}],
    }
}


def _pod(number: int, name: str) -> dict[str, Any]:
    requests = {"cpu": f"{CPU_REQUEST_MILLI}m"}
    container = {"name": "app", "image": "none", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": f"web-{number}"}},
        "spec": {"containers": [container]},
    }


def _autoscaler(kind: Kind, number: int, metric: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": f"web-{number}"},
        "spec": {
            "scaleTargetRef": {"apiVersion": f"{GROUP}/v1", "kind": KIND, "name": f"web-{number}"},
            "minReplicas": 1,
            "maxReplicas": 50,
            "metrics": [metric],
        },
    }


def _comparable(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [
        {name: text for name, text in each.items() if name != "lastTransitionTime"}
        for each in status["conditions"]
    ]
    compared = ("currentReplicas", "desiredReplicas", "currentMetrics")
    return {"conditions": conditions, **{name: status.get(name) for name in compared}}


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
        (["loadline.io"], ["*"], ["*"]),
        ([""], ["pods"], watching),
        ([GROUP], [f"{PLURAL}/scale"], ["get", "update"]),
        ([GROUP], [PLURAL], ["list", "watch"]),
        (["", "events.k8s.io"], ["events"], ["create", "patch"]),
        (["external.metrics.k8s.io"], ["*"], ["list"]),
        (["custom.metrics.k8s.io"], ["*"], ["get"]),
        (["metrics.k8s.io"], ["pods"], ["list"]),
        (["coordination.k8s.io"], ["leases"], ["*"]),
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


def _text(manifest: dict[str, Any]) -> bytes:
    return msgspec.json.encode(manifest)
