"""After Prometheus was replaced behind its address, idle connections to the former one fail no query."""

import asyncio

from tests.unit.wire.kube.test_failover import IDLE, Server
from wire.prometheus.access import FileCredentials
from wire.prometheus.options import PrometheusOptions
from wire.prometheus.transport import Transport


async def test_each_query_after_a_failover_succeeds():
    server = Server()
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    transport = Transport(url, FileCredentials(PrometheusOptions(url=url)), user_agent="a/1")

    async def query(path: str) -> bytes:
        return await transport.body(path, {}, seconds=5, bytes_max=100)

    await asyncio.gather(*(query("/warm") for _ in range(IDLE)))
    server.fail_over()
    for _ in range(IDLE):
        assert await query("/x") == b"{}"
    await transport.close()
    for each in server.open:
        each.close()
    listening.close()
