"""Compares responses through kube-apiserver, as every real client gets them. The adapters are registered in turn."""

from collections.abc import Callable, Sequence
from http import HTTPStatus

import msgspec

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.differential.adapter import adapter_instances
from testbed.differential.adapter.adapter_deviations import explain
from testbed.differential.adapter.adapter_instances import AdapterInstance, Response
from testbed.differential.adapter.metrics_requests import CUSTOM, EXTERNAL, MetricsRequest
from testbed.differential.adapter.response_comparison import ComparableResponse, differences
from testbed.waiting import until

SERVED = ((CUSTOM, "v1beta1"), (CUSTOM, "v1beta2"), (EXTERNAL, "v1beta1"))


class UnexplainedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A request with different responses that no deviation explains."""

    request: MetricsRequest
    differences: tuple[str, ...]


def suitable(requests: Sequence[MetricsRequest], count: int) -> list[MetricsRequest]:
    """The first `count` requests that kube-apiserver passes on unchanged; it responds to odd paths and methods itself."""
    return [
        request
        for request in requests
        if request.method == "GET"
        and request.category.startswith(("custom", "external", "metric of"))
        and not {"option", "Accept"} & request.traits
        and "%" not in request.target.split("?")[0].replace("%2A", "")
    ][:count]


def compare(
    cluster: Cluster,
    both: Sequence[AdapterInstance],
    requests: Sequence[MetricsRequest],
    decode: Callable[[Response], ComparableResponse],
) -> list[UnexplainedDifference]:
    """Send all requests to the first adapter, then to the second; `decode` makes a response comparable."""
    upstream, loadline = (
        [decode(each) for each in _responses(cluster, adapter, requests)] for adapter in both
    )
    unexplained = []
    for request, left, right in zip(requests, upstream, loadline, strict=True):
        found = differences(left, right)
        if found and explain(request, left, right) is None:
            unexplained.append(UnexplainedDifference(request=request, differences=tuple(found)))
    return unexplained


def _responses(
    cluster: Cluster, adapter: AdapterInstance, requests: Sequence[MetricsRequest]
) -> list[Response]:
    registered = [
        apiservices.register(cluster, group, version, adapter.port) for group, version in SERVED
    ]
    try:
        for name in registered:
            apiservices.wait_until_available(cluster, name)
        with adapter_instances.aggregator(cluster, adapter.process) as through:
            until(lambda: _serves_all(through), what="all groups through kube-apiserver")
            return [through.send(request) for request in requests]
    finally:
        for name in registered:
            apiservices.unregister(cluster, name)


def _serves_all(through: AdapterInstance) -> bool:
    requests = [MetricsRequest(category="discovery", target=f"/apis/{g}/{v}") for g, v in SERVED]
    return all(through.send(request).status == HTTPStatus.OK for request in requests)
