"""Bounds what one metric, namespace or API group that hangs can take from the others.

A metrics API that does not answer holds requests until their deadline. Without bounds they would take
every connection, and the seats that the API server's priority and fairness grants to the scaler.
"""

import asyncio
from collections.abc import Mapping
from weakref import WeakValueDictionary

from wire.api.duration import format_duration
from wire.api.status import Unavailable
from wire.kube.requests import JSON, Reader

# Requests in flight. At 50 ms per response 128 are 2,500 requests a second; and they are half of the
# seats that kube-apiserver has for its priority level workload-low.
GROUP_REQUESTS_MAX = 128
NAMESPACE_REQUESTS_MAX = 64
METRIC_REQUESTS_MAX = 32


class BoundedReader:
    """A `Reader` of the metrics APIs with a deadline and with limits of requests in flight."""

    def __init__(self, kube: Reader, *, deadline_seconds: float) -> None:
        """`deadline_seconds`: for a request, including the time that it waits for a limit."""
        self._kube = kube
        self._deadline_seconds = deadline_seconds
        # A limit exists for as long as a request uses it or waits for it.
        self._limits: WeakValueDictionary[tuple[str, ...], asyncio.Semaphore] = (
            WeakValueDictionary()
        )

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError`, and `Unavailable` also after the deadline."""
        group, namespace, metric = _place(path)
        # The narrowest first: a request that waits for it takes no place in a wider one.
        in_metric = self._limit((group, namespace, metric), METRIC_REQUESTS_MAX)
        in_namespace = self._limit((group, namespace), NAMESPACE_REQUESTS_MAX)
        in_group = self._limit((group,), GROUP_REQUESTS_MAX)
        try:
            async with asyncio.timeout(self._deadline_seconds), in_metric, in_namespace, in_group:
                return await self._kube.get(path, params, accept=accept)
        except TimeoutError as error:
            raise Unavailable(no_answer(self._deadline_seconds)) from error

    def _limit(self, key: tuple[str, ...], requests_max: int) -> asyncio.Semaphore:
        limit = self._limits.get(key)
        if limit is None:
            limit = self._limits[key] = asyncio.Semaphore(requests_max)
        return limit


def no_answer(deadline_seconds: float) -> str:
    """What a request that took too long is reported as."""
    return f"no answer within {format_duration(deadline_seconds)}"


def _place(path: str) -> tuple[str, str, str]:
    """Group, namespace and metric of `/apis/GROUP/VERSION/namespaces/NAMESPACE/.../METRIC`, which may have a query."""
    parts = path.partition("?")[0].split("/")
    if len(parts) < 7 or parts[4] != "namespaces":
        return path, "", ""
    return parts[2], parts[5], parts[-1]
