"""A WebSocket to a server with the credentials of a connection: bytes in, bytes out, and Loadline's own errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from wire.api.status import Unavailable, from_response
from wire.kube.connection import Connection
from wire.kube.redirects import refuse_redirects

CONNECT_SECONDS: Final = 5.0
SEND_SECONDS: Final = 5.0


class WebSocket:
    """An open WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, address: str) -> None:
        self._socket = socket
        self._address = address

    async def send(self, message: bytes) -> None:
        """Raises `Unavailable` if it cannot be sent in time."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._socket.send_bytes(message)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"{self._address}: {error or 'timed out sending'}") from error

    async def receive(self, *, within_seconds: float) -> bytes:
        """The next message. Raises `Unavailable` if there is none in time, and when the server has disconnected."""
        try:
            message = await self._socket.receive(timeout=within_seconds)
        except TimeoutError as error:
            raise Unavailable(f"{self._address}: timed out waiting for a message") from error
        if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            data: bytes | str = message.data
            return data.encode() if isinstance(data, str) else data
        raise Unavailable(f"{self._address}: disconnected ({self._socket.close_code})")


@asynccontextmanager
async def websocket(
    connection: Connection, path: str, *, message_bytes_max: int
) -> AsyncIterator[WebSocket]:
    """Connect. Raises `StatusError` if the server refuses, and `Unavailable`."""
    headers = {"User-Agent": connection.user_agent}
    authorization = await connection.authorization()
    if authorization:
        headers["Authorization"] = authorization
    address = connection.server + path
    async with aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(), middlewares=(refuse_redirects,)
    ) as session:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                socket = await session.ws_connect(
                    address,
                    headers=headers,
                    ssl=connection.tls or True,
                    server_hostname=connection.server_hostname,
                    proxy=connection.proxy,
                    max_msg_size=message_bytes_max,
                )
        except aiohttp.WSServerHandshakeError as error:
            raise from_response(error.status, b"") from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(
                f"{address}: {error or 'timed out waiting for a response'}"
            ) from error
        try:
            yield WebSocket(socket, address)
        finally:
            await socket.close()
