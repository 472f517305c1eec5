"""Responses of the metrics APIs as readings (upstream: `podautoscaler/metrics/client.go`).

A response without items is a failure, and so is a value that is not a quantity.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from scaler.algorithm.amounts import milli
from scaler.algorithm.go_numbers import int64, unix_seconds
from scaler.algorithm.readings import (
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSample,
    PodSamples,
    Reading,
)
from wire.api.custom_metrics import MetricValueList
from wire.api.duration import parse_duration
from wire.api.external_metrics import ExternalMetricValueList
from wire.api.resource_metrics import ContainerMetrics, PodMetrics, PodMetricsList

RESOURCE_API = "resource metrics API"
CUSTOM_API = "custom metrics API"
EXTERNAL_API = "external metrics API"

_DEFAULT_WINDOW_SECONDS = 60.0
_window_seconds = lru_cache(256)(parse_duration)


def fetch_failed(api: str, error: str) -> MetricFailed:
    """The request itself failed; `api` is one of this module's names, `error` the bare message."""
    return MetricFailed(f"unable to fetch metrics from {api}: {error}")


def resource_samples(answer: PodMetricsList, *, resource: str, container: str = "") -> Reading:
    """The usage of one resource by pod: of all containers together, or of the one that is named."""
    if not answer.items:
        return _nothing_returned(RESOURCE_API)

    def read() -> PodSamples:
        found = ((each, _usage_milli(each, resource, container)) for each in answer.items)
        return PodSamples(
            {
                each.metadata.name: PodSample(
                    value_milli=value,
                    sampled_at_unix_seconds=unix_seconds(each.timestamp),
                    window_seconds=_window_seconds(each.window),
                )
                for each, value in found
                if value is not None
            }
        )

    return _read(RESOURCE_API, read)


def pod_samples(answer: MetricValueList) -> Reading:
    """The values of a Pods metric by the name of the described object; a later duplicate wins."""
    if not answer.items:
        return _nothing_returned(CUSTOM_API)

    def read() -> PodSamples:
        return PodSamples(
            {
                each.described_object.name: PodSample(
                    value_milli=milli(each.value),
                    sampled_at_unix_seconds=unix_seconds(each.timestamp),
                    window_seconds=_DEFAULT_WINDOW_SECONDS
                    if each.window_seconds is None
                    else float(each.window_seconds),
                )
                for each in answer.items
            }
        )

    return _read(CUSTOM_API, read)


def object_value(answer: MetricValueList) -> Reading:
    """The value of an Object metric; the answer must hold exactly one."""
    if len(answer.items) != 1:
        return fetch_failed(
            CUSTOM_API,
            f"the custom metrics API server returned {len(answer.items)} results "
            "when we asked for exactly one",
        )
    return _read(CUSTOM_API, lambda: ObjectValue(milli(answer.items[0].value)))


def external_values(answer: ExternalMetricValueList) -> Reading:
    """Every value of an External metric, in the order of the answer."""
    if not answer.items:
        return _nothing_returned(EXTERNAL_API)
    return _read(
        EXTERNAL_API, lambda: ExternalValues(tuple(milli(each.value) for each in answer.items))
    )


def joined(readings: Sequence[Reading]) -> Reading:
    """The reading of a response from those of its parts, which are of one type: a failed part fails it."""
    if len(readings) == 1:
        return readings[0]
    values: list[int] = []
    by_pod: dict[str, PodSample] = {}
    for each in readings:
        match each:
            case ExternalValues(values_milli):
                values.extend(values_milli)
            case PodSamples(samples):
                by_pod.update(samples)
            case _:
                return each
    return (
        PodSamples(by_pod) if isinstance(readings[0], PodSamples) else ExternalValues(tuple(values))
    )


def _nothing_returned(api: str) -> MetricFailed:
    return MetricFailed(f"no metrics returned from {api}")


def _read(api: str, read: Callable[[], Reading]) -> Reading:
    try:
        return read()
    except (ValueError, OverflowError) as error:
        return fetch_failed(api, str(error))


def _usage_milli(pod: PodMetrics, resource: str, container: str) -> int | None:
    """None when it cannot be known: no such container, or one of them does not report the resource."""
    if container:
        for each in pod.containers:
            if each.name == container:
                return _sum_milli((each,), resource)
        return None
    return _sum_milli(pod.containers, resource) if pod.containers else None


def _sum_milli(containers: Iterable[ContainerMetrics], resource: str) -> int | None:
    total = 0
    for container in containers:
        used = container.usage.get(resource)
        if used is None:
            return None
        total = int64(total + milli(used))
    return total
