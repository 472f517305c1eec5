"""A listener with small limits, and connections with it."""

from collections.abc import AsyncIterator, Mapping

import pytest
from aiohttp import web

from tests.unit.wire.serving.connection.connections import SMALL_HEADS, Connect, connecting, ok
from wire.serving.connection_shares import SHARES, Group, Share
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener
from wire.serving.refusal_reasons import Reason


async def large(_: web.Request) -> web.Response:
    return web.Response(body=b"a" * 50_000_000)


@pytest.fixture
def shares() -> Mapping[Group, Share]:
    return SHARES


@pytest.fixture
def limits() -> ConnectionLimits:
    return SMALL_HEADS


@pytest.fixture
def refused() -> list[tuple[Reason, str]]:
    return []


@pytest.fixture
async def listener(
    shares: Mapping[Group, Share], limits: ConnectionLimits, refused: list[tuple[Reason, str]]
) -> AsyncIterator[Listener]:
    app = web.Application()
    app.router.add_route("*", "/ok", ok)
    app.router.add_get("/large", large)
    listener = Listener(
        app,
        drain_seconds=0.1,
        limits=limits,
        shares=shares,
        refused=lambda *refusal: refused.append(refusal),
    )
    await listener.start("127.0.0.1", 0, tls=None)
    yield listener
    await listener.stop()


@pytest.fixture
async def connect(listener: Listener) -> AsyncIterator[Connect]:
    async with connecting(listener) as connect:
        yield connect
