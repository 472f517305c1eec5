"""How much memory do the watched pods take? Prints the resident memory per pod, without a cluster.

`python -m benchmarks.pod_memory [PODS]`: a LIST of that many pods, of templates with 100 pods each and as large
as kube-apiserver's (managed fields, volumes, environment, five conditions), through the scaler's own cache.
"""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from benchmarks.instruments import proc
from scaler.cluster.pods import WatchedPods
from wire.api.labels import parse
from wire.kube.requests import OnAccepted

PODS = 100_000
PODS_PER_TEMPLATE = 100
APP = {"cpu": "500m", "memory": "512Mi"}
PROXY = {"cpu": "100m", "memory": "128Mi"}
STARTED = "2026-01-01T00:00:00Z"


class ManyPods:
    """An API server with `count` pods; its watch stays silent."""

    def __init__(self, count: int) -> None:
        self._count = count

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        """A page of the LIST."""
        params = params or {}
        first, limit = int(params.get("continue", 0)), int(params["limit"])
        numbers = range(first, min(first + limit, self._count))
        metadata = {"resourceVersion": "1"}
        if numbers.stop < self._count:
            metadata["continue"] = str(numbers.stop)
        return msgspec.json.encode({"metadata": metadata, "items": [pod(n) for n in numbers]})

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = "",
        timeout_seconds: float = 0.0,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        """No events."""
        await asyncio.Event().wait()
        yield b""


def pod(number: int) -> dict[str, Any]:
    """A pod of a Deployment with a sidecar, as kube-apiserver returns it."""
    template = number // PODS_PER_TEMPLATE
    app = f"service-{template}"
    name = f"{app}-6f7c5d9b8-{number:05d}"
    labels = {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": app,
        "app.kubernetes.io/version": "1.42.0",
        "pod-template-hash": f"6f7c5d{template:04d}",
        "team": f"team-{template % 20}",
    }
    return {
        "metadata": {
            "name": name,
            "generateName": f"{app}-6f7c5d9b8-",
            "namespace": f"namespace-{template % 50}",
            "uid": f"8b1f2c3d-0000-4000-8000-{number:012d}",
            "resourceVersion": str(10_000_000 + number),
            "creationTimestamp": STARTED,
            "labels": labels,
            "annotations": {
                "prometheus.io/scrape": "true",
                "checksum/config": f"{template:064x}",
                "kubectl.kubernetes.io/restartedAt": STARTED,
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{app}-6f7c5d9b8",
                    "uid": f"9c1f2c3d-0000-4000-8000-{template:012d}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:phase": {}}}}]
            * 3,
        },
        "spec": {
            "containers": [container("app", APP), container("proxy", PROXY)],
            "initContainers": [container("migrate", {"cpu": "100m", "memory": "64Mi"})],
            "nodeName": f"node-{number % 1000}",
            "volumes": [{"name": "config", "configMap": {"name": app}}] * 3,
        },
        "status": {
            "phase": "Running",
            "startTime": started(number),
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": started(number)}
                for kind in (
                    "PodReadyToStartContainers",
                    "Initialized",
                    "Ready",
                    "ContainersReady",
                    "PodScheduled",
                )
            ],
            "containerStatuses": [
                {
                    "name": name,
                    "ready": True,
                    "allocatedResources": requests,
                    "resources": both(requests),
                }
                for name, requests in (("app", APP), ("proxy", PROXY))
            ],
            "podIP": f"10.{number // 65536}.{number // 256 % 256}.{number % 256}",
        },
    }


def container(name: str, requests: dict[str, str]) -> dict[str, Any]:
    """A container with requests, limits and an environment."""
    return {
        "name": name,
        "image": f"registry.example.com/{name}:1.42.0",
        "env": [{"name": f"SETTING_{n}", "value": "x" * 20} for n in range(10)],
        "resources": both(requests),
    }


def both(requests: dict[str, str]) -> dict[str, Any]:
    """Requests, and the same limits."""
    return {"requests": requests, "limits": requests}


def started(number: int) -> str:
    """A time that few other pods have."""
    return f"2026-01-{1 + number // 86400 % 28:02d}T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"


async def measured(count: int) -> tuple[float, WatchedPods]:
    """The growth of the resident memory in MiB, and the pods."""
    warm = WatchedPods(ManyPods(500), ())
    await listed(warm)
    del warm
    gc.collect()
    before = proc.rss_mib(os.getpid())
    pods = WatchedPods(ManyPods(count), ())
    await listed(pods)
    gc.collect()
    return proc.rss_mib(os.getpid()) - before, pods


async def listed(pods: WatchedPods) -> None:
    """Wait for the LIST."""
    running = [asyncio.create_task(cache.run()) for cache in pods.caches]
    for cache in pods.caches:
        await cache.synced()
    for task in running:
        task.cancel()


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    grown_mib, pods = asyncio.run(measured(count))
    found = pods.matching("namespace-0", parse("app.kubernetes.io/name=service-0"))
    assert len(found) == min(PODS_PER_TEMPLATE, count), len(found)
    print(f"{count} pods: {grown_mib:.0f} MiB, {grown_mib * 2**20 / count:.0f} bytes per pod")


if __name__ == "__main__":
    main()
