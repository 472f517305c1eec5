"""The cost of a request to the adapter, compared with prometheus-adapter v0.12.0.

Both use the same kube-apiserver, Prometheus and configuration, and get requests over TLS with the aggregator's
certificate. They take turns. Every response is checked against the exposed series.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import msgspec

from benchmarks.instruments import load, proc
from benchmarks.instruments.adapters import ProgramSetup, RunningAdapter
from benchmarks.instruments.environment import (
    LOADLINE,
    SIDE_BY_SIDE,
    UPSTREAM,
    Environment,
    Programs,
    wait_until_correct,
)
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed.exporter import Exporter

THROTTLED, UNSHARED = "prometheus-adapter, default throttling", "Loadline, no sharing"
PROGRAM_SETUPS = (
    *SIDE_BY_SIDE,
    ProgramSetup(name=THROTTLED, program="prometheus-adapter"),
    # Every request is evaluated, as with autoscalers that repeat a request only every 15 s.
    ProgramSetup(name=UNSHARED, program="adapter", flags=("--metrics-freshness=0s",)),
)

NAMESPACE = "bench"
HEADERS = {"X-Remote-User": "horizontal-pod-autoscaler", "X-Remote-Group": "system:masters"}
"""A group with all permissions: access reviews, which both cache for 10 s, would add noise."""

WORKLOADS, PODS_EACH = 100, 4
NAMED = 200  # services and queues: more than connections, so that concurrent requests differ
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
    """One kind of request, with all its instances."""

    name: str
    requests: tuple[load.ExpectedResponse, ...]
    programs: tuple[str, ...] = (UPSTREAM, LOADLINE, UNSHARED)


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponses if a response does not match the series."""
    rounds: list[Round] = []
    with ExitStack() as undo:
        environment = _start(undo, report)
        for case in cases():
            for name in case.programs:
                wait_until_correct(environment.adapters[name], case.requests[-1:], HEADERS)
            for connections in options.concurrency:
                rounds += measured(environment, case, connections, options, report)
    return Result(
        benchmark="adapter_requests",
        setting={
            "rounds": options.rounds,
            "seconds per turn": options.seconds,
            "pods": WORKLOADS * PODS_EACH,
            "different requests": f"{WORKLOADS} (Pods), {NAMED} (Object, External)",
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def cases() -> tuple[Case, ...]:
    """Every kind of request."""
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
        Case(name="Pods", requests=pods, programs=(UPSTREAM, LOADLINE, UNSHARED, THROTTLED)),
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
    programs = Programs.started(undo, directory, scrape_interval_seconds=5)
    _expose(programs.exporter)
    programs.prometheus.wait_for("bench_load")
    programs.cluster.kubectl("create", "--filename=-", input="\n---\n".join(_manifests()))
    report(f"logs: {directory}; starting {', '.join(c.name for c in PROGRAM_SETUPS)}")
    return Environment.started(undo, programs, configuration=CONFIGURATION, setups=PROGRAM_SETUPS)


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


def measured(
    environment: Environment, case: Case, connections: int, options: Options, report: Report
) -> list[Round]:
    """All rounds of a case. Throttled programs run in the first round only: their throughput does not vary."""
    many = f"{connections} connection{'s' if connections > 1 else ''}"
    label = f"{case.name}, {many}"
    done = []
    for number in range(options.rounds):
        for name in case.programs:
            if name == THROTTLED and number:
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
    specification = environment.load(
        adapter, HEADERS, requests=tuple(requests), connections=connections, seconds=seconds
    )
    with load.prepared(specification, environment.programs.directory) as generate:
        queries_before, before = environment.queries(), environment.cpu_seconds(adapter)
        outcome = generate()
        after = environment.cpu_seconds(adapter)
        queries = environment.queries() - queries_before
    used = {name: seconds_after - before[name] for name, seconds_after in after.items()}
    each = {name: 1000 * spent / outcome.requests for name, spent in used.items()}
    return {
        "requests_per_second": outcome.requests / outcome.seconds,
        "p50_ms": outcome.p50_ms,
        "p99_ms": outcome.p99_ms,
        "cpu_ms_per_request": each["adapter"],
        "prometheus_cpu_ms_per_request": each["prometheus"],
        "apiserver_cpu_ms_per_request": each["apiserver"],
        "queries_per_request": queries / outcome.requests,
        "rss_mib": proc.rss_mib(adapter.pid),
        "load_generator_cores": outcome.cpu_seconds / outcome.seconds,
    }
