"""Requests that aiohttp sends once. By default it repeats one whose connection was closed, and its caller does not know.

So the caller decides whether, how often and with which check a request is repeated.
"""

import aiohttp


class ClosedBeforeResponse(Exception):
    """The server closed the connection before it responded. aiohttp does not know this error, so it repeats nothing."""

    def __init__(self, error: aiohttp.ClientError) -> None:
        super().__init__(str(error) or type(error).__name__)
        self.error = error


async def single_attempt(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A middleware of a session. Raises `ClosedBeforeResponse`, and what aiohttp raises if it cannot connect."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise ClosedBeforeResponse(error) from error
