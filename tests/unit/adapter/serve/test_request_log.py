"""A line for every request, the refused ones included."""

import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from adapter.serve.request_log import log_requests
from wire.serving.access_guard import USER
from wire.serving.attributes import User


@pytest.fixture
async def client():
    async def metric(request: web.Request) -> web.Response:
        request[USER] = User(name="alice")
        return web.Response(status=404)

    async def refused(_: web.Request) -> web.Response:
        return web.Response(status=401)

    app = web.Application(middlewares=[log_requests])
    app.router.add_get("/metric", metric)
    app.router.add_get("/refused", refused)
    async with TestClient(TestServer(app)) as connected:
        yield connected


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("/metric?labelSelector=a%3Db", "GET /metric?labelSelector=a%3Db by alice from 127.0.0.1: 404 in ", id="a user"),
        pytest.param("/refused", "GET /refused by an unauthenticated client from 127.0.0.1: 401 in ", id="unauthenticated"),
    ],
)  # fmt: skip
async def test_a_line_has_the_request_the_user_and_the_status(client, caplog, path, line):
    with caplog.at_level(logging.INFO, logger="adapter"):
        await client.get(path)
    [text] = [each for each in caplog.messages if each.startswith("GET")]
    assert text.startswith(line)
    assert text.endswith(" ms")
