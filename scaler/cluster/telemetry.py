"""The scaler's own metrics.

Those of the HPA controller (pkg/controller/podautoscaler/monitor) keep its names, labels and buckets,
with the prefix `loadline_scaler_` instead of `horizontal_pod_autoscaler_controller_`. The others
are Loadline's. An object rather than module globals, so that each test has its own registry.
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scaler.algorithm.decision import Action, ErrorClass
from scaler.algorithm.derivation import MetricDerivation
from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind

DESIRED = "loadline_scaler_desired_replicas"
CACHE_AGES = "loadline_scaler_cache_age_seconds"

# ExponentialBuckets(0.001, 2, 15)
_BUCKETS_SECONDS = tuple(0.001 * 2**step for step in range(15))
# Fine around one second: a longer delay is worth an alert.
_DELAY_BUCKETS_SECONDS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0,
)  # fmt: skip


class Telemetry:
    """The metrics and the registry that they are in."""

    def __init__(self, kind: WatchedKind = LOAD_AUTOSCALERS, *, shards: int = 0) -> None:
        """`kind`: the kind of autoscaler that is reconciled; it decides how one is labelled. `shards`: how many the
        replicas share, 0 if one of them leads.
        """
        self.registry = CollectorRegistry()
        self._kind = kind
        self._shards = shards
        self._add_upstream_metrics()
        self._add_own_metrics()
        self._add_metrics_of_the_share()
        self._add_metrics_of_reading()

        # Finding a series by its labels takes longer than everything else that a reconcile without news does.
        self._metrics_api_requests = lru_cache(None)(self.metrics_api_requests_total.labels)
        self._outcome = lru_cache(None)(
            lambda action, error: _Series(
                self.reconciliations_total.labels(action.value, error.value),
                self.reconciliation_duration_seconds.labels(action.value, error.value),
            )
        )
        self._metric_outcome = lru_cache(None)(
            lambda action, error, type_: _Series(
                self.metric_computation_total.labels(action.value, error.value, type_),
                self.metric_computation_duration_seconds.labels(action.value, error.value, type_),
            )
        )

    def _add_upstream_metrics(self) -> None:
        outcome = ("action", "error")
        metric_outcome = (*outcome, "metric_type")
        self.reconciliations_total = Counter(
            "loadline_scaler_reconciliations_total",
            "Reconciles by action (scale_up, scale_down, none) and error (spec, internal, none).",
            outcome,
            registry=self.registry,
        )
        self.reconciliation_duration_seconds = Histogram(
            "loadline_scaler_reconciliation_duration_seconds",
            "Duration of a reconcile, including the time in which its status waits for the scales of other targets.",
            outcome,
            buckets=_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.metric_computation_total = Counter(
            "loadline_scaler_metric_computation_total",
            "Metric evaluations, by proposed action, error and spec.metrics[*].type.",
            metric_outcome,
            registry=self.registry,
        )
        self.metric_computation_duration_seconds = Histogram(
            "loadline_scaler_metric_computation_duration_seconds",
            "Time to read one metric from its API.",
            metric_outcome,
            buckets=_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self._stale_sync_skips_total = Counter(
            "loadline_scaler_stale_sync_skips_total",
            "Reconciles skipped because the watch has not yet delivered the last write. If it increases, the watch is slow or hangs.",
            ("group", "resource"),
            registry=self.registry,
        )
        self.autoscalers = Gauge(
            "loadline_scaler_num_horizontal_pod_autoscalers",
            "Number of autoscalers that this scaler reconciles.",
            registry=self.registry,
        )

    def _add_own_metrics(self) -> None:
        self._build = Gauge(
            "loadline_scaler_build_info",
            "Always 1; the labels are the version of Loadline and of Python.",
            ("version", "python_version"),
            registry=self.registry,
        )
        self.reconcile_delay_seconds = Histogram(
            "loadline_scaler_reconcile_delay_seconds",
            "Delay between the time a reconcile was due and its start; grows when --concurrent-syncs is too low.",
            buckets=_DELAY_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.repeated_decisions_total = Counter(
            "loadline_scaler_repeated_decisions_total",
            "Reconciles that kept the last decision without computing it, because nothing has changed that it depends on.",
            registry=self.registry,
        )
        self.crashes_total = Counter(
            "loadline_scaler_crashes_total",
            "Unexpected errors while reconciling, deciding on changed metrics, reading watched objects or collecting this program's metrics. Each is a bug, with a traceback in the log.",
            registry=self.registry,
        )
        self.client_refusals_total = Counter(
            "loadline_scaler_client_refusals_total",
            "Connections and requests refused because the client exceeded a limit, by limit (connections, memory, headers, time, reviews).",
            ("reason",),
            registry=self.registry,
        )
        self.events_dropped_total = Counter(
            "loadline_scaler_events_dropped_total",
            "Events not written, by type (Normal, Warning) and reason: queue_full, refused by the API server, or unavailable (the API server, for two minutes).",
            ("type", "reason"),
            registry=self.registry,
        )

        self._kubernetes_version: Gauge | None = None
        if self._kind.follows_server_version:
            self._kubernetes_version = Gauge(
                "loadline_scaler_kubernetes_version_info",
                "Only for HPAs, always 1; the labels are the version of the API server (empty with --kubernetes-version), and the version whose HPA "
                "controller is emulated. They differ if this version of Loadline does not know that of the server.",
                ("server", "behavior"),
                registry=self.registry,
            )

    def _add_metrics_of_the_share(self) -> None:
        if self._shards:
            self._share = Gauge(
                "loadline_scaler_shards_owned",
                "Shards whose namespaces this replica reconciles. Only with --sharding; the sum over all replicas is loadline_scaler_shards.",
                registry=self.registry,
            )
            Gauge(
                "loadline_scaler_shards",
                "Shards that the replicas share. Only with --sharding.",
                registry=self.registry,
            ).set(self._shards)
        else:
            self._share = Gauge(
                "loadline_scaler_leading",
                "1 while this replica is the active one (the leader). Not with --sharding.",
                registry=self.registry,
            )

    def _add_metrics_of_reading(self) -> None:
        self.metrics_api_requests_total = Counter(
            "loadline_scaler_metrics_api_requests_total",
            "Reads of the metrics APIs by API group and result: sent, shared with an equal request, or streamed.",
            ("group", "result"),
            registry=self.registry,
        )
        self.direct_connection = Gauge(
            "loadline_scaler_direct_connection",
            "1 while metrics are read directly from this Service of a metrics API, 0 while they are read through kube-apiserver because that fails.",
            ("service",),
            registry=self.registry,
        )
        self.stream_connected = Gauge(
            "loadline_scaler_stream_connected",
            "1 while an adapter streams the metrics that have changed.",
            registry=self.registry,
        )
        self.streamed_metrics = Gauge(
            "loadline_scaler_streamed_metrics",
            "Metrics with a response that the adapter has streamed.",
            registry=self.registry,
        )
        self.brought_forward_total = Counter(
            "loadline_scaler_reconciles_brought_forward_total",
            "Reconciles before the end of the period, because a streamed metric has changed.",
            registry=self.registry,
        )
        self.direct_requests_total = Counter(
            "loadline_scaler_direct_requests_total",
            "Requests to adapters by result: answered, or failed and repeated through kube-apiserver.",
            ("result",),
            registry=self.registry,
        )

    def count_refusal(self, reason: str) -> None:
        """Count a client of the server that took too much."""
        self.client_refusals_total.labels(reason).inc()

    def show_share(self, shards: int) -> None:
        """Export how many shards this process reconciles; a leader has all of them."""
        self._share.set(shards if self._shards else bool(shards))

    def show_build(self, version: str) -> None:
        """Export the version that is running, and the CPU time and memory of this process."""
        ProcessCollector(registry=self.registry)
        self._build.labels(version, platform.python_version()).set(1)

    def show_kubernetes_version(self, server: str, behavior: str) -> None:
        """Export the versions, such as `1.37`; nothing for a kind that has always the newest behavior."""
        if self._kubernetes_version is not None:
            self._kubernetes_version.clear()
            self._kubernetes_version.labels(server, behavior).set(1)

    def show_clock_difference(self, difference_seconds: Callable[[], float]) -> None:
        """Export `clock_difference_seconds`; the function is called for each scrape."""
        Gauge(
            "loadline_scaler_clock_difference_seconds",
            "How far the wall clock of another replica is ahead of this one, by the times in its Lease; accurate to about 2 seconds, and 0 below 4. "
            "With --sharding, the largest difference.",
            registry=self.registry,
        ).set_function(difference_seconds)

    def show_cache_ages(self, ages_seconds: Callable[[], Mapping[str, float]]) -> None:
        """Export `cache_age_seconds`; `ages_seconds` returns the age by resource and is called for each scrape."""
        self.registry.register(_AtScrape(CACHE_AGES, lambda: _cache_ages(ages_seconds())))

    def count_metrics(
        self,
        metrics: Sequence[MetricDerivation],
        durations_seconds: Sequence[float],
        replicas_before: int,
    ) -> None:
        """Count each metric by what it proposes compared with the previous reconcile's status, as upstream."""
        for metric, seconds in zip(metrics, durations_seconds, strict=False):
            failed = metric.proposal is None and not metric.is_input
            proposed = replicas_before if metric.proposal is None else metric.proposal
            action = _action(proposed, replicas_before)
            failure = ErrorClass.SPEC if metric.is_spec_error else ErrorClass.INTERNAL
            error = failure if failed else ErrorClass.NONE
            self._metric_outcome(action, error, metric.type).count(seconds)

    def count_metrics_request(self, group: str, result: str) -> None:
        """Count a metric that is read from an API of this group: `sent`, `shared` or `streamed`."""
        self._metrics_api_requests(group, result).inc()

    def count_stale_skip(self) -> None:
        """Count a reconcile that was left out."""
        self._stale_sync_skips_total.labels(self._kind.group, self._kind.plural).inc()

    def count_reconcile(self, action: Action, error: ErrorClass, seconds: float) -> None:
        """Count a reconcile and its duration."""
        self._outcome(action, error).count(seconds)

    def show_desired_replicas(self, desired: Callable[[], Iterable[tuple[str, int]]]) -> None:
        """Export what each autoscaler wants; `desired` returns keys and counts and is called for each scrape.

        Upstream keeps the gauge of a deleted autoscaler until it restarts.
        """
        self.registry.register(_AtScrape(DESIRED, lambda: self._desired_family(desired())))

    def _desired_family(self, desired: Iterable[tuple[str, int]]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            DESIRED,
            "Desired replicas of an autoscaler.",
            labels=self._kind.metric_labels,
        )
        for key, replicas in desired:
            family.add_metric(self._labels(key), replicas)
        return family

    def _labels(self, key: str) -> list[str]:
        namespace, _, name = key.partition("/")
        values = {"namespace": namespace, "name": name, "hpa_name": name, "kind": self._kind.kind}
        return [values[label] for label in self._kind.metric_labels]


class _Series:
    """The counter and the histogram of one outcome."""

    def __init__(self, total: Counter, duration_seconds: Histogram) -> None:
        self._total = total
        self._duration_seconds = duration_seconds

    def count(self, seconds: float) -> None:
        self._total.inc()
        self._duration_seconds.observe(seconds)


class _AtScrape(Collector):
    """A metric whose samples are made when it is scraped."""

    def __init__(self, name: str, family: Callable[[], GaugeMetricFamily]) -> None:
        self._name = name
        self._family = family

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Its name, for the registry."""
        yield GaugeMetricFamily(self._name, "")

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All samples of this moment."""
        yield self._family()


def _cache_ages(ages_seconds: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        CACHE_AGES,
        "Time since the API server last confirmed the cached objects of a resource. "
        "While it is above 360 seconds, nothing is scaled down.",
        labels=("resource",),
    )
    for resource, age_seconds in ages_seconds.items():
        family.add_metric((resource,), age_seconds)
    return family


def _action(replicas: int, replicas_before: int) -> Action:
    if replicas == replicas_before:
        return Action.NONE
    return Action.SCALE_UP if replicas > replicas_before else Action.SCALE_DOWN
