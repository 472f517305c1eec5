"""/metrics in both formats, also of more objects than fit into one part of the response."""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from wire.serving.metrics_and_version import add_metrics_route

OBJECTS = 2000
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def many() -> Iterator[GaugeMetricFamily]:
    for name in ("spec_replicas", "status_replicas", "never"):
        family = GaugeMetricFamily(name, "Replicas.", labels=("object",))
        for number in range(OBJECTS if name != "never" else 0):
            family.add_metric([f"web-{number}"], float(number))
        yield family


async def scraped(accept: str) -> str:
    registry = CollectorRegistry()
    Counter("reconciles", "All.", registry=registry).inc(3)
    app = web.Application()
    add_metrics_route(app, registry, many)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/metrics", headers={"Accept": accept})
        assert response.status == 200
        return await response.text()


@pytest.mark.parametrize(("accept", "parse"), [("text/plain", plain), (OPENMETRICS, openmetrics)])
async def test_all_metrics_are_in_one_valid_text(accept, parse):
    families = {family.name: family for family in parse(await scraped(accept))}
    assert families["reconciles"].samples[0].value == 3
    for name in ("spec_replicas", "status_replicas"):
        found = {each.labels["object"]: each.value for each in families[name].samples}
        assert found == {f"web-{number}": number for number in range(OBJECTS)}
    assert not families["never"].samples


async def test_a_failure_of_the_first_part_is_an_error_of_the_server():
    class Broken:
        def collect(self):
            raise RuntimeError("broken")

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Broken())
    app = web.Application()
    add_metrics_route(app, registry)
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/metrics")).status == 500


async def exchanged(request: bytes) -> tuple[bytes, bytes]:
    """Head and body of the response to the bytes of a request after which the server closes the connection."""
    app = web.Application()
    add_metrics_route(app, CollectorRegistry(), many)
    async with TestServer(app) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request)
        head, _, body = (await asyncio.wait_for(reader.read(), 5.0)).partition(b"\r\n\r\n")
        writer.close()
    return head, body


async def test_a_client_of_http_1_0_gets_the_whole_text():
    head, text = await exchanged(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert b"200 OK" in head
    assert len([each for family in plain(text.decode()) for each in family.samples]) == 2 * OBJECTS


async def test_a_head_request_has_no_body():
    head, text = await exchanged(b"HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"200 OK" in head
    assert text == b""
