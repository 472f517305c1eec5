"""A reader that gives the same response for some seconds, so that moving a slider sends no requests."""

import time
from collections.abc import Callable, Mapping

from wire.kube.requests import JSON, Reader
from wire.process.single_flight import SingleFlight

Key = tuple[str, tuple[tuple[str, str], ...], str]


class RememberedReader:
    """GETs of `reader`; a response is used for `seconds`. Failures are not remembered."""

    def __init__(
        self, reader: Reader, *, seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = reader
        self._seconds = seconds
        self._monotonic = monotonic
        self._responses: dict[Key, tuple[float, bytes]] = {}
        self._requests: SingleFlight[Key, bytes] = SingleFlight()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The response, perhaps that of an earlier request. Raises what the reader raises."""
        key = (path, tuple(sorted((params or {}).items())), accept)
        now = self._monotonic()
        self._forget(now)
        if key in self._responses:
            return self._responses[key][1]

        async def send() -> bytes:
            return await self._reader.get(path, params, accept=accept)

        body = await self._requests.do(key, send)
        self._responses[key] = (now, body)
        return body

    def _forget(self, now: float) -> None:
        old = [key for key, (at, _) in self._responses.items() if now - at >= self._seconds]
        for key in old:
            del self._responses[key]
