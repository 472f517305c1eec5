"""How fast a metric disappears from the discovery document after its last sample, on a real Prometheus."""

import time

import msgspec
import pytest

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend
from testbed import web
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from wire.process import event_loop
from wire.prometheus.access import FileCredentials

MAX_AGE_SECONDS = 4.0
MATCH = '{__name__=~"kept|gone",namespace!=""}'


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """One metric with samples, and one whose last sample is older than `MAX_AGE_SECONDS`."""
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    directory = tmp_path_factory.mktemp("prometheus")
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as server:
        for name in ("kept", "gone"):
            exporter.set(name, 1, namespace="shop", pod="web-0")
        server.add_target(exporter.target)
        server.wait_for("gone")
        exporter.remove("gone")
        until(lambda: not server.query("gone"), what="the staleness marker")
        ends_at = time.monotonic() + MAX_AGE_SECONDS + 1
        until(lambda: time.monotonic() > ends_at, what="the age", deadline_seconds=30)
        yield server


def listed(server, max_age_seconds: float) -> set[str]:
    async def names() -> set[str]:
        backend = Backend(url=server.url)
        client = PrometheusClient(backend, FileCredentials(backend))
        try:
            series = await client.series(match=MATCH, max_age_seconds=max_age_seconds)
        finally:
            await client.close()
        return {each.name for each in series}

    return event_loop.run(names())


def test_a_metric_disappears_when_its_last_sample_is_older_than_the_maximum_age(prometheus):
    assert listed(prometheus, MAX_AGE_SECONDS) == {"kept"}
    assert listed(prometheus, 600.0) == {"kept", "gone"}


def test_label_values_keep_a_metric_that_no_longer_exists(prometheus):
    """The reason to list series (docs/adr/0018): if this fails, Prometheus has changed, and label values can be used."""
    start = f"{time.time() - MAX_AGE_SECONDS:.3f}"
    response = web.get(prometheus.port, f"/api/v1/label/__name__/values?start={start}")
    assert {"kept", "gone"} <= set(msgspec.json.decode(response.body)["data"])
