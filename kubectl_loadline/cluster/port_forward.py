"""A local port that is forwarded to a port of a pod through the API server, as `kubectl port-forward` does.

The protocol is the WebSocket one of the kubelet (k8s.io/cri-streaming pkg/streaming/portforward/websocket.go): a
message begins with the number of its channel, 0 for the data and 1 for an error, and the first message of a channel is the
port. Each local connection has a WebSocket of its own. The user needs permission to get and create `pods/portforward`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.connection import Connection
from wire.kube.redirects import refuse_redirects

PROTOCOL: Final = "v4.channel.k8s.io"
DATA: Final = 0
ERROR: Final = 1
CHUNK_BYTES: Final = 2**16
CONNECT_SECONDS: Final = 30.0
# Of one message; the kubelet sends at most 32 KiB.
MESSAGE_BYTES_MAX: Final = 2**22


class ForwardedPort:
    """A port of 127.0.0.1, or a Unix socket. `problem` is what the kubelet reported last, such as a refused connection."""

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        pod: str,
        port: int,
        *,
        socket: Path | None = None,
    ) -> None:
        names = (quote(each, safe="") for each in (namespace, pod))
        self._path = "/api/v1/namespaces/{}/pods/{}/portforward".format(*names)
        self._connection = connection
        self._remote_port = port
        self._socket = socket
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=connection.tls or True, limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(refuse_redirects,),
        )
        self._opened: aiohttp.ClientWebSocketResponse | None = None
        self._server: asyncio.Server | None = None
        self._transfers: set[asyncio.Task[None]] = set()
        self.local_port = 0
        self.problem: str | None = None

    async def open(self) -> None:
        """Connect to the pod and listen. Raises `StatusError` and `Unavailable`."""
        # The first connection is made now, so that a missing right is reported and not a closed connection.
        self._opened = await self._websocket()
        if self._socket is not None:
            self._server = await asyncio.start_unix_server(self._accept, self._socket)
            return
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.local_port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close every connection."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._transfers):
            task.cancel()
        await asyncio.gather(*self._transfers, return_exceptions=True)
        if self._opened is not None:
            await self._opened.close()
        await self._session.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._transfers.add(task)
            task.add_done_callback(self._transfers.discard)
        try:
            opened, self._opened = self._opened, None
            await self._transfer(opened or await self._websocket(), reader, writer)
        except (StatusError, Unavailable) as error:
            self.problem = error.message
        except (aiohttp.ClientError, OSError) as error:
            self.problem = str(error)
        finally:
            writer.close()

    async def _transfer(
        self,
        websocket: aiohttp.ClientWebSocketResponse,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Until either side closes the connection."""
        async with websocket:
            sending = asyncio.create_task(_send(reader, websocket))
            try:
                self.problem = await _receive(websocket, writer) or self.problem
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)

    async def _websocket(self) -> aiohttp.ClientWebSocketResponse:
        headers = [("User-Agent", self._connection.user_agent), *self._connection.impersonation]
        authorization = await self._connection.authorization()
        if authorization:
            headers.append(("Authorization", authorization))
        try:
            return await self._session.ws_connect(
                URL(self._connection.server + self._path, encoded=True).with_query(
                    ports=str(self._remote_port)
                ),
                protocols=(PROTOCOL,),
                headers=headers,
                proxy=self._connection.proxy,
                max_msg_size=MESSAGE_BYTES_MAX,
                timeout=aiohttp.ClientWSTimeout(ws_close=1.0),
                server_hostname=self._connection.server_hostname,
            )
        except aiohttp.WSServerHandshakeError as error:
            raise await self._refusal(error) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unavailable(f"GET {self._connection.server}{self._path}: {error}") from error

    async def _refusal(self, error: aiohttp.WSServerHandshakeError) -> StatusError | Unavailable:
        """The API server's own words, which aiohttp drops: a request without an upgrade gets them again."""
        client = KubeClient(self._connection, busy_retries_max=0)
        try:
            await client.get(self._path, {"ports": str(self._remote_port)})
        except StatusError as status:
            if status.code == error.status:
                return status
        except Unavailable as unavailable:
            return unavailable
        finally:
            await client.close()
        return Unavailable(
            f"GET {self._connection.server}{self._path}: status {error.status} instead of a WebSocket; "
            "a proxy or gateway in front of the API server may not allow WebSockets"
        )


@contextlib.asynccontextmanager
async def forwarded(
    connection: Connection, *, namespace: str, pod: str, port: int, socket: Path | None = None
) -> AsyncIterator[ForwardedPort]:
    """Forward a local port, or a Unix socket, until the end of the block. Raises `StatusError` and `Unavailable`.

    Every user of this machine can connect to a port: it is for a server that authenticates its clients.
    """
    forward = ForwardedPort(connection, namespace, pod, port, socket=socket)
    try:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await forward.open()
        except TimeoutError as error:
            raise Unavailable(
                f"no connection to port {port} of the pod {namespace}/{pod} within {CONNECT_SECONDS:g} s"
            ) from error
        yield forward
    finally:
        await forward.close()


async def _send(reader: asyncio.StreamReader, websocket: aiohttp.ClientWebSocketResponse) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        await websocket.send_bytes(bytes([DATA]) + chunk)
    await websocket.close()


async def _receive(websocket: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter) -> str:
    """Write the data; returns what the error channel reported."""
    begun: set[int] = set()
    problem = ""
    async for message in websocket:
        if message.type != aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, content = message.data[0], message.data[1:]
        if channel not in begun:
            begun.add(channel)  # the port
        elif channel == DATA:
            writer.write(content)
            await writer.drain()
        elif channel == ERROR:
            problem += content.decode(errors="replace")
            break
    return problem
