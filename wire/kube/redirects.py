"""Redirects are refused where a request carries credentials: they are for one server only.

aiohttp removes only `Authorization` before it follows a redirect to another server, and sends other headers, the client
certificate and, to another path of the same server, the token. Its WebSockets have no option for that.
"""

import aiohttp


async def refuse_redirects(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A middleware of a session for WebSockets: a redirect is a handshake that has failed."""
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise aiohttp.WSServerHandshakeError(
            response.request_info,
            response.history,
            message="the server redirects the request",
            status=response.status,
            headers=response.headers,
        )
    return response
