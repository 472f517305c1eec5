"""What does an answer of the adapter cost, beside prometheus-adapter v0.12.0?

Both stand behind the same kube-apiserver and before the same Prometheus, with one configuration, and are asked by the
aggregator's own certificate over TLS. They take turns. Every single answer is checked against the series.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import msgspec

from benchmarks.instruments import load, proc, scrape
from benchmarks.instruments.adapters import ProgramSetup, RunningAdapter, started
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

UPSTREAM, SHIPPED, LOADLINE, UNSHARED = (
    "peer",
    "peer, throttle as shipped",
    "ours",
    "ours, nothing shared",
)
PROGRAM_SETUPS = (
    # Its own client throttle, 5 requests a second to kube-apiserver, would be all we measure.
    ProgramSetup(
        name=UPSTREAM,
        program="prometheus-adapter",
        flags=("--client-qps=10000", "--client-burst=10000"),
    ),
    ProgramSetup(name=SHIPPED, program="prometheus-adapter"),
    ProgramSetup(name=LOADLINE, program="adapter"),
    # Every question another one, as under autoscalers that ask each once in 15 s: no answer serves twice.
    ProgramSetup(name=UNSHARED, program="adapter", flags=("--metrics-freshness=0s",)),
)

NAMESPACE = "bench"
HEADERS = {"X-Remote-User": "horizontal-pod-autoscaler", "X-Remote-Group": "system:masters"}
"""A group that may everything, or reviews of rights, which both keep for 10 s, would come in by chance."""

WORKLOADS, PODS_EACH = 100, 4
NAMED = 200  # services and queues: more than connections, so that hardly two ask the same at once
CONFIGURATION = """\
rules:
- seriesQuery: 'bench_load{namespace!="",pod!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'bench_latency{namespace!="",service!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: 'bench_depth{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
"""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of question, in all its instances."""

    name: str
    requests: tuple[load.ExpectedResponse, ...]
    programs: tuple[str, ...] = (UPSTREAM, LOADLINE, UNSHARED)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that runs."""

    cluster: Cluster
    prometheus: PrometheusServer
    adapters: Mapping[str, RunningAdapter]
    directory: Path

    def pids(self) -> dict[str, int]:
        """Of what works behind an adapter."""
        assert self.prometheus.process is not None
        return {
            "prometheus": self.prometheus.process.pid,
            "apiserver": self.cluster.components["kube-apiserver"].pid,
        }

    def queries(self) -> float:
        """How many queries Prometheus has answered, by its own count."""
        return scrape.total(
            self.prometheus.port, "prometheus_http_requests_total", having='handler="/api/v1/query"'
        )


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongAnswers when anybody says something else than the series do."""
    rounds: list[Round] = []
    with ExitStack() as undo:
        environment = _start(undo, report)
        for case in cases():
            for name in case.programs:
                _wait_until_correct(environment.adapters[name], case)
            for connections in options.concurrency:
                rounds += _case(environment, case, connections, options, report)
    return Result(
        question="adapter_requests",
        setting={
            "rounds": options.rounds,
            "seconds each": options.seconds,
            "pods": WORKLOADS * PODS_EACH,
            "different requests": f"{WORKLOADS} (Pods), {NAMED} (Object, External)",
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def cases() -> tuple[Case, ...]:
    """Every kind of question."""
    custom = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{NAMESPACE}"
    external = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}"
    pods = tuple(
        load.ExpectedResponse(
            f"{custom}/pods/*/bench_load?labelSelector={quote(f'app=web-{workload}')}",
            tuple(sorted(_milli(_load(workload, pod)) for pod in range(PODS_EACH))),
        )
        for workload in range(WORKLOADS)
    )
    objects = tuple(
        load.ExpectedResponse(f"{custom}/services/web-{n}/bench_latency", (_milli(_latency(n)),))
        for n in range(NAMED)
    )
    queues = tuple(
        load.ExpectedResponse(
            f"{external}/bench_depth?labelSelector={quote(f'queue=queue-{n}')}", (str(_depth(n)),)
        )
        for n in range(NAMED)
    )
    return (
        Case(name="Pods", requests=pods, programs=(UPSTREAM, LOADLINE, UNSHARED, SHIPPED)),
        Case(name="Object", requests=objects),
        Case(name="External", requests=queues),
    )


def _load(workload: int, pod: int) -> float:
    return workload + pod / 8


def _latency(number: int) -> float:
    return number / 4


def _depth(number: int) -> int:
    return 7 * number


def _milli(value: float) -> str:
    """As the API prints it."""
    return str(int(value)) if value == int(value) else f"{round(1000 * value)}m"


def _start(undo: ExitStack, report: Report) -> Environment:
    directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
    options = ClusterOptions(controllers=(), scheduler=False, kwok=False)
    cluster = undo.enter_context(Cluster(options, directory=directory / "cluster"))
    exporter = undo.enter_context(Exporter())
    prometheus = undo.enter_context(
        PrometheusServer(
            PrometheusOptions(scrape_interval_seconds=5), directory=directory / "prometheus"
        )
    )
    _expose(exporter)
    prometheus.add_target(exporter.target)
    prometheus.wait_for("bench_load")
    cluster.kubectl("create", "--filename=-", input="\n---\n".join(_manifests()))
    configuration = directory / "adapter.yaml"
    configuration.write_text(CONFIGURATION)
    report(f"logs: {directory}; starting {', '.join(c.name for c in PROGRAM_SETUPS)}")
    adapters = {
        each.name: undo.enter_context(
            started(each, cluster, configuration, prometheus.url, directory / "adapters")
        )
        for each in PROGRAM_SETUPS
    }
    return Environment(
        cluster=cluster, prometheus=prometheus, adapters=adapters, directory=directory
    )


def _expose(exporter: Exporter) -> None:
    for workload in range(WORKLOADS):
        for pod in range(PODS_EACH):
            labels = {"namespace": NAMESPACE, "pod": f"web-{workload}-{pod}"}
            exporter.set("bench_load", _load(workload, pod), **labels)
    for n in range(NAMED):
        exporter.set("bench_latency", _latency(n), namespace=NAMESPACE, service=f"web-{n}")
        exporter.set("bench_depth", _depth(n), namespace=NAMESPACE, queue=f"queue-{n}")


def _manifests() -> Iterator[str]:
    yield _text({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for workload in range(WORKLOADS):
        for pod in range(PODS_EACH):
            labels = {"app": f"web-{workload}"}
            yield _text(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": f"web-{workload}-{pod}",
                        "namespace": NAMESPACE,
                        "labels": labels,
                    },
                    "spec": {"containers": [{"name": "web", "image": "web"}]},
                }
            )


def _text(manifest: Mapping[str, object]) -> str:
    return msgspec.json.encode(manifest).decode()


def _wait_until_correct(adapter: RunningAdapter, case: Case) -> None:
    """Until it has found the series; whether all its answers are right is seen under load."""
    asked = case.requests[-1]

    def right() -> bool:
        answer = adapter.ask(asked.path, HEADERS)
        found = load.values_of(answer.body)
        assert found == asked.values, f"{asked.path}: {answer.status} {answer.text[:300]}"
        return True

    until(right, what=f"the right answer of {adapter.name}", deadline_seconds=90)


def _case(
    environment: Environment, case: Case, connections: int, options: Options, report: Report
) -> list[Round]:
    """Rounds of turns. The throttled one takes part in the first only: what a throttle does is known then."""
    many = f"{connections} connection{'s' if connections > 1 else ''}"
    label = f"{case.name}, {many}"
    done = []
    for number in range(options.rounds):
        for name in case.programs:
            if name == SHIPPED and number:
                continue
            figures = _turn(
                environment, environment.adapters[name], case.requests, connections, options.seconds
            )
            report(f"{label}: round {number + 1}, {name}: {figures['requests_per_second']:,.0f}/s")
            done.append(Round(case=label, program=name, number=number, figures=figures))
    return done


def _turn(
    environment: Environment,
    adapter: RunningAdapter,
    requests: Sequence[load.ExpectedResponse],
    connections: int,
    seconds: float,
) -> Figures:
    specification = load.Specification(
        port=adapter.port,
        certificate=str(environment.cluster.front_proxy_certificate_path),
        key=str(environment.cluster.front_proxy_key_path),
        headers=HEADERS,
        requests=tuple(requests),
        connections=connections,
        seconds=seconds,
    )
    pids = {"adapter": adapter.pid, **environment.pids()}
    with load.prepared(specification, environment.directory) as go:
        queries = environment.queries()
        before = {name: proc.cpu_seconds(pid) for name, pid in pids.items()}
        outcome = go()
        used = {name: proc.cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        asked = environment.queries() - queries
    each = {name: 1000 * spent / outcome.requests for name, spent in used.items()}
    return {
        "requests_per_second": outcome.requests / outcome.seconds,
        "p50_ms": outcome.p50_ms,
        "p99_ms": outcome.p99_ms,
        "cpu_ms_per_request": each["adapter"],
        "prometheus_cpu_ms_per_request": each["prometheus"],
        "apiserver_cpu_ms_per_request": each["apiserver"],
        "queries_per_request": asked / outcome.requests,
        "rss_mib": proc.rss_mib(adapter.pid),
        "load_generator_cores": outcome.cpu_seconds / outcome.seconds,
    }
