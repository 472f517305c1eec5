"""The requests to an API server that the two programs make, as protocols; `KubeClient` makes them all.

Paths are sent as they are, so names in them must be escaped. Bodies are bytes. Every method raises
`wire.api.status.StatusError` for an answer that is not 2xx and `Unavailable` where no answer came: `NotSent`, which is one,
if the server cannot have received the request, and `BodyTooLarge`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol

import msgspec

from wire.api.status import Unavailable

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


class BodyTooLarge(Unavailable):
    """The body of the response is larger than it may be."""


class PageTooLarge(BodyTooLarge):
    """The response to a LIST with a `limit` of more than one object is larger than `bytes_max`: request fewer objects."""

    def __init__(self, message: str, *, bytes_max: int) -> None:
        super().__init__(message)
        self.bytes_max = bytes_max


OnAccepted = Callable[[], None]
"""Called when the server has accepted a watch: its first event may be a long time away."""


class Reader(Protocol):
    """GET."""

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes: ...


class Watcher(Reader, Protocol):
    """GET, and the events of a watch as one line of JSON each."""

    def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = ...,
        on_accepted: OnAccepted = ...,
    ) -> AsyncGenerator[bytes, None]: ...


BeforeEach = Callable[[], None]
"""Called before each time that a request is sent, also after a busy server; raises `NotSent` if it must not be sent any more."""


class Writer(Reader, Protocol):
    """GET, POST, PUT, PATCH and DELETE. An implementation that inherits from this has only `send` to write."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
        before_each: BeforeEach | None = None,
    ) -> bytes:
        """The body of a 2xx response."""
        ...

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """GET."""
        return await self.send("GET", path, params=params, accept=accept)

    async def create(self, path: str, body: bytes) -> bytes:
        """POST. Raises `StatusError` 409 AlreadyExists when the name is taken."""
        return await self.send("POST", path, body=body)

    async def replace(
        self, path: str, body: bytes, *, before_each: BeforeEach | None = None
    ) -> bytes:
        """PUT. Raises `StatusError` 409 Conflict when the resourceVersion in the body is old."""
        return await self.send("PUT", path, body=body, before_each=before_each)

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """PATCH; `content_type` says of which kind."""
        return await self.send("PATCH", path, body=body, content_type=content_type)

    async def delete(self, path: str, *, resource_version: str) -> bytes:
        """DELETE. Raises `StatusError` 409 Conflict when the object has another resourceVersion."""
        options = {"preconditions": {"resourceVersion": resource_version}}
        return await self.send("DELETE", path, body=msgspec.json.encode(options))
