"""A gateway before a real API server whose decoder stops after the first gzip member of a response, as many do."""

import zlib
from typing import Self

import aiohttp
from aiohttp import web

from wire.kube.connection import Connection

ENDS_AT_THE_GATEWAY = ("Host", "Connection", "Transfer-Encoding")


class GzipGateway:
    """Passes requests on with the credentials of `connection`, and responses as they come."""

    def __init__(self, connection: Connection) -> None:
        self.encodings: list[str | None] = []
        """The Content-Encoding of each response."""
        self.swallowed_bytes = 0
        """How much has come after a first gzip member."""
        self._connection = connection
        self._session: aiohttp.ClientSession | None = None
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)

    @property
    def url(self) -> str:
        """The address that clients take for that of the API server."""
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            auto_decompress=False, skip_auto_headers=["Accept-Encoding"]
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        headers = {k: v for k, v in request.headers.items() if k not in ENDS_AT_THE_GATEWAY}
        async with self._session.request(
            request.method,
            self._connection.server + request.raw_path,
            headers=headers,
            data=await request.read(),
            ssl=self._connection.tls or True,
        ) as upstream:
            encoding = upstream.headers.get("Content-Encoding")
            self.encodings.append(encoding)
            response = web.StreamResponse(status=upstream.status)
            response.content_type = upstream.content_type
            await response.prepare(request)
            decoder = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
            async for chunk in upstream.content.iter_any():
                plain = chunk if decoder is None else self._first_member(decoder, chunk)
                if plain:
                    await response.write(plain)
            return response

    def _first_member(self, decoder: "zlib._Decompress", chunk: bytes) -> bytes:
        if decoder.eof:
            self.swallowed_bytes += len(chunk)
            return b""
        return decoder.decompress(chunk)
