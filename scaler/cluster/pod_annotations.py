"""Writes annotations of pods just before a scale-down. Best effort: the scale-down does not depend on it."""

import asyncio
from collections.abc import Sequence

import msgspec

from scaler.algorithm.decision import Event, PodPatch, warning
from scaler.cluster.failed_requests import worded
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Writer

# A scale-down must not wait for long for what is only an improvement.
DEADLINE_SECONDS = 5.0
REQUESTS_MAX = 10


async def write_pod_annotations(
    kube: Writer, namespace: str, patches: Sequence[PodPatch]
) -> Event | None:
    """PATCH each pod; returns the event of the first problem."""
    problems: list[str | None] = [None] * len(patches)
    left = iter(enumerate(patches))

    async def write() -> None:
        for place, one in left:
            problems[place] = await _problem_of_write(kube, namespace, one)

    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(*(write() for _ in range(REQUESTS_MAX)))
    except TimeoutError:
        problems = [f"not all pods were marked within {DEADLINE_SECONDS:g} s"]
    failed = zip(patches, problems, strict=False)
    return next((warning(each.failed_reason, problem) for each, problem in failed if problem), None)


async def _problem_of_write(kube: Writer, namespace: str, one: PodPatch) -> str | None:
    # If another client has changed the pod since it was observed, the API server responds with 409.
    metadata = {"resourceVersion": one.resource_version, "annotations": one.annotations}
    body = msgspec.json.encode({"metadata": metadata})
    try:
        await kube.patch(f"/api/v1/namespaces/{namespace}/pods/{one.pod_name}", body)
    except (StatusError, Unavailable) as error:
        if isinstance(error, StatusError) and error.code == 404:
            return None  # deleted meanwhile
        return worded(error, verb="patch", resource="pods", name=one.pod_name)
    return None
