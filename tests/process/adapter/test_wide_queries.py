"""Wide queries return the values of narrow ones on a real Prometheus, for generated templates and selectors."""

import time

import pytest

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from tests.wide_comparison import compare, expose
from wire.prometheus.access import FileCredentials

PAIRS_MIN = 300
"""Template and selector, both for Pods and for External metrics; each with the requests of several namespaces."""


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A Prometheus with counters of a few seconds, and a moment in them."""
    options = PrometheusOptions(scrape_interval_seconds=0.2)
    with (
        Exporter() as exporter,
        PrometheusServer(options, directory=tmp_path_factory.mktemp("wide")) as prometheus,
    ):
        expose(exporter)
        prometheus.add_target(exporter.target)
        prometheus.wait_for("count_over_time(a[1m]) > 8")
        yield prometheus, time.time()


async def test_generated_templates_have_the_same_values_wide_and_narrow(history):
    prometheus, at_seconds = history
    backend = Backend(url=prometheus.url, timeout_seconds=10.0)
    client = PrometheusClient(backend, FileCredentials(backend))
    try:
        await compare(client, pairs=PAIRS_MIN, at_seconds=at_seconds)
    finally:
        await client.close()
