"""Which failures say that a request certainly did not reach the server."""

import socket

import pytest
from aiohttp import web

from tests.unit.wire.kube.test_client import client_of, serve
from wire.api.status import NotSent, Unavailable

__all__ = ["serve"]


@pytest.mark.parametrize("how", ["the connection is closed", "a server error"])
async def test_a_write_that_is_not_sent_again_may_have_been_applied_the_first_time(serve, how):
    paths: list[str] = []

    async def unclear(request: web.Request) -> web.Response:
        paths.append(request.path)
        if how == "a server error":
            return web.Response(status=503, headers={"Retry-After": "0"})
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    def check() -> None:
        if paths:
            raise NotSent("no longer leading")

    client = await serve(unclear)
    with pytest.raises(Unavailable, match="no longer leading") as raised:
        await client.replace("/x", b"{}", before_each=check)
    assert not isinstance(raised.value, NotSent)
    assert paths


async def test_without_a_connection_a_write_is_certainly_not_sent():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{closed.getsockname()[1]}"
    client = await client_of(server)
    with pytest.raises(NotSent):
        await client.replace("/x", b"{}")
    await client.close()
