"""The recorded series of a workload that an autoscaler may scale on: its CPU usage, and the counters of its pods."""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubectl_loadline.backtest.recording import READY_REPLICAS, REPLICAS
from kubectl_loadline.cluster.workloads import FoundWorkload
from kubectl_loadline.recorded_series.files import Samples, read_csv
from kubectl_loadline.recorded_series.found import RecordedSeries
from kubectl_loadline.recorded_series.of_metrics import (
    cache_of,
    prometheus_server,
    span_of,
    start_up_of,
)
from kubectl_loadline.recorded_series.prometheus import (
    SCRAPE_SECONDS,
    SCRAPE_SECONDS_MAX,
    PrometheusServer,
    SeriesClient,
    TimeSpan,
)
from kubectl_loadline.recorded_series.queries import (
    Selected,
    delay_of,
    pod_pattern,
    replica_queries,
    usage_query,
)
from kubectl_loadline.recorded_series.sample_reads import read_samples, recording_of
from kubectl_loadline.suggest.proposal import Choices, Workload, autoscaler_of
from kubectl_loadline.suggest.series_choice import CPU
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import LOAD_AUTOSCALERS
from wire.prometheus.scrape_interval import fitting_range

SERIES_MAX: Final = 20
OF_PODS: Final = "CPU usage or of a counter of the pods"
# Of the platform and of the runtimes: they do not count what the pods are there for.
PLATFORM: Final = (
    "container_", "kube_", "process_", "go_", "python_", "jvm_", "nodejs_", "promhttp_", "net_conntrack_", "scrape_", "prometheus_", "loadline_",
)  # fmt: skip
PER_SECOND: Final = "_per_second"


def recorded_series(
    workload: FoundWorkload, given: argparse.Namespace, url: str, api_server: str = ""
) -> RecordedSeries:
    """As the flags say; `url` and `api_server` as for `series_of_metrics`. Raises `SeriesUnavailable`, and ValueError without a source."""
    if given.history:
        return _from_files(given)
    if not url:
        raise ValueError("give the recorded series with --prometheus-url=URL or --history=FILE")
    return _from_prometheus(workload, given, prometheus_server(given, url, api_server))


def name_of(counter: str) -> str:
    """`http_requests_total` -> `http_requests_per_second`."""
    return counter.removesuffix("_total") + PER_SECOND


def counter_of(metric: str) -> str:
    """The counter of a metric that `name_of` has named."""
    return f"{metric.removesuffix(PER_SECOND)}_total"


def query_of(metric: str, range_: str) -> str:
    """The query of the adapter for a metric that `name_of` has named."""
    return f"sum by (namespace, pod) (rate({counter_of(metric)}[{range_}]))"


def _from_files(given: argparse.Namespace) -> RecordedSeries:
    samples: dict[str, Samples] = {}
    sources: dict[str, str] = {}
    for text in given.history:
        for name, rows in read_csv(Path(text)).items():
            samples[name], sources[name] = rows, text
    return RecordedSeries(recording=recording_of(samples, sources, given.step, expected=OF_PODS))


def _from_prometheus(
    workload: FoundWorkload, given: argparse.Namespace, server: PrometheusServer
) -> RecordedSeries:
    any_autoscaler = _autoscaler(workload)
    with SeriesClient(server, cache=cache_of(given)) as client:
        span = span_of(given, time.time())
        matchers = f'namespace="{workload.namespace}",pod=~"{pod_pattern(any_autoscaler)}"'
        ranges = _ranges(client, matchers, span)
        wanted = _wanted(matchers, ranges, dict(given.query), any_autoscaler)
        found = read_samples(client, wanted, span)
        scrape = client.scrape_seconds(span.end_unix_seconds) or SCRAPE_SECONDS
        metrics = [name for name in found.samples if name not in (REPLICAS, READY_REPLICAS)]
        return RecordedSeries(
            recording=recording_of(found.samples, found.sources, given.step, expected=OF_PODS),
            queries={name: promql for name, promql in given.query if name in metrics},
            ranges=ranges,
            delays={name: delay_of(found.queries[name].promql, scrape) for name in metrics},
            start_up=None if given.start_up else start_up_of(client, any_autoscaler, span),
        )


def _ranges(client: SeriesClient, matchers: str, span: TimeSpan) -> dict[str, str]:
    """The metrics of the counters of the pods, with a range for their rate() that fits their scrape interval."""
    counters = [
        each
        for each in client.names(matchers, span)
        if each.endswith("_total") and not each.startswith(PLATFORM)
    ]
    until = span.end_unix_seconds
    return {
        name_of(each): fitting_range(
            client.scrape_seconds(until, f"{each}{{{matchers}}}") or SCRAPE_SECONDS_MAX
        )
        for each in counters[:SERIES_MAX]
    }


def _wanted(
    matchers: str,
    ranges: Mapping[str, str],
    given: Mapping[str, str],
    autoscaler: Autoscaler,
) -> dict[str, tuple[Selected, ...]]:
    wanted: dict[str, tuple[Selected, ...]] = dict(replica_queries(autoscaler, LOAD_AUTOSCALERS))
    usage = usage_query((autoscaler.spec.metrics or ())[0], autoscaler)
    if usage is not None:
        wanted[CPU] = (usage,)
    for name, range_ in ranges.items():
        promql = f"sum(rate({counter_of(name)}{{{matchers}}}[{range_}]))"
        wanted[name] = (Selected(promql=promql),)
    return wanted | {name: (Selected(promql=promql),) for name, promql in given.items()}


def _autoscaler(workload: FoundWorkload) -> Autoscaler:
    """One on CPU, for the queries that follow from it."""
    target = Workload(
        namespace=workload.namespace,
        name=workload.name,
        kind=workload.kind,
        api_version=workload.api_version,
        lead_seconds=120,
    )
    return autoscaler_of(
        Choices(metric=CPU, share=1, target=1, min_replicas=1, max_replicas=1), target
    )
