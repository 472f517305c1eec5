"""The adapter's own metrics: `loadline_adapter_*`, served at /metrics.

The names follow Prometheus' naming rules; label values come from small closed sets, so that clients cannot grow them.
"""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
)

# The text, and not the position of the rule: inserting a rule must not change the series of the others.
_SELECTION = ("backend", "series_query")

BUILD = Gauge(
    "loadline_adapter_build_info",
    "Always 1; the labels are the version of Loadline and of Python.",
    ["version", "python_version"],
)
REQUESTS = Counter(
    "loadline_adapter_requests",
    "Requests to the metrics APIs, by API group and HTTP status code.",
    ["api", "code"],
)
REQUEST_SECONDS = Histogram(
    "loadline_adapter_request_duration_seconds",
    "Time from a request's arrival to its response, including authentication.",
    ["api"],
    buckets=_SECONDS,
)
PROMETHEUS_REQUESTS = Counter(
    "loadline_adapter_prometheus_requests",
    "Requests to Prometheus, by backend, endpoint and whether they succeeded or failed.",
    ["backend", "endpoint", "outcome"],
)
PROMETHEUS_SECONDS = Histogram(
    "loadline_adapter_prometheus_request_duration_seconds",
    "Time from a request to Prometheus to its response, including the wait for --prometheus-concurrency.",
    ["backend", "endpoint"],
    buckets=_SECONDS,
)
EVALUATIONS = Counter(
    "loadline_adapter_evaluations",
    "Queries by source: sent (to Prometheus), shared (with an identical query in flight) or fresh (answered from a cached result).",
    ["source"],
)
ANSWERS = Counter(
    "loadline_adapter_answers",
    "Requests whose values came from Prometheus, by the query that returned them: wide (shared by many requests) or own (of one request).",
    ["query"],
)
WIDE_SUSPENSIONS = Counter(
    "loadline_adapter_wide_query_suspensions",
    "Times that a query for many requests was replaced by one query per request, by reason: refused by Prometheus (for 10 minutes), "
    "failed (for 30 seconds to 10 minutes) or costly, if it cost more than the queries that it replaces (for 1 to 60 minutes).",
    ["reason"],
)
LEFT_OUT_METRICS_MAX: Final = 500
OTHER_METRICS: Final = "(others)"
LEFT_OUT_OBJECTS = Counter(
    "loadline_adapter_left_out_objects",
    "Objects that were left out of a list because their value cannot be used. The log names them. "
    "After 500 metrics, all further ones are counted as (others).",
    ["metric"],
)
_left_out_metrics: set[str] = set()
SAMPLE_AGE_SECONDS = Histogram(
    "loadline_adapter_served_sample_age_seconds",
    "Age of the oldest sample in a response when it is served.",
    ["api"],
    buckets=(0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0),
)
DISCOVERED_AT = Gauge(
    "loadline_adapter_discovery_last_success_timestamp_seconds",
    "When the series of a seriesQuery were last listed; their age is time() minus this. The label series_query is the text of seriesQuery.",
    _SELECTION,
)
DISCOVERED_SERIES = Gauge(
    "loadline_adapter_discovery_series",
    "Distinct series (by name and label names) that a seriesQuery selects.",
    _SELECTION,
)
DISCOVERY_FAILURES = Counter(
    "loadline_adapter_discovery_failures",
    "Listings of the series of a seriesQuery that failed; its rules keep the series they had.",
    _SELECTION,
)
OBJECTS_AGE_SECONDS = Gauge(
    "loadline_adapter_objects_age_seconds",
    "Time since the API server last confirmed the copy of a resource's objects that selectors are evaluated on. "
    "The phase is Running for the copy of running pods, and otherwise empty.",
    ["resource", "phase"],
)
CRASHES = Counter(
    "loadline_adapter_crashes",
    "Unexpected errors while evaluating watched metrics, listing series, handling changed objects or collecting this program's metrics. Each is a bug, with a traceback in the log.",
)
STREAMS = Gauge(
    "loadline_adapter_streams",
    "Clients that watch metrics.",
)
WATCHED = Gauge(
    "loadline_adapter_watched_metrics",
    "Distinct metric requests that are watched by clients and evaluated in each round.",
)
ROUND_SECONDS = Histogram(
    "loadline_adapter_round_duration_seconds",
    "Time to evaluate everything that is watched once.",
    buckets=_SECONDS,
)
CLIENT_REFUSALS = Counter(
    "loadline_adapter_client_refusals",
    "Connections and requests refused because the client exceeded a limit, by limit (connections, memory, headers, time, reviews).",
    ["reason"],
)
STREAMS_ENDED = Counter(
    "loadline_adapter_streams_ended",
    "Streams that the adapter ended, by reason: slow_client, not_admitted or protocol.",
    ["reason"],
)
CONFIGURATION_GENERATION = Gauge(
    "loadline_adapter_configuration_generation",
    "Generation of the active configuration: 1 at the start, and 1 more after each accepted change.",
)
CONFIGURATION_RELOADS = Counter(
    "loadline_adapter_configuration_reloads",
    "Changes of the configuration file, by outcome: applied, or refused (the previous one stays active).",
    ["outcome"],
)
CONFIGURATION_ACCEPTED = Gauge(
    "loadline_adapter_configuration_last_reload_successful",
    "1 while the configuration file is the active one, 0 while it is refused or cannot be read.",
)


def show_build(version: str) -> None:
    """Export the version that is running."""
    BUILD.labels(version, platform.python_version()).set(1)


def count_refusal(reason: str) -> None:
    """Count a client of the server that took too much."""
    CLIENT_REFUSALS.labels(reason).inc()


def forget_rules() -> None:
    """Drop the metrics of rules: another configuration may have other ones."""
    for metric in (DISCOVERED_AT, DISCOVERED_SERIES, DISCOVERY_FAILURES, LEFT_OUT_OBJECTS):
        metric.clear()
    _left_out_metrics.clear()


def count_left_out(metric: str, objects: int) -> None:
    """Count objects that were left out. Anyone whose pods are scraped chooses names of metrics, so only the first ones are labels."""
    if metric not in _left_out_metrics:
        if len(_left_out_metrics) < LEFT_OUT_METRICS_MAX:
            _left_out_metrics.add(metric)
        else:
            metric = OTHER_METRICS
    LEFT_OUT_OBJECTS.labels(metric).inc(objects)


@contextmanager
def prometheus_request(backend: str, endpoint: str) -> Iterator[None]:
    """Count and time one request to Prometheus; it failed when the block raises."""
    started = time.perf_counter()
    outcome = "failed"
    try:
        yield
        outcome = "succeeded"
    finally:
        PROMETHEUS_REQUESTS.labels(backend, endpoint, outcome).inc()
        PROMETHEUS_SECONDS.labels(backend, endpoint).observe(time.perf_counter() - started)
