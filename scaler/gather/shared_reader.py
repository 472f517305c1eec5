"""Sends equal reads of the metrics APIs once.

Many autoscalers read the same metric of one object, or the same queue. While a request is in flight
equal ones wait for its response, and a response serves for a moment after it arrived: at most a tenth of the
period of the autoscaler that reads it. A failure is shared only with those who waited for it.
"""

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from scaler.telemetry import Telemetry
from wire.kube.requests import JSON, Reader
from wire.single_flight import SingleFlight


class SharedReader:
    """A `Reader` that shares the responses of another one."""

    def __init__(
        self,
        kube: Reader,
        telemetry: Telemetry,
        *,
        fresh_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fresh_seconds`: how long a response may be reused; 0 shares only requests in flight."""
        self._kube = kube
        self._telemetry = telemetry
        self._fresh_seconds = fresh_seconds
        self._monotonic = monotonic
        self._in_flight: SingleFlight[str, bytes] = SingleFlight()
        # By arrival, oldest first.
        self._fresh: dict[str, tuple[float, bytes]] = {}

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError` and `Unavailable`."""
        return await self.get_within(self._fresh_seconds, path, params, accept=accept)

    async def get_within(
        self,
        fresh_seconds: float,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
    ) -> bytes:
        """`get`, from a response that is at most this old, in seconds."""
        self._drop_outdated()
        request = f"{accept} {path}?{urlencode(sorted((params or {}).items()))}"
        fresh = self._fresh.get(request)
        if fresh is not None and fresh[0] <= self._monotonic() - fresh_seconds:
            fresh = None
        self._count(path, shared=fresh is not None or request in self._in_flight)
        if fresh is not None:
            return fresh[1]
        return await self._in_flight.do(request, lambda: self._send(request, path, params, accept))

    async def _send(
        self, request: str, path: str, params: Mapping[str, str] | None, accept: str
    ) -> bytes:
        body = await self._kube.get(path, params, accept=accept)
        if self._fresh_seconds > 0:
            # At its end, to keep the order by arrival.
            self._fresh.pop(request, None)
            self._fresh[request] = (self._monotonic(), body)
        return body

    def _drop_outdated(self) -> None:
        outdated_before = self._monotonic() - self._fresh_seconds
        while self._fresh:
            oldest = next(iter(self._fresh))
            if self._fresh[oldest][0] > outdated_before:
                return
            del self._fresh[oldest]

    def _count(self, path: str, *, shared: bool) -> None:
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        result = "shared" if shared else "sent"
        self._telemetry.metrics_api_requests_total.labels(group, result).inc()


class ReaderWithin:
    """A `Reader` over the shared one that does not accept responses older than `fresh_seconds`."""

    def __init__(self, shared: SharedReader, fresh_seconds: float) -> None:
        self._shared = shared
        self._fresh_seconds = fresh_seconds

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError` and `Unavailable`."""
        return await self._shared.get_within(self._fresh_seconds, path, params, accept=accept)
