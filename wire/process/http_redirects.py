"""Redirects are not followed: credentials are for the server to which they are sent, and headers would be sent to the next one."""

import aiohttp


async def refuse_redirects(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A middleware of a session for WebSockets, which have no `allow_redirects`. Raises `aiohttp.ClientResponseError`."""
    response = await send(request)
    if 300 <= response.status < 400:
        response.close()
        raise aiohttp.ClientResponseError(
            response.request_info,
            response.history,
            status=response.status,
            message="the server redirects to another address, which gets no credentials",
        )
    return response
