"""A wave of autoscalers: many different requests every 15 s, compared with prometheus-adapter v0.12.0.

Each request of a wave is sent once, with as many in flight as kube-controller-manager has workers by default. A third each are Pods, Object and External
requests, spread over namespaces. The user is a ServiceAccount whose rights are reviewed, not a member of `system:masters`.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import msgspec

from benchmarks.instruments import load, proc
from benchmarks.instruments.adapters import RunningAdapter
from benchmarks.instruments.environment import (
    UPSTREAM,
    Environment,
    Programs,
    chosen,
    wait_until_correct,
)
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.waiting import until
from wire.kube.client import KubeClient
from wire.kube.connection import connect

AUTOSCALERS = 1_000
PER_NAMESPACE = 50
PODS_EACH = 2
WORKERS = 5
"""kube-controller-manager's default of --concurrent-horizontal-pod-autoscaler-syncs."""
PERIOD_SECONDS = 15.0
SETTLED_SECONDS = 5.0
"""After the first correct responses, which cause work of their own."""
CREATED_AT_ONCE = 50
USER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
HEADERS = {"X-Remote-User": USER, "X-Remote-Group": "system:authenticated"}

CONFIGURATION = """\
rules:
- seriesQuery: 'wave_requests{namespace!="",pod!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'wave_latency{namespace!="",service!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: 'wave_depth{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
"""


def _value(number: int, pod: int = 0) -> float:
    """All are different, and none is written with a suffix other than `m`."""
    return number + pod / 2 + 0.25


def _milli(number: int, pod: int = 0) -> str:
    return f"{round(1000 * _value(number, pod))}m"


class Wave(msgspec.Struct, frozen=True):
    """The requests of a number of autoscalers, and the series and objects behind them."""

    size: int

    @property
    def namespaces(self) -> int:
        """How many namespaces they are in."""
        return max(1, self.size // PER_NAMESPACE)

    def namespace(self, number: int) -> str:
        """The namespace of an autoscaler."""
        return f"team-{number % self.namespaces}"

    def requests(self, namespaces: int | None = None) -> tuple[load.ExpectedResponse, ...]:
        """Of all namespaces, or of the first ones. Kinds and namespaces alternate, as autoscalers of different teams do."""
        first = namespaces or self.namespaces
        return tuple(
            self._request(number) for number in range(self.size) if number % self.namespaces < first
        )

    def _request(self, number: int) -> load.ExpectedResponse:
        namespace = self.namespace(number)
        custom = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}"
        external = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}"
        match number % 3:
            case 0:
                selector = quote(f"app=web-{number}")
                return load.ExpectedResponse(
                    f"{custom}/pods/*/wave_requests?labelSelector={selector}",
                    tuple(sorted(_milli(number, pod) for pod in range(PODS_EACH))),
                )
            case 1:
                return load.ExpectedResponse(
                    f"{custom}/services/web-{number}/wave_latency", (_milli(number),)
                )
        selector = quote(f"queue=queue-{number}")
        return load.ExpectedResponse(
            f"{external}/wave_depth?labelSelector={selector}", (_milli(number),)
        )

    def expose(self, exporter: Exporter) -> None:
        """The series."""
        for number in range(self.size):
            namespace = self.namespace(number)
            match number % 3:
                case 0:
                    for pod in range(PODS_EACH):
                        labels = {"namespace": namespace, "pod": f"web-{number}-{pod}"}
                        exporter.set("wave_requests", _value(number, pod), **labels)
                case 1:
                    exporter.set(
                        "wave_latency", _value(number), namespace=namespace, service=f"web-{number}"
                    )
                case _:
                    exporter.set(
                        "wave_depth", _value(number), namespace=namespace, queue=f"queue-{number}"
                    )

    def pods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(namespace, manifest) of each pod."""
        for number in range(0, self.size, 3):
            for pod in range(PODS_EACH):
                metadata = {"name": f"web-{number}-{pod}", "labels": {"app": f"web-{number}"}}
                yield (
                    self.namespace(number),
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": metadata,
                        "spec": {"containers": [{"name": "web", "image": "web"}]},
                    },
                )


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What the programs have used: CPU in seconds, and queries."""

    at_seconds: float
    adapter: float
    prometheus: float
    apiserver: float
    queries: float

    @classmethod
    def by(cls, environment: Environment, adapter: RunningAdapter) -> Self:
        """Until now."""
        queries = environment.queries()
        cpu_seconds = environment.cpu_seconds(adapter)
        return cls(at_seconds=time.monotonic(), queries=queries, **cpu_seconds)

    def since(self, before: "Used") -> "Used":
        """Between the two."""
        return Used(
            at_seconds=self.at_seconds - before.at_seconds,
            adapter=self.adapter - before.adapter,
            prometheus=self.prometheus - before.prometheus,
            apiserver=self.apiserver - before.apiserver,
            queries=self.queries - before.queries,
        )

    def beyond(self, idle: "Used") -> "Used":
        """Without what Prometheus and kube-apiserver use anyway: scrapes, watches of others."""
        ratio = self.at_seconds / idle.at_seconds
        return msgspec.structs.replace(
            self,
            prometheus=self.prometheus - ratio * idle.prometheus,
            apiserver=self.apiserver - ratio * idle.apiserver,
        )


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponses if a response does not match the series."""
    wave = Wave(options.autoscalers or AUTOSCALERS)
    rounds: list[Round] = []
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
        programs = prepared(undo, directory, wave, report)
        environment = Environment.started(
            undo, programs, configuration=CONFIGURATION, setups=chosen(options)
        )
        for name, adapter in environment.adapters.items():
            waves = periods(environment, adapter, wave.requests(), options.rounds + 1)
            for number, figures in enumerate(waves):
                case = "every 15 s" if number else "first wave"
                report(f"{case}, {name}: {figures}")
                rounds.append(
                    Round(case=case, program=name, number=max(number - 1, 0), figures=figures)
                )
    return Result(
        benchmark="adapter_wave",
        setting={
            "rounds": options.rounds,
            "requests per wave": wave.size,
            "in flight": WORKERS,
            "namespaces": wave.namespaces,
            "pods": sum(1 for _ in wave.pods()),
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def periods(
    environment: Environment,
    adapter: RunningAdapter,
    requests: tuple[load.ExpectedResponse, ...],
    waves: int,
) -> Iterator[Figures]:
    """The figures of each wave: what the client sees, and what all programs use until the next wave.

    Also between the waves, programs work for the next one. What Prometheus and kube-apiserver use without any wave is measured before,
    and subtracted.
    """
    specification = environment.load(
        adapter, HEADERS, requests=requests, connections=WORKERS, seconds=0.0, once=True
    )
    wait_until_correct(adapter, requests[-3:], HEADERS)
    with load.prepared(specification, environment.programs.directory) as generate:
        _wait_until_seconds(time.monotonic() + SETTLED_SECONDS)
        before = Used.by(environment, adapter)
        _wait_until_seconds(before.at_seconds + PERIOD_SECONDS)
        idle = Used.by(environment, adapter).since(before)
        for _ in range(waves):
            before = Used.by(environment, adapter)
            outcome = generate()
            rss_mib = proc.rss_mib(adapter.pid)
            _wait_until_seconds(before.at_seconds + PERIOD_SECONDS)
            used = Used.by(environment, adapter).since(before).beyond(idle)
            yield _figures(outcome, used, rss_mib)


def _figures(outcome: load.Outcome, used: Used, rss_mib: float) -> Figures:
    both = used.adapter + used.prometheus
    return {
        "wall_seconds": outcome.seconds,
        "p50_ms": outcome.p50_ms,
        "p99_ms": outcome.p99_ms,
        "adapter_and_prometheus_cpu_seconds": both,
        "adapter_cpu_seconds": used.adapter,
        "prometheus_cpu_seconds": used.prometheus,
        "apiserver_cpu_seconds": used.apiserver,
        "cpu_ms_per_request": 1000 * both / outcome.requests,
        "queries": used.queries,
        "rss_mib": rss_mib,
        "load_generator_cores": outcome.cpu_seconds / outcome.seconds,
    }


def prepared(undo: ExitStack, directory: Path, wave: Wave, report: Report) -> Programs:
    """A control plane with the pods, and a Prometheus with the series; `undo` stops them."""
    programs = Programs.started(undo, directory, scrape_interval_seconds=15)
    wave.expose(programs.exporter)
    report(f"logs: {directory}; creating the pods")
    programs.cluster.apply(*_rights())
    asyncio.run(_create(programs.cluster, wave))
    programs.prometheus.wait_for("wave_requests", deadline_seconds=60.0)
    return programs


async def _create(cluster: Cluster, wave: Wave) -> None:
    # kubectl would send one request after the other, and throttle itself.
    client = KubeClient(await connect(cluster.kubeconfig, user_agent="benchmarks"))
    limit = asyncio.Semaphore(CREATED_AT_ONCE)

    async def create(path: str, manifest: Mapping[str, Any]) -> None:
        async with limit:
            await client.create(path, msgspec.json.encode(manifest))

    try:
        names = [f"team-{number}" for number in range(wave.namespaces)]
        await asyncio.gather(
            *(create("/api/v1/namespaces", _named("Namespace", name)) for name in names)
        )
        await asyncio.gather(
            *(create(f"/api/v1/namespaces/{namespace}/pods", pod) for namespace, pod in wave.pods())
        )
    finally:
        await client.close()


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _rights() -> Iterator[dict[str, Any]]:
    """Of the HPA controller: its requests are reviewed."""
    rbac = "rbac.authorization.k8s.io"
    groups = ["custom.metrics.k8s.io", "external.metrics.k8s.io"]
    rule = {"apiGroups": groups, "resources": ["*"], "verbs": ["get", "list"]}
    role = {**_named("ClusterRole", "bench-metrics"), "apiVersion": f"{rbac}/v1"}
    yield {**role, "rules": [rule]}
    yield {
        **_named("ClusterRoleBinding", "bench-metrics"),
        "apiVersion": f"{rbac}/v1",
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "bench-metrics"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": USER}],
    }


def _wait_until_seconds(at_seconds: float) -> None:
    until(
        lambda: time.monotonic() >= at_seconds,
        what="the next wave",
        deadline_seconds=2 * PERIOD_SECONDS,
    )
