"""From the scrape in which the value of a metric doubles to the scale that is written, with and without streamed metrics.

500 autoscalers with a period of 15 s are on one metric, each with a selector of its own. The exporter notes when Prometheus
scrapes the doubled values for the first time, and a watch of the targets when each of them has its replicas. A turn counts
only if every target reaches the replicas for its doubled metric.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path

import msgspec

from benchmarks.instruments import proc, scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.bench_targets import (
    GROUP,
    NAMESPACE,
    PLURAL,
    SCALER_ACCOUNT,
)
from benchmarks.instruments.figures import Figures, Result, Round, percentile
from benchmarks.instruments.metric_kinds import METRIC, depth, replicas
from benchmarks.measurement_options import Options, Report
from testbed.direct_adapter import EXTERNAL, DirectAdapter, direct_adapter
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import elapse, until
from wire.kube.client import KubeClient
from wire.kube.connection import connect

AUTOSCALERS, PERIOD_SECONDS, SCRAPE_SECONDS = 500, 15.0, 5.0
# By default a scale-up is limited to twice the replicas of 15 s ago: the one before must be over.
SETTLED_SECONDS = 20.0
STEADY_SECONDS = 15.0
DEADLINE_SECONDS = 60.0
THROUGH_KUBE_APISERVER, DIRECT, STREAMED = (
    "through kube-apiserver",
    "directly from the adapter",
    "streamed, reconciled on change",
)
SERIES = "bench_queue_depth"
CONFIGURATION = f"""
metrics:
- name: {METRIC}
  query: sum by (queue) ({SERIES})
"""
_TARGETS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{PLURAL}"


class Load:
    """The exported series of all autoscalers, which double together."""

    def __init__(self, exporter: Exporter, count: int) -> None:
        self._factor = 1
        self.scraped_at: float | None = None
        """When the doubled values were scraped first, by `time.monotonic`."""
        for number in range(count):
            exporter.set_function(SERIES, self._value_of(number), queue=str(number))

    def reset(self) -> None:
        """The values of the start."""
        self._factor, self.scraped_at = 1, None

    def double(self) -> None:
        """From the next scrape on."""
        self._factor = 2

    def _value_of(self, number: int) -> Callable[[], float]:
        def value() -> float:
            if self._factor == 2 and self.scraped_at is None:
                self.scraped_at = time.monotonic()
            return float(self._factor * depth(number))

        return value


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded if a target does not reach its replicas."""
    count = options.autoscalers or AUTOSCALERS
    rounds = []
    with environment(count) as found:
        report(f"logs: {found.bench.directory}; {count} autoscalers")
        for number in range(options.rounds):
            for program in (THROUGH_KUBE_APISERVER, DIRECT, STREAMED):
                figures = found.turn(program)
                shown = ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
                report(f"round {number + 1}, {program}: {shown}")
                rounds.append(
                    Round(case="doubled", program=program, number=number, figures=figures)
                )
    return Result(
        benchmark="reaction",
        setting={
            "autoscalers": count,
            "period s": PERIOD_SECONDS,
            "scrape interval s": SCRAPE_SECONDS,
        },
        reference=THROUGH_KUBE_APISERVER,
        rounds=tuple(rounds),
    )


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything but the scaler."""

    bench: BenchCluster
    adapter: DirectAdapter
    load: Load
    count: int

    def turn(self, program: str) -> Figures:
        """Start the scaler, let it scale to the values of the start, measure, double, and wait for the replicas."""
        self.load.reset()
        self.bench.targets.reset()
        flags = {
            THROUGH_KUBE_APISERVER: (),
            DIRECT: self.adapter.scaler_flags,
            STREAMED: (
                *self.adapter.scaler_flags,
                "--stream-metrics",
                "--reconcile-on-change",
            ),
        }[program]
        period = f"--sync-period={PERIOD_SECONDS:g}s"
        with self.bench.start_scaler(period, *flags) as scaler:
            until(
                self.bench.targets.have_expected_replicas,
                what="every target to have its replicas",
                deadline_seconds=DEADLINE_SECONDS,
            )
            elapse(SETTLED_SECONDS)
            steady = self._steady(scaler.process.pid, scaler.port)
            reactions = asyncio.run(self._reactions())
        return {
            "reaction_p50_seconds": percentile(reactions, 50),
            "reaction_p99_seconds": percentile(reactions, 99),
            "reaction_max_seconds": reactions[-1],
            **steady,
        }

    def _steady(self, pid: int, port: int) -> Figures:
        """The cost while no metric changes, per reconcile."""
        api = self.bench.cluster.components["kube-apiserver"].pid
        pids = {"own": pid, "apiserver": api, "adapter": self.adapter.process.process.pid}
        metric = "loadline_scaler_reconciliations_total"
        tls = self.bench.targets.tls
        before = {name: proc.cpu_seconds(each) for name, each in pids.items()}
        syncs, queries = scrape.total(port, metric, tls=tls), self._queries()
        elapse(STEADY_SECONDS)
        done = scrape.total(port, metric, tls=tls) - syncs
        return {
            **{
                f"{name}_cpu_ms_per_sync": 1000 * (proc.cpu_seconds(each) - before[name]) / done
                for name, each in pids.items()
            },
            "queries_per_second": (self._queries() - queries) / STEADY_SECONDS,
        }

    def _queries(self) -> float:
        """To Prometheus."""
        name = "loadline_adapter_prometheus_requests_total"
        return scrape.total(self.adapter.port, name, tls=self.bench.targets.tls)

    async def _reactions(self) -> list[float]:
        """Double the load; the sorted seconds from its scrape until each target has its replicas."""
        connection = await connect(self.bench.cluster.kubeconfig, user_agent="benchmarks")
        client = KubeClient(connection)
        reached: dict[int, float] = {}
        try:
            listed = msgspec.json.decode(await client.get(_TARGETS), type=_Listed)
            version = listed.metadata.resource_version
            params = {"resourceVersion": version}
            watching = asyncio.create_task(self._watched(client, params, reached))
            self.load.double()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await watching
        finally:
            await client.close()
        scraped_at = self.load.scraped_at
        assert scraped_at is not None, "Prometheus has not scraped the exporter"
        return sorted(at - scraped_at for at in reached.values())

    async def _watched(
        self, client: KubeClient, params: Mapping[str, str], reached: dict[int, float]
    ) -> None:
        async with aclosing(client.watch(_TARGETS, params)) as events:
            async for line in events:
                found = msgspec.json.decode(line, type=_Event).object
                number = int(found.metadata.name.removeprefix("web-"))
                assert found.spec.replicas == 2 * replicas(number), (
                    f"web-{number} is scaled wrongly"
                )
                reached.setdefault(number, time.monotonic())
                if len(reached) == self.count:
                    return


@contextmanager
def environment(count: int) -> Iterator[Environment]:
    """Start it."""
    with ExitStack() as stack:
        bench = stack.enter_context(bench_cluster(count))
        bench.cluster.apply(*_permissions())
        exporter = stack.enter_context(Exporter())
        options = PrometheusOptions(scrape_interval_seconds=SCRAPE_SECONDS)
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
        yield Environment(bench=bench, adapter=adapter, load=load, count=count)


def _folder(directory: Path, name: str) -> Path:
    folder = directory / name
    folder.mkdir()
    return folder


def _permissions() -> Iterator[dict[str, object]]:
    """What the scaler needs for the direct connection and the stream."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "bench-direct"}}
    registrations = {
        "apiGroups": ["apiregistration.k8s.io"],
        "resources": ["apiservices"],
        "verbs": ["list", "watch"],
    }
    stream = {"nonResourceURLs": ["/watch/metrics"], "verbs": ["get"]}
    yield {**role, "kind": "ClusterRole", "rules": [registrations, stream]}
    subject = {"kind": "ServiceAccount", "name": SCALER_ACCOUNT, "namespace": NAMESPACE}
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "bench-direct",
    }
    yield {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 0


class _Target(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


class _Listed(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Event(msgspec.Struct, frozen=True):
    object: _Target
