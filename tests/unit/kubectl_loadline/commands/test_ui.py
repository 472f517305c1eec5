"""`kubectl loadline ui`: where its page is served."""

import socket

import pytest
from aiohttp import web

from kubectl_loadline.cluster.connecting import Unreachable
from kubectl_loadline.commands.ui import _listen, parser
from testbed import ports


@pytest.fixture
async def runner():
    made = web.AppRunner(web.Application())
    await made.setup()
    yield made
    await made.cleanup()


async def test_the_page_is_served_at_the_given_port(runner):
    number = ports.reserve()
    given = parser().parse_args([f"--port={number}"])
    assert await _listen(runner, given.port) == number


async def test_a_port_in_use_is_reported_with_the_flag_to_change(runner):
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        with pytest.raises(Unreachable, match="choose another --port"):
            await _listen(runner, used.getsockname()[1])
