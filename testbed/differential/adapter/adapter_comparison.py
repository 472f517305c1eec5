"""The comparison: start both adapters with a configuration, send both the same requests, compare the responses."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import yaml

from testbed.cluster import Cluster
from testbed.differential.adapter import (
    cluster_and_series,
    generated_configuration,
    metrics_requests,
    raw_requests,
    through_aggregator,
)
from testbed.differential.adapter.adapter_deviations import CUSTOM_TIMESTAMPS, another_form, explain
from testbed.differential.adapter.adapter_instances import (
    LOADLINE,
    UPSTREAM,
    AdapterInstance,
    Program,
    Response,
    start_adapter,
)
from testbed.differential.adapter.frozen_prometheus import Fault, FrozenPrometheus
from testbed.differential.adapter.metrics_requests import (
    MetricsRequest,
    RequestGenerator,
    ServedMetrics,
)
from testbed.differential.adapter.response_comparison import (
    ComparableResponse,
    comparable,
    differences,
)
from testbed.differential.adapter.through_aggregator import UnexplainedDifference
from testbed.processes import ProcessFailed
from testbed.prometheus import PrometheusServer
from testbed.waiting import until

CONFIGURATIONS = Path(__file__).with_name("configurations")
CHART_RULES = Path(__file__).parents[3] / "charts" / "adapter" / "files" / "default-rules.yaml"
WEIGHTS = {
    "chart_defaults": 4,
    "walkthrough": 3,
    "external": 3,
    "resource_rules": 2,
    "naming": 3,
    "templates": 5,
    "generated": 4,
}
"""The relative number of requests for each configuration."""

SENSIBLE = {"custom", "external", "usage", "metric of a namespace", "everyone", "one object"}
"""Traits of requests that succeed while Prometheus is healthy."""

FAULTS = {
    "refuses": Fault(
        status=400, body='{"status":"error","errorType":"bad_data","error":"1:2: parse error"}'
    ),
    "cannot execute": Fault(
        status=422, body='{"status":"error","errorType":"execution","error":"too many samples"}'
    ),
    "is overloaded": Fault(
        status=503, body='{"status":"error","errorType":"timeout","error":"query timed out"}'
    ),
    "is behind a broken proxy": Fault(
        status=502, content_type="text/html", body="<html>Bad Gateway</html>"
    ),
    "responds with garbage": Fault(status=200, body="certainly!"),
    "truncates its response": Fault(
        status=200, body='{"status":"success","data":{"resultType":"vec'
    ),
    "fails with 200": Fault(
        status=200, body='{"status":"error","errorType":"internal","error":"x"}'
    ),
    "returns another shape": Fault(
        status=200, body='{"status":"success","data":{"resultType":"vector","result":{"a":1}}}'
    ),
    # Last, because it is a valid response, which Loadline serves again for a second.
    "returns a matrix": Fault(
        status=200, body='{"status":"success","data":{"resultType":"matrix","result":[]}}'
    ),
}

MIN_SAMPLES = 8  # of each series before the frozen moment, for rates


class AdapterPair(msgspec.Struct, frozen=True, kw_only=True):
    """Both adapters, running."""

    upstream: AdapterInstance
    loadline: AdapterInstance
    served: ServedMetrics
    frozen: tuple[FrozenPrometheus, ...]
    pool: ThreadPoolExecutor

    def send(self, request: MetricsRequest) -> tuple[Response, Response]:
        """Send the request to both at the same time."""
        upstream, loadline = (
            self.pool.submit(each.send, request) for each in (self.upstream, self.loadline)
        )
        return upstream.result(), loadline.result()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A request with different responses."""

    configuration: str
    request: MetricsRequest
    upstream: Response
    loadline: Response
    places: tuple[str, ...]
    deviation: str | None  # its row in docs/deviations.md; None: not intended
    queries: tuple[tuple[str, ...], tuple[str, ...]]  # that either sent to Prometheus

    def __str__(self) -> str:
        lines = [f"[{self.configuration}; {self.request.category}] {self.request}"]
        lines += [f"    {each}" for each in self.places[:6]]
        for program, queries in zip((UPSTREAM, LOADLINE), self.queries, strict=True):
            lines += [f"    {program} queried: {query}" for query in queries[:3]]
        return "\n".join(lines)


class RequestResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request."""

    status: int  # of prometheus-adapter's response
    deviations: tuple[str, ...] = ()
    difference: Difference | None = None


class ConfigurationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one configuration."""

    configuration: str
    request_count: int
    statuses: Mapping[str, int]
    traits: Mapping[str, int]
    different: tuple[Difference, ...]
    deviations: Mapping[str, int]

    @property
    def unexplained(self) -> list[Difference]:
        """The differences that no deviation explains."""
        return [each for each in self.different if each.deviation is None]


def configuration_file(name: str, directory: Path, *, seed: int = 0) -> Path:
    """The configuration file that both adapters read."""
    path = directory / f"{name}.yaml"
    if name == "chart_defaults":
        path.write_text("rules:\n" + CHART_RULES.read_text())
    elif name == "generated":
        path.write_bytes(msgspec.yaml.encode(generated_configuration.configuration(str(seed))))
    else:
        path = CONFIGURATIONS / path.name
    return path


def frozen_moment(prometheus: PrometheusServer) -> float:
    """A time before which every series has enough samples, and after which there has been a scrape."""
    series = max(name for name, _, _ in cluster_and_series.counters())
    prometheus.wait_for(f"min(count_over_time({series}[10m])) >= {MIN_SAMPLES}")
    moment = round(time.time(), 3)
    until(
        lambda: [v for v in prometheus.query("min(timestamp(up))") if v.value > moment],
        what="a scrape after the frozen moment",
    )
    return moment


class Comparison(msgspec.Struct, kw_only=True):
    """What the runs of all configurations have in common."""

    cluster: Cluster
    prometheus: PrometheusServer
    at_unix_seconds: float
    directory: Path
    seed: int
    against: Program = LOADLINE

    def run(self, name: str, count: int) -> ConfigurationResult:
        """Compare `count` random requests with one configuration, and every discovery document."""
        with self.both(name) as pair:
            random_requests = self._generator(name, pair.served).some(count)
            requests = [*metrics_requests.fixed_requests(), *random_requests]
            results = [self._send(name, request, pair) for request in requests]
        deviations = Counter(each for one in results for each in one.deviations)
        return ConfigurationResult(
            configuration=name,
            request_count=len(requests),
            statuses=dict(sorted(Counter(str(one.status) for one in results).items())),
            traits=dict(sorted(Counter(t for q in requests for t in q.traits).items())),
            different=tuple(one.difference for one in results if one.difference is not None),
            deviations=dict(sorted(deviations.items())),
        )

    def through_aggregator(self, name: str, count: int) -> list[UnexplainedDifference]:
        """The unexplained differences of `count` requests sent through kube-apiserver."""
        with self.both(name) as pair:
            requests = through_aggregator.suitable(
                list(self._generator(name, pair.served).some(4 * count)), count
            )
            return through_aggregator.compare(
                self.cluster, (pair.upstream, pair.loadline), requests, self._comparable
            )

    def under_faults(self, name: str, count: int) -> dict[str, list[Difference]]:
        """The differences of `count` requests while Prometheus fails, by fault."""
        found: dict[str, list[Difference]] = {}
        with self.both(name) as pair:
            generated = self._generator(name, pair.served).some(4 * count)
            requests = [each for each in generated if each.traits <= SENSIBLE][:count]
            for fault_name, fault in FAULTS.items():
                for proxy in pair.frozen:
                    proxy.fault = fault
                results = [self._send(name, request, pair).difference for request in requests]
                found[fault_name] = [one for one in results if one is not None]
        return found

    def raw_requests(self, name: str, count: int) -> list[str]:
        """The unexplained differences between the statuses of `count` raw requests; a traceback is one, too."""
        found = []
        with self.both(name) as pair:
            for request in raw_requests.random_requests(count, seed=self.seed):
                upstream, loadline = (
                    pair.upstream.send_raw(request),
                    pair.loadline.send_raw(request),
                )
                if raw_requests.is_unexplained(upstream, loadline, request):
                    found.append(f"{upstream} became {loadline}: {', '.join(request.changes)}")
            if "Traceback" in pair.loadline.process.log():
                found.append(f"a traceback in {pair.loadline.process.log_path}")
        return found

    def starts(self, program: Program, configuration: Path) -> bool:
        """Whether a program becomes ready with a configuration; otherwise it exits."""
        try:
            with self._frozen() as proxy, self._start(program, configuration, proxy):
                return True
        except ProcessFailed:
            return False

    @contextmanager
    def both(self, name: str) -> Iterator[AdapterPair]:
        """Start both adapters with a configuration and wait until they have listed their metrics."""
        path = configuration_file(name, self.directory, seed=self.seed)
        with ExitStack() as undo:
            frozen = [undo.enter_context(self._frozen()) for _ in range(2)]
            pool = undo.enter_context(ThreadPoolExecutor(2))
            starting = [
                pool.submit(self._start, program, path, proxy)
                for program, proxy in zip((UPSTREAM, self.against), frozen, strict=True)
            ]
            upstream, loadline = (undo.enter_context(each.result()) for each in starting)
            until(
                lambda: _is_complete(discovered(upstream), path),
                what="the metrics of prometheus-adapter",
            )
            served = discovered(upstream)
            until(lambda: _has_listed(loadline, served), what="the metrics of Loadline's adapter")
            yield AdapterPair(
                upstream=upstream, loadline=loadline, served=served, frozen=tuple(frozen), pool=pool
            )

    def _generator(self, name: str, served: ServedMetrics) -> RequestGenerator:
        return RequestGenerator(served, seed=f"{self.seed} {name}")

    def _frozen(self) -> FrozenPrometheus:
        return FrozenPrometheus(self.prometheus.port, at_unix_seconds=self.at_unix_seconds)

    def _start(self, program: Program, path: Path, proxy: FrozenPrometheus) -> AdapterInstance:
        return start_adapter(
            program,
            cluster=self.cluster,
            configuration=path,
            prometheus_url=proxy.url,
            directory=self.directory,
        )

    def _send(self, name: str, request: MetricsRequest, pair: AdapterPair) -> RequestResult:
        before = [len(proxy.queries) for proxy in pair.frozen]
        upstream, loadline = pair.send(request)
        left, right = self._comparable(upstream), self._comparable(loadline)
        notes = []
        if form := another_form(left, right):
            notes.append(form)
            upstream = pair.upstream.send(
                msgspec.structs.replace(request, accept="application/json")
            )
            left = self._comparable(upstream)
        if right.evaluated_timestamps and not left.evaluated_timestamps:
            notes.append(CUSTOM_TIMESTAMPS)
        found = differences(left, right)
        if not found:
            return RequestResult(status=upstream.status, deviations=tuple(notes))
        of_upstream, of_loadline = (proxy.queries for proxy in pair.frozen)
        sent = tuple(of_upstream[before[0] :]), tuple(of_loadline[before[1] :])
        difference = Difference(
            configuration=name,
            request=request,
            upstream=upstream,
            loadline=loadline,
            places=tuple(found),
            deviation=explain(request, left, right, sent, earlier=of_loadline[: before[1]]),
            queries=sent,
        )
        if difference.deviation is not None:
            notes.append(difference.deviation)
        return RequestResult(status=upstream.status, deviations=tuple(notes), difference=difference)

    def _comparable(self, response: Response) -> ComparableResponse:
        return comparable(response, now_seconds=time.time(), moment_seconds=self.at_unix_seconds)


def discovered(adapter: AdapterInstance) -> ServedMetrics:
    """The metrics in the discovery documents, sorted."""
    custom = _resources(adapter, f"/apis/{metrics_requests.CUSTOM}/v1beta1")
    external = _resources(adapter, f"/apis/{metrics_requests.EXTERNAL}/v1beta1")
    return ServedMetrics(
        custom=tuple(sorted((r["name"], r["namespaced"]) for r in custom)),
        external=tuple(sorted(r["name"] for r in external)),
        usage=bool(_resources(adapter, f"/apis/{metrics_requests.USAGE}/v1beta1")),
    )


def _is_complete(served: ServedMetrics, configuration: Path) -> bool:
    """Whether each API in the configuration lists a metric; if not, its series have not been listed yet."""
    configured = yaml.safe_load(configuration.read_text())
    return (
        bool(served.custom) == ("rules" in configured)
        and bool(served.external) == ("externalRules" in configured)
        and served.usage == ("resourceRules" in configured)
    )


def _has_listed(adapter: AdapterInstance, served: ServedMetrics) -> bool:
    """Whether all series have been listed: an unknown metric is then a 404 and no longer a 503.

    What it lists is compared like any other response.
    """
    groups = [
        group
        for group, has in (
            (metrics_requests.CUSTOM, served.custom),
            (metrics_requests.EXTERNAL, served.external),
        )
        if has
    ]
    missing = {metrics_requests.CUSTOM: "pods/none/nothing", metrics_requests.EXTERNAL: "nothing"}
    requests = [
        MetricsRequest(
            category="discovery", target=f"/apis/{group}/v1beta1/namespaces/none/{missing[group]}"
        )
        for group in groups
    ]
    return len(discovered(adapter).custom) >= len(served.custom) and all(
        adapter.send(request).status == HTTPStatus.NOT_FOUND for request in requests
    )


def _resources(adapter: AdapterInstance, path: str) -> list[dict[str, Any]]:
    response = adapter.send(MetricsRequest(category="discovery", target=path))
    if response.status != 200:
        return []
    listed: list[dict[str, Any]] = msgspec.json.decode(response.body)["resources"]
    return listed


def shares(count: int) -> dict[str, int]:
    """Divide `count` requests among the configurations by their weights."""
    total = sum(WEIGHTS.values())
    return {name: -(-count * weight // total) for name, weight in WEIGHTS.items()}


def summary(results: Sequence[ConfigurationResult], *, seed: int) -> dict[str, Any]:
    """The totals of all configurations, for the test log."""
    added: dict[str, Counter[str]] = {}
    for key in ("statuses", "traits", "deviations"):
        added[key] = Counter()
        for result in results:
            added[key].update(getattr(result, key))
    return {
        "seed": seed,
        "requests": sum(each.request_count for each in results),
        "unexplained": sum(len(each.unexplained) for each in results),
        "by_configuration": {each.configuration: each.request_count for each in results},
        **{key: dict(sorted(counts.items())) for key, counts in added.items()},
    }
