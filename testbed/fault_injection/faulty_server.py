"""An HTTP/1.1 server on loopback that misbehaves on request, in the ways a network and a broken server do.

It knows nothing of what it serves: `respond` makes the right response, and the current fault decides
what becomes of it on the wire.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

import msgspec

REQUEST_BYTES_MAX = 1 << 20
HANG_SECONDS = 5.0
SLOW_PIECES = 8


class Request(msgspec.Struct, frozen=True):
    """One request as it arrived; `target` is path and query, still escaped."""

    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent back: a body, or a stream of lines that ends when the iterator does."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}
    stream: AsyncIterator[bytes] | None = None


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to a response. `probability` is per request; the default is every one."""

    kind: str
    probability: float = 1.0
    seconds: float = HANG_SECONDS


NONE = Fault(kind="none")
Respond = Callable[[Request], Awaitable[Response]]


class FaultyServer:
    """`async with FaultyServer(respond, seed) as server:`; set `server.fault` at any time."""

    def __init__(self, respond: Respond, seed: int) -> None:
        self.fault = NONE
        self.requests = 0
        self._respond = respond
        self._random = random.Random(seed)  # noqa: S311 - repeatable by seed
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        """Of the server, without a trailing slash."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.disconnect()

    async def disconnect(self) -> None:
        """Stop listening and cut every connection: the server is gone until `reconnect`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def reconnect(self) -> None:
        """Listen on the same port again."""
        if self._server is None:
            await self._listen()

    async def cut_connections(self) -> None:
        """Cut every connection, and go on listening."""
        await self.disconnect()
        await self.reconnect()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, limit=REQUEST_BYTES_MAX, reuse_address=True
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            if task is not None:
                self._connections.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        request = await read_request(reader)
        if request is None:
            return False
        self.requests += 1
        fault = self.fault
        if fault.kind != "none" and self._random.random() >= fault.probability:
            fault = NONE
        response = await self._respond(request)
        if response.stream is not None:
            return await self._send_stream(response.stream, writer, fault)
        return await self._send(response, writer, fault)

    async def _send_stream(
        self, lines: AsyncIterator[bytes], writer: asyncio.StreamWriter, fault: Fault
    ) -> bool:
        if fault.kind in ("503", "429"):
            return await self._send(Response(), writer, fault)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        async for line in lines:
            if fault.kind == "cut":
                line = line[: len(line) // 2]
            elif fault.kind == "garbage":
                line = b"{]\n"
            writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            if fault.kind in ("cut", "closes"):
                writer.transport.abort()
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _send(self, response: Response, writer: asyncio.StreamWriter, fault: Fault) -> bool:
        match fault.kind:
            case "hangs":
                await asyncio.sleep(fault.seconds)
                return False
            case "closes":
                writer.transport.abort()
                return False
            case "503" | "500" | "429" | "403":
                retry = {"Retry-After": "1"} if fault.kind == "429" else {}
                response = Response(status=int(fault.kind), body=b"no", headers=retry)
            case "garbage":
                response = Response(body=self._random.randbytes(200))
            case "html":
                response = Response(body=b"<html>log in first</html>", content_type="text/html")
            case "empty":
                response = Response()
        head = _head(response)
        match fault.kind:
            case "cut":
                writer.write(head + response.body[: len(response.body) // 2])
                await writer.drain()
                writer.transport.abort()
                return False
            case "slow":
                writer.write(head)
                size = max(1, len(response.body) // SLOW_PIECES)
                for start in range(0, len(response.body), size):
                    writer.write(response.body[start : start + size])
                    await writer.drain()
                    await asyncio.sleep(fault.seconds / SLOW_PIECES)
            case _:
                writer.write(head + response.body)
        await writer.drain()
        return True


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


def _head(response: Response) -> bytes:
    headers = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        **response.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {response.status} X\r\n{lines}\r\n".encode()
