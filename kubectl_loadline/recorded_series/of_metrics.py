"""The recorded series of an autoscaler: from files, or from Prometheus."""

import argparse
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from kubectl_loadline.backtest.metric_kinds import NotReplayable, kind_of
from kubectl_loadline.backtest.recording import columns_of
from kubectl_loadline.cluster.manifests import Manifest
from kubectl_loadline.recorded_series.files import Samples, UnusableSeries, read_csv, read_range
from kubectl_loadline.recorded_series.found import RecordedSeries, StartUp
from kubectl_loadline.recorded_series.prometheus import (
    SCRAPE_SECONDS,
    PrometheusServer,
    SeriesClient,
    TimeSpan,
)
from kubectl_loadline.recorded_series.queries import (
    Selected,
    delay_of,
    described,
    generalized,
    replica_queries,
    start_up_queries,
    usage_query,
)
from kubectl_loadline.recorded_series.sample_reads import read_samples, recording_of
from kubectl_loadline.terminal.unread_file import unread_file
from scaler.api.autoscaler import Autoscaler, MetricSourceType, MetricSpec, metrics_of

SINCE_SECONDS = 14 * 86400
ANY_METRIC = "any metric"


class ExplainedRow(msgspec.Struct, frozen=True):
    """One row that counted."""

    labels: dict[str, str] = {}


class ExplainedQuery(msgspec.Struct, frozen=True):
    """One query of the adapter, and the first of its rows."""

    query: str
    rows: tuple[ExplainedRow, ...] = ()


class ExplainedObjects(msgspec.Struct, frozen=True):
    """The first of the present objects."""

    names: tuple[str, ...] = ()


class Explained(msgspec.Struct, frozen=True):
    """How the adapter computes one metric: the part of `explain --output json` that history needs."""

    queries: tuple[ExplainedQuery, ...] = ()
    objects: ExplainedObjects | None = None


class Explanations(msgspec.Struct, frozen=True):
    """One for each metric of the autoscaler, in the order of its spec."""

    explanations: tuple[Explained, ...]


def series_of_metrics(
    present: Manifest,
    given: argparse.Namespace,
    explained: Sequence[Explained] = (),
    url: str = "",
    candidates: Sequence[Manifest] = (),
    api_server: str = "",
) -> RecordedSeries:
    """As the flags say; `url` is where Prometheus can be reached from here, if that is not the URL of the flag, and `api_server`
    the URL of the API server through which it is reached.

    It has the metrics of the candidates as well.

    Raises `SeriesUnavailable`, and ValueError if there is no source or no query for a metric.
    """
    if given.history:
        return _from_files(present, given)
    url = url or given.prometheus_url
    if not url:
        raise ValueError("give the recorded series with --prometheus-url=URL or --history=FILE")
    explained = explained or read_explanations(given.explanation)
    queries = metric_queries(present.autoscaler, dict(given.query), explained)
    for each in candidates:
        queries |= metric_queries(each.autoscaler, dict(given.query), (), known=queries)
    return _from_prometheus(present, given, queries, prometheus_server(given, url, api_server))


def read_explanations(file: Path | None) -> Sequence[Explained]:
    """Of a file; none without a file. Raises `UnusableSeries`."""
    if file is None:
        return ()
    try:
        return explanations_in(file.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UnusableSeries(unread_file(file, error)) from error


def explanations_in(document: bytes | str) -> Sequence[Explained]:
    """Of the output of `explain --output json`. Raises ValueError for another document."""
    return msgspec.json.decode(document, type=Explanations).explanations


def metric_queries(
    autoscaler: Autoscaler,
    given: Mapping[str, str],
    explained: Sequence[Explained],
    *,
    known: Collection[str] = (),
) -> dict[str, Selected]:
    """By the name of a metric: as given, as the adapter computes it, or cAdvisor's usage. Raises ValueError without any.

    A metric that cannot be replayed needs none, and one that is `known` has one.
    """
    found: dict[str, Selected] = {}
    # `explain` leaves formulas out.
    metrics = [
        each for each in metrics_of(autoscaler.spec) if each.type != MetricSourceType.FORMULA
    ]
    for name, metric in described(autoscaler):
        if any(each in known for each in columns_of(metric)):
            continue
        named = next((each for each in columns_of(metric) if each in given), None)
        index = metrics.index(metric)
        if named is not None:
            found[name] = Selected(promql=given[named])
        elif index < len(explained) and explained[index].queries:
            found[name] = _explained(metric, explained[index], autoscaler)
        elif (usage := usage_query(metric, autoscaler)) is not None:
            found[name] = usage
        elif not isinstance(kind_of(metric, ""), NotReplayable):
            raise ValueError(
                f"no query is known for the metric {name}: give it with --query {name}=PROMQL, or the output of "
                "`kubectl loadline explain NAME -o json` with --explanation=FILE"
            )
    return found


def _explained(metric: MetricSpec, explained: Explained, autoscaler: Autoscaler) -> Selected:
    queries = explained.queries
    if (resource := metric.resource or metric.container_resource) is not None:
        # The usage of cpu and of memory are two queries of the same request.
        queries = tuple(each for each in queries if resource.name in each.query) or queries
    names = () if explained.objects is None else explained.objects.names
    rows = [each.labels for each in queries[0].rows]
    return generalized(queries[0].query, rows, names, autoscaler)


def _from_files(present: Manifest, given: argparse.Namespace) -> RecordedSeries:
    named = [
        columns_of(metric)
        for metric in metrics_of(present.autoscaler.spec)
        if metric.type != MetricSourceType.FORMULA
    ]
    only = named[0][0] if len(named) == 1 and named[0] else ""
    samples: dict[str, Samples] = {}
    sources: dict[str, str] = {}
    for text in given.history:
        name, equals, file = text.partition("=")
        found = {name: read_range(Path(file))} if equals else read_csv(Path(text), only_metric=only)
        for column, rows in found.items():
            samples[column] = rows
            sources[column] = Path(file if equals else text).name
    return RecordedSeries(recording=recording_of(samples, sources, given.step, expected=ANY_METRIC))


def _from_prometheus(
    present: Manifest,
    given: argparse.Namespace,
    queries: Mapping[str, Selected],
    server: PrometheusServer,
) -> RecordedSeries:
    autoscaler, extra = present.autoscaler, dict(given.query)
    with SeriesClient(server, cache=cache_of(given)) as client:
        span = span_of(given, time.time())
        wanted: dict[str, tuple[Selected, ...]] = {
            name: (query,) for name, query in queries.items()
        }
        wanted |= replica_queries(autoscaler, present.kind)
        wanted |= {
            name: (Selected(promql=promql),)
            for name, promql in extra.items()
            if name not in queries
        }
        found = read_samples(client, wanted, span)
        scrape = client.scrape_seconds(span.end_unix_seconds) or SCRAPE_SECONDS
        return RecordedSeries(
            recording=recording_of(found.samples, found.sources, given.step, expected=ANY_METRIC),
            queries={name: query.promql for name, query in queries.items()},
            delays={name: delay_of(query.promql, scrape) for name, query in queries.items()},
            start_up=None if given.start_up else start_up_of(client, autoscaler, span),
        )


def start_up_of(client: SeriesClient, autoscaler: Autoscaler, span: TimeSpan) -> StartUp | None:
    """As kube-state-metrics has recorded it; None without that. Raises `SeriesUnavailable`."""
    seconds = span.end_unix_seconds - span.start_unix_seconds
    found = [
        client.value(each, span.end_unix_seconds) for each in start_up_queries(autoscaler, seconds)
    ]
    median, p95 = found
    if median is None or p95 is None or not 0 < median <= p95:
        return None
    return StartUp(float(round(median)) or 1.0, float(round(p95)) or 1.0)


def sends_credentials(given: argparse.Namespace) -> bool:
    """Whether the flags have credentials for Prometheus."""
    return bool(given.prometheus_header or given.prometheus_token_file)


def prometheus_server(
    given: argparse.Namespace, url: str, api_server: str = ""
) -> PrometheusServer:
    """The flags; `url` and `api_server` as for `series_of_metrics`. Raises `UnusableSeries` for the file of a token."""
    headers = list(given.prometheus_header)
    if given.prometheus_token_file is not None:
        try:
            token = given.prometheus_token_file.read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UnusableSeries(unread_file(given.prometheus_token_file, error)) from error
        headers.append(("Authorization", f"Bearer {token}"))
    return PrometheusServer(
        url=url,
        # A forwarded port is another one each time, and each cluster has Services with the same names.
        name=url
        if url == given.prometheus_url
        else f"{given.prometheus_url or given.program} in the cluster {api_server}",
        headers=tuple(headers),
        ca_file=given.prometheus_ca_file,
    )


def cache_of(given: argparse.Namespace) -> Path:
    """The directory of the days that are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return given.cache or Path(base) / "loadline" / "history"


def span_of(given: argparse.Namespace, now_unix_seconds: float) -> TimeSpan:
    """From `--since` to `--until`, and not into the future: the last step is over."""
    end = min(now_unix_seconds, given.until or math.inf) // given.step * given.step
    return TimeSpan(
        start_unix_seconds=int(end) - int(given.since or SINCE_SECONDS),
        end_unix_seconds=int(end),
        step_seconds=given.step,
    )
