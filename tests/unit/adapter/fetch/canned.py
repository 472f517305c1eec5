"""A server that sends exactly the prepared bytes, and records the requests."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Requested:
    """One request as it came."""

    def __init__(self, head: str, body: str) -> None:
        request_line, *header_lines = head.split("\r\n")
        self.method, target, _ = request_line.split(" ")
        self.target = target
        self.path = urlsplit(target).path
        self.parameters = parse_qs(urlsplit(target).query, keep_blank_values=True)
        self.form = parse_qs(body)
        self.lines = [line for line in header_lines if line]
        self.headers = dict(line.split(": ", 1) for line in self.lines)


def answer(content: object, status: str = "200 OK") -> bytes:
    """A whole HTTP answer with this JSON."""
    return raw(json.dumps(content, separators=(",", ":")).encode(), status)


def raw(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    """An HTTP answer with this body; `length` may promise more than there is."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


def vector(*rows: tuple[dict[str, str], str]) -> bytes:
    """A vector as Prometheus answers it, at second 1000."""
    result = [{"metric": labels, "value": [1000, value]} for labels, value in rows]
    return answer({"status": "success", "data": {"resultType": "vector", "result": result}})


class CannedServer:
    """Listens on a free port of loopback."""

    def __init__(self) -> None:
        self.says: bytes | None = vector()
        """None: accept and never answer."""
        self.requested: list[Requested] = []
        self.at_once = self.at_once_max = 0
        self.hangs_up_first = False
        self.filled_at = 1
        self.filled = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    @contextlib.asynccontextmanager
    async def listening_at(self, socket: Path) -> AsyncIterator["CannedServer"]:
        """At a Unix socket instead of a port."""
        server = await asyncio.start_unix_server(self._serve, socket)
        yield self
        server.close()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator["CannedServer"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.url = f"http://{self.address}"
        yield self
        server.close()
        self.may_answer.set()
        await server.wait_closed()

    def response(self, request: Requested) -> bytes | None:
        """What this request is answered with."""
        return self.says

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._respond(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()  # Also if the test has ended, and this is cancelled.

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0] or 0)
        request = Requested(head, (await reader.readexactly(length)).decode())
        self.requested.append(request)
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        if self.at_once >= self.filled_at:
            self.filled.set()
        await self.may_answer.wait()
        if self.hangs_up_first:
            self.hangs_up_first = False
        elif (response := self.response(request)) is None:
            await reader.read()  # Until the other end has had enough.
        else:
            writer.write(response)
            await writer.drain()
        self.at_once -= 1
