"""/metrics in both formats, also of more objects than fit into one part of the response."""

import asyncio
from collections.abc import Iterator
from typing import cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain
from prometheus_client.registry import Collector

from tests.deadline import DEADLINE_SECONDS
from wire.serving.access_guard import errors_to_status
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


async def test_a_long_accept_header_is_refused_before_it_is_read():
    """One with a mebibyte of commas took 0.3 s."""
    app = web.Application(middlewares=[errors_to_status])
    add_metrics_route(app, CollectorRegistry())
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/metrics", headers={"Accept": "text/plain" + "," * 5_000})
        assert response.status == 406


class Broken(Collector):
    """A collector whose second metric has no value."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("before", "Of the same collector.", 5.0)
        raise RuntimeError("no sample")


def broken_later() -> Iterator[GaugeMetricFamily]:
    yield GaugeMetricFamily("first", "Of many objects.", 6.0)
    raise RuntimeError("no family")


def broken_at_once() -> Iterator[GaugeMetricFamily]:
    raise RuntimeError("no family")


@pytest.mark.parametrize("accept", ["text/plain", OPENMETRICS])
@pytest.mark.parametrize(
    ("objects", "crashes"),
    [
        pytest.param(many, 3, id="none"),
        pytest.param(broken_later, 4, id="after the first"),
        pytest.param(broken_at_once, 4, id="at once"),
    ],
)
async def test_a_metric_that_fails_hides_no_other_and_is_logged_once(
    accept, objects, crashes, caplog
):
    registry, counted = CollectorRegistry(), Counter("crashes", "All.", registry=None)
    registry.register(Broken())
    Gauge("called", "A function.", registry=registry).set_function(lambda: 1 // 0)
    no_number = GaugeMetricFamily("no_number", "Fails when it is written.")
    no_number.add_metric((), cast("float", "three"))
    registry.register(Fixed(no_number))
    Counter("reconciles", "All.", registry=registry).inc(3)
    app = web.Application()
    add_metrics_route(app, registry, objects, on_crash=counted.inc)
    async with TestClient(TestServer(app)) as client:
        for scrape in (1, 2):
            response = await client.get("/metrics", headers={"Accept": accept})
            text = await response.text()
            assert response.status == 200
            assert "reconciles_total 3.0" in text
            assert "before 5.0" in text
            assert ("first 6.0" in text) is (objects is broken_later)
            assert text.endswith("# EOF\n") is (accept == OPENMETRICS)
            assert counted._value.get() == scrape * crashes
    assert caplog.text.count("Traceback") == crashes


class Fixed(Collector):
    """A collector of one metric."""

    def __init__(self, family: GaugeMetricFamily) -> None:
        self._family = family

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._family


async def exchanged(request: bytes) -> tuple[bytes, bytes]:
    """Head and body of the response to the bytes of a request after which the server closes the connection."""
    app = web.Application()
    add_metrics_route(app, CollectorRegistry(), many)
    async with TestServer(app) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request)
        head, _, body = (await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)).partition(
            b"\r\n\r\n"
        )
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
