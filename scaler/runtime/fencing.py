"""Writes that are sent only while this replica leads, or owns the shard of the namespace.

A process that was paused, or whose machine stood still, goes on where it was: with a decision
that is minutes old, and before its election has noticed that another replica leads.
"""

from collections.abc import Callable, Mapping

from scaler.runtime.watches import namespace_of
from wire.api.status import NotSent
from wire.kube.requests import JSON, BeforeEach, Writer


class WritesWhileLeading(Writer):
    """The requests of `client`; a write to a namespace with a `refusal` raises `NotSent`."""

    def __init__(self, client: Writer, refusal: Callable[[str], str | None]) -> None:
        """`refusal`: why this replica must not write to a namespace; None while it may."""
        self._client = client
        self._refusal = refusal

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
        """A GET is always sent. Writes are checked each time: while a busy server is waited for, the lease may be lost."""
        namespace = namespace_of(path)

        def check() -> None:
            if method != "GET" and (refusal := self._refusal(namespace)):
                raise NotSent(f"{path} was not written: {refusal}")
            if before_each is not None:
                before_each()

        return await self._client.send(
            method,
            path,
            params=params,
            accept=accept,
            body=body,
            content_type=content_type,
            before_each=check,
        )
