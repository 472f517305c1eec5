"""A cluster with targets and their autoscalers, a real Prometheus and the real adapter: everything but the scaler."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from benchmarks.instruments import scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.bench_targets import GROUP, HPA, NAMESPACE, PLURAL, SCALER_ACCOUNT, Kind
from benchmarks.instruments.metric_kinds import METRIC, SHARES, depth
from testbed.direct_adapter import EXTERNAL, DirectAdapter, direct_adapter, token_flag
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer

SERIES = "bench_queue_depth"
CONFIGURATION = f"""
metrics:
- name: {METRIC}
  query: sum by (queue) ({SERIES})
"""


class Load:
    """The exported series of all autoscalers, which change together."""

    def __init__(self, exporter: Exporter, count: int) -> None:
        self._factor = 1
        self._is_changing = False
        self.scraped_at: float | None = None
        """When the doubled values were scraped first, by `time.monotonic`."""
        for number in range(count):
            exporter.set_function(SERIES, self._value_of(number), queue=str(number))

    def reset(self, *, changing: bool = False) -> None:
        """The values of the start; `changing`: other ones each second, which need the same replicas."""
        self._factor, self.scraped_at, self._is_changing = 1, None, changing

    def double(self) -> None:
        """From the next scrape on."""
        self._factor = 2

    def _value_of(self, number: int) -> Callable[[], float]:
        def value() -> float:
            if self._factor == 2 and self.scraped_at is None:
                self.scraped_at = time.monotonic()
            share = SHARES[int(time.monotonic()) % len(SHARES)] if self._is_changing else 1.0
            return self._factor * share * depth(number)

        return value


class AdapterEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """All that runs."""

    bench: BenchCluster
    adapter: DirectAdapter
    scaler_flags: tuple[str, ...]  # to read metrics directly from the adapter
    load: Load
    prometheus: PrometheusServer
    count: int

    def queries(self) -> float:
        """The number of queries that the adapter has sent to Prometheus."""
        name = "loadline_adapter_prometheus_requests_total"
        return scrape.total(self.adapter.port, name, tls=self.bench.targets.tls)


@contextmanager
def adapter_environment(
    count: int, scrape_seconds: float, *, with_pods: bool = False, autoscalers: Kind = HPA
) -> Iterator[AdapterEnvironment]:
    """Start it, with `count` autoscalers on one External metric, each with a selector of its own."""
    with ExitStack() as stack:
        bench = stack.enter_context(
            bench_cluster(count, with_pods=with_pods, autoscalers=autoscalers)
        )
        bench.cluster.apply(*_permissions())
        exporter = stack.enter_context(Exporter())
        options = PrometheusOptions(scrape_interval_seconds=scrape_seconds)
        directory = _folder(bench.directory, "prometheus")
        prometheus = stack.enter_context(PrometheusServer(options, directory=directory))
        load = Load(exporter, count)
        prometheus.add_target(exporter.target)
        prometheus.wait_for(f"count({SERIES}) == {count}")
        adapter = stack.enter_context(
            direct_adapter(
                bench.cluster,
                CONFIGURATION,
                _folder(bench.directory, "adapter"),
                f"--prometheus-url={prometheus.url}",
                served=((EXTERNAL, "v1beta1"),),
            )
        )
        token = token_flag(bench.cluster, NAMESPACE, SCALER_ACCOUNT, bench.directory)
        yield AdapterEnvironment(
            bench=bench,
            adapter=adapter,
            scaler_flags=(*adapter.scaler_flags, token),
            load=load,
            prometheus=prometheus,
            count=count,
        )


def _folder(directory: Path, name: str) -> Path:
    folder = directory / name
    folder.mkdir()
    return folder


def _permissions() -> Iterator[dict[str, object]]:
    """What the scaler needs for the direct connection, the stream, and to list the Scales of the targets."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "bench-direct"}}
    registrations = {
        "apiGroups": ["apiregistration.k8s.io"],
        "resources": ["apiservices"],
        "verbs": ["list", "watch"],
    }
    definition = {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "resourceNames": [f"{PLURAL}.{GROUP}"],
        "verbs": ["get"],
    }
    stream = {"nonResourceURLs": ["/watch/metrics"], "verbs": ["get"]}
    yield {**role, "kind": "ClusterRole", "rules": [registrations, definition, stream]}
    subject = {"kind": "ServiceAccount", "name": SCALER_ACCOUNT, "namespace": NAMESPACE}
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "bench-direct",
    }
    yield {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
