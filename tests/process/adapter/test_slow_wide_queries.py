"""Wide queries help where Prometheus is slow, and are given up where only they are slow or read too much."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient, answers
from tests.process.adapter.gateway import Gateway

WORKERS = 5
"""As many requests at once as kube-controller-manager sends by default."""
CONFIGURATION = """
externalRules:
- seriesQuery: 'depth{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
"""


class Filled:
    """A Prometheus with queues, a gateway in front of it, and an adapter in front of that."""

    def __init__(self, gateway: Gateway, client: AdapterClient) -> None:
        self.gateway = gateway
        self.client = client

    def wave(self, namespaces: int, queues: int) -> float:
        """Request the depth of each queue once; returns how many seconds that took."""
        requests = [(space, queue) for queue in range(queues) for space in range(namespaces)]

        def requested(request: tuple[int, int]) -> tuple[int, list[str]]:
            code, document = self.client.get(path(*request))
            return code, [item["value"] for item in document["items"]]

        began_at = time.monotonic()
        with ThreadPoolExecutor(WORKERS) as workers:
            found = list(workers.map(requested, requests))
        assert found == [(200, [str(100 * space + queue + 1)]) for space, queue in requests]
        return time.monotonic() - began_at

    def wide(self) -> int:
        """How many wide queries have been sent."""
        return sum(map(is_wide, self.gateway.queries))


def path(space: int, queue: int) -> str:
    return (
        f"/apis/external.metrics.k8s.io/v1beta1/namespaces/team-{space}/depth"
        f"?labelSelector=queue%3Dq{queue}"
    )


def is_wide(query: str) -> bool:
    return "=~" in query


@pytest.fixture
def filled(loadline_process, cluster, token, config, tmp_path) -> Iterator[Callable[..., Filled]]:
    """`filled(namespaces, queues, series)`: so many queues in each namespace, of so many series each."""
    options = PrometheusOptions(scrape_interval_seconds=5.0)
    config.write_text(CONFIGURATION)
    with (
        Exporter() as exporter,
        PrometheusServer(options, directory=tmp_path / "prometheus") as prometheus,
        Gateway(prometheus.url) as gateway,
    ):

        def fill(namespaces: int, queues: int, series: int = 1) -> Filled:
            for space in range(namespaces):
                for queue in range(queues):
                    labels = {"namespace": f"team-{space}", "queue": f"q{queue}"}
                    exporter.set("depth", 100 * space + queue + 1, **labels, shard="0")
                    for shard in range(1, series):
                        exporter.set("depth", 0, **labels, shard=str(shard))
            prometheus.add_target(exporter.target)
            prometheus.wait_for("depth")
            adapter = loadline_process(
                "adapter",
                f"--config={config}",
                f"--lister-kubeconfig={cluster.kubeconfig}",
                f"--prometheus-url={gateway.url}",
                "--metrics-relist-interval=10m",
                "--metrics-max-age=10m",
            )
            client = AdapterClient(adapter, token)
            answers(client, path(0, 0), "1")
            return Filled(gateway, client)

        yield fill


def test_a_wave_does_not_wait_for_wide_queries_that_are_slow(filled):
    found = filled(20, 10)
    fast_seconds = found.wave(20, 10)
    found.gateway.delay_seconds = lambda query: 1.2 if is_wide(query) else 0.0
    before = found.wide()
    seconds = [found.wave(20, 10) for _ in range(4)]
    assert found.wide() - before <= 3
    assert max(seconds) < 10 + fast_seconds, "forty wide queries, one after the other, take 49 s"


def test_one_query_answers_many_requests_of_a_slow_prometheus(filled):
    found = filled(2, 20)
    found.gateway.delay_seconds = lambda _: 1.2
    found.wave(2, 20)
    before = len(found.gateway.queries)
    found.wave(2, 20)
    assert len(found.gateway.queries) - before <= WORKERS + 1, "of forty requests"


def test_a_wide_query_that_reads_a_huge_namespace_for_a_few_requests_is_given_up(filled):
    """Ten queues are requested of the 2,000 that there are: few rows, but all series of the namespace are read."""
    found = filled(1, 2_000, series=10)
    for _ in range(12):
        found.wave(1, 10)
        ends_at = time.monotonic() + 1.1
        until(lambda at=ends_at: time.monotonic() > at, what="the end of a period")
    assert 1 <= found.wide() <= 2
    assert found.client.metric('loadline_adapter_wide_query_suspensions_total{reason="costly"}')
