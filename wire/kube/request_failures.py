"""What a request to an API server fails with when it has no response."""

import aiohttp

from wire.api.status import NotSent, Unavailable
from wire.process.connection_errors import in_words
from wire.process.single_attempt import ClosedBeforeResponse


class FailureOf:
    """Whatever goes wrong in its body becomes `Unavailable`."""

    __slots__ = ("_method", "_path", "_server")

    def __init__(self, method: str, server: str, path: str) -> None:
        self._method = method
        self._server = server
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        match error:
            case None:
                return
            case aiohttp.ConnectionTimeoutError():
                raise NotSent(self._text("timed out connecting")) from error
            case TimeoutError():
                raise Unavailable(self._text("timed out waiting for a response")) from error
            case aiohttp.ClientConnectorError():
                raise NotSent(self._text(in_words(error))) from error
            case ClosedBeforeResponse(error=closed):
                raise ConnectionClosed(self._text(in_words(closed))) from closed
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
                raise ConnectionClosed(self._text(in_words(error))) from error
            case aiohttp.ClientError() | OSError() | ValueError():
                # ValueError: aiohttp's for an address it cannot use.
                raise Unavailable(self._text(in_words(error))) from error

    def _text(self, cause: str) -> str:
        return f"{self._method} {self._server}{self._path}: {cause}"


class ConnectionClosed(Unavailable):
    """The server closed the connection before it responded."""
