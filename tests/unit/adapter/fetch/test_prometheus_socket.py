"""The client of Prometheus behind a Unix socket."""

from adapter.model import Plan
from tests.unit.adapter.fetch.canned import CannedServer
from wire.prometheus.access import unix_url


async def test_prometheus_behind_a_unix_socket_is_queried(tmp_path, connect):
    async with CannedServer().listening_at(tmp_path / "prometheus socket") as local:
        client = connect(url=unix_url(tmp_path / "prometheus socket", "/prefix"))
        await client.evaluate(Plan("up"))
    (request,) = local.requested
    assert (request.path, request.headers["Host"]) == ("/prefix/api/v1/query", "localhost")
