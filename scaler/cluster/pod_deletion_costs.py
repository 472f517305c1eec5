"""Writes the deletion costs of pods just before a scale-down.

Best effort: a pod that cannot be marked is deleted in the order that the ReplicaSet chooses.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from scaler.algorithm.decision import PodCost
from scaler.algorithm.observed import DELETION_COST
from scaler.cluster.ports import worded
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Writer

# A scale-down must not wait for long for what is only an improvement.
DEADLINE_SECONDS = 5.0
REQUESTS_MAX = 10


async def write_deletion_costs(kube: Writer, namespace: str, costs: Sequence[PodCost]) -> str:
    """PATCH the annotation of each pod; returns the first problem, empty if there was none."""
    limit = asyncio.Semaphore(REQUESTS_MAX)

    async def write(one: PodCost) -> str:
        async with limit:
            return await _write(kube, namespace, one)

    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            problems = await asyncio.gather(*map(write, costs))
    except TimeoutError:
        return f"not all pods were marked within {DEADLINE_SECONDS:g} s"
    return next(filter(None, problems), "")


async def _write(kube: Writer, namespace: str, cost: PodCost) -> str:
    body = msgspec.json.encode({"metadata": {"annotations": {DELETION_COST: cost.cost}}})
    try:
        await kube.patch(f"/api/v1/namespaces/{namespace}/pods/{cost.pod_name}", body)
    except (StatusError, Unavailable) as error:
        if isinstance(error, StatusError) and error.code == 404:
            return ""  # deleted meanwhile
        return worded(error, verb="patch", resource="pods", name=cost.pod_name)
    return ""
