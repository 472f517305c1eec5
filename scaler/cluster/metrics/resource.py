"""Client of metrics.k8s.io: cpu and memory usage of pods.

Upstream: `resourceMetricsClient` (podautoscaler/metrics/client.go) over the generated client.
"""

import msgspec

from scaler.cluster.failed_requests import worded
from scaler.cluster.metrics.metrics_api import MetricUnavailable, with_selectors
from scaler.cluster.metrics.pod_usage import PodUsage
from scaler.cluster.metrics.response_parts import decoded
from wire.api.labels import Selector
from wire.api.meta import ObjectMeta
from wire.api.resource_metrics import GROUP, V1BETA1, PodMetricsList, decode_pods
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Reader


class ResourceMetrics:
    """Reads the usage of the pods that a selector matches."""

    def __init__(self, kube: Reader) -> None:
        self._kube = kube

    async def of_pods(self, namespace: str, pods: Selector) -> PodUsage:
        """Raises `MetricUnavailable`."""
        path = with_selectors(f"/apis/{V1BETA1}/namespaces/{namespace}/pods", labelSelector=pods)
        try:
            return PodUsage(await decoded(await self._kube.get(path), _usage))
        except (StatusError, Unavailable) as error:
            raise MetricUnavailable(
                worded(error, verb="get", resource="pods", group=GROUP)
            ) from error
        except msgspec.DecodeError as error:
            raise MetricUnavailable(f"the response is malformed: {error}") from error


def _usage(part: bytes) -> PodMetricsList:
    """Without the labels of the pods, which would take many times the size of the response."""
    items = [
        msgspec.structs.replace(each, metadata=ObjectMeta(name=each.metadata.name))
        for each in decode_pods(part).items
    ]
    return PodMetricsList(items=items)
