"""Values to the documents of the metrics APIs, in the requested version."""

from collections.abc import Sequence

from adapter.documents.refusals import bare_failure
from adapter.model import (
    CustomMetricRequest,
    ExternalMetricRequest,
    ExternalValue,
    MetricQuery,
    ObjectValue,
    ResourceMapping,
    Usage,
    UsageValue,
)
from wire.api import labels
from wire.api.custom_metrics import (
    MetricIdentifier,
    MetricValue,
    MetricValueList,
    MetricValueListV1beta1,
    to_v1beta1,
)
from wire.api.duration import format_duration
from wire.api.external_metrics import ExternalMetricValue, ExternalMetricValueList
from wire.api.meta import LabelSelector, ObjectMeta, ObjectReference, time_from_unix
from wire.api.quantity import Format, Quantity, format_milli
from wire.api.resource_metrics import (
    ContainerMetrics,
    NodeMetrics,
    NodeMetricsList,
    PodMetrics,
    PodMetricsList,
)


def custom_list(
    request: CustomMetricRequest,
    values: Sequence[ObjectValue],
    query: MetricQuery,
    mapping: ResourceMapping,
) -> MetricValueList | MetricValueListV1beta1:
    """The response to a custom metric request.

    Raises `StatusError` 500 for a selector that cannot be repeated in the response, as prometheus-adapter does.
    """
    kind = mapping.kind_for(mapping.resource_for(request.resource))
    metric = MetricIdentifier(name=request.metric, selector=_echoed(request) if values else None)
    window = None if query.window_seconds is None else int(query.window_seconds)
    items = [
        MetricValue(
            described_object=ObjectReference(
                kind=kind.kind,
                namespace=request.namespace,
                name=value.name,
                api_version=kind.api_version,
            ),
            metric=metric,
            timestamp=time_from_unix(value.timestamp_seconds),
            window_seconds=window,
            value=format_milli(value.value_milli),
        )
        for value in values
    ]
    document = MetricValueList(items=items)
    return document if request.api_version == "v1beta2" else to_v1beta1(document)


def _echoed(request: CustomMetricRequest) -> LabelSelector | None:
    if request.metric_selector.is_empty():
        return None
    try:
        return labels.to_label_selector(request.metric_selector)
    except ValueError as e:
        raise bare_failure(
            f"{e}: metricLabelSelector {str(request.metric_selector)!r} cannot be repeated in the response",
        ) from None


def external_list(
    request: ExternalMetricRequest, values: Sequence[ExternalValue], query: MetricQuery
) -> ExternalMetricValueList:
    """The response to an external metric request."""
    window = None if query.window_seconds is None else int(query.window_seconds)
    return ExternalMetricValueList(
        items=[
            ExternalMetricValue(
                metric_name=request.metric,
                metric_labels=None if value.labels is None else dict(value.labels),
                timestamp=time_from_unix(value.timestamp_seconds),
                window_seconds=window,
                value=format_milli(value.value_milli),
            )
            for value in values
        ]
    )


def pod_metrics(value: UsageValue, now_seconds: float) -> PodMetrics:
    """One pod's usage, as an item of a list."""
    return PodMetrics(
        metadata=_metadata(value, now_seconds),
        timestamp=time_from_unix(value.timestamp_seconds),
        window=format_duration(value.window_seconds),
        containers=[
            ContainerMetrics(name=name, usage=_usage(usage)) for name, usage in value.usage.items()
        ],
    )


def pod_metrics_list(values: Sequence[UsageValue], now_seconds: float) -> PodMetricsList:
    """The list of pods."""
    return PodMetricsList(items=[pod_metrics(value, now_seconds) for value in values])


def node_metrics(value: UsageValue, now_seconds: float) -> NodeMetrics:
    """One node's usage, as an item of a list."""
    return NodeMetrics(
        metadata=_metadata(value, now_seconds),
        timestamp=time_from_unix(value.timestamp_seconds),
        window=format_duration(value.window_seconds),
        usage=_usage(next(iter(value.usage.values()))),
    )


def node_metrics_list(values: Sequence[UsageValue], now_seconds: float) -> NodeMetricsList:
    """The list of nodes."""
    return NodeMetricsList(items=[node_metrics(value, now_seconds) for value in values])


def _metadata(value: UsageValue, now_seconds: float) -> ObjectMeta:
    return ObjectMeta(
        name=value.subject.name,
        namespace=value.subject.namespace,
        labels=dict(value.subject.labels),
        creation_timestamp=time_from_unix(now_seconds),
    )


def _usage(usage: Usage) -> dict[str, str]:
    """cpu in decimal, memory in binary units, as metrics-server and prometheus-adapter print them."""
    memory = Quantity.from_milli(usage.memory_milli, format=Format.BINARY_SI)
    return {"cpu": format_milli(usage.cpu_milli), "memory": str(memory)}
