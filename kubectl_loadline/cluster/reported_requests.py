"""Requests to the API server, reported while the user waits for them."""

from collections.abc import Mapping

from kubectl_loadline.terminal.progress import ProgressLine
from wire.kube.requests import JSON, BeforeEach, Writer


class ReportedRequests(Writer):
    """The requests of `client`, each with the method and the path in the progress line."""

    def __init__(self, client: Writer, progress: ProgressLine) -> None:
        self._client = client
        self._progress = progress

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
        """As the client does."""
        async with self._progress.waiting_for(f"waiting for {method} {path}"):
            return await self._client.send(
                method,
                path,
                params=params,
                accept=accept,
                body=body,
                content_type=content_type,
                before_each=before_each,
            )
