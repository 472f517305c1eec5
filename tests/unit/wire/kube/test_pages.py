"""A page where the response of an API server is expected."""

import pytest
from aiohttp import web

from tests.unit.wire.kube.test_client import client_of
from wire.api.status import Unavailable


async def test_a_page_of_a_gateway_is_not_a_response_of_an_api_server():
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>Log in</html>", content_type="text/html")

    runner = web.ServerRunner(web.Server(page))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    client = await client_of(address)
    with pytest.raises(Unavailable) as failed:
        await client.get("/apis/x?limit=1")
    assert str(failed.value) == (
        f"GET {address}/apis/x: the response is a page (text/html): is {address} an API server?"
    )
    await client.close()
    await runner.cleanup()
