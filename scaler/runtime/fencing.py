"""Writes that are sent only while this replica leads, or owns the shard of the namespace.

A process that was suspended, or whose machine stood still, goes on where it was: with a decision
that is minutes old, and before its election has noticed that another replica leads.
"""

from collections.abc import Callable, Mapping

from scaler.runtime.watches import namespace_of
from wire.api.status import Unavailable
from wire.kube.requests import JSON, MERGE_PATCH, BeforeEach, Writer


class WritesWhileLeading:
    """The requests of `client`; a write to a namespace with a `refusal` raises `Unavailable`."""

    def __init__(self, client: Writer, refusal: Callable[[str], str]) -> None:
        """`refusal`: why this replica must not write to a namespace; empty while it may."""
        self._client = client
        self._refusal = refusal

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """GET; another replica may lead."""
        return await self._client.get(path, params, accept=accept)

    async def create(
        self,
        path: str,
        body: bytes,
        params: Mapping[str, str] | None = None,
        *,
        before_each: BeforeEach | None = None,
    ) -> bytes:
        """POST."""
        check = self._check(path, before_each)
        return await self._client.create(path, body, params, before_each=check)

    async def replace(
        self,
        path: str,
        body: bytes,
        params: Mapping[str, str] | None = None,
        *,
        before_each: BeforeEach | None = None,
    ) -> bytes:
        """PUT."""
        check = self._check(path, before_each)
        return await self._client.replace(path, body, params, before_each=check)

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = MERGE_PATCH,
        params: Mapping[str, str] | None = None,
        before_each: BeforeEach | None = None,
    ) -> bytes:
        """PATCH."""
        check = self._check(path, before_each)
        return await self._client.patch(
            path, body, content_type=content_type, params=params, before_each=check
        )

    def _check(self, path: str, other: BeforeEach | None) -> BeforeEach:
        """Before each attempt: a busy server may be waited for, or the process may be suspended while it waits."""
        namespace = namespace_of(path)

        def check() -> None:
            if refusal := self._refusal(namespace):
                raise Unavailable(f"{path} was not written: {refusal}")
            if other is not None:
                other()

        return check
