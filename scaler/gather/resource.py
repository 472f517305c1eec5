"""metrics.k8s.io: what the pods use of cpu and memory.

Upstream: `resourceMetricsClient` (podautoscaler/metrics/client.go) over the generated client.
"""

import msgspec

from scaler.gather.answers import NoAnswer, selector_params
from scaler.ports import Reader, worded
from wire.labels import Selector
from wire.resource_metrics import GROUP, V1BETA1, PodMetricsList, decode_pods
from wire.status import StatusError, Unavailable


class ResourceMetrics:
    """The API, asked for the pods that a selector matches."""

    def __init__(self, kube: Reader) -> None:
        self._kube = kube

    async def of_pods(self, namespace: str, pods: Selector) -> PodMetricsList:
        """Raises `NoAnswer`."""
        path = f"/apis/{V1BETA1}/namespaces/{namespace}/pods"
        try:
            return decode_pods(await self._kube.get(path, selector_params(labelSelector=pods)))
        except (StatusError, Unavailable) as error:
            raise NoAnswer(worded(error, verb="get", resource="pods", group=GROUP)) from error
        except msgspec.DecodeError as error:
            raise NoAnswer(f"the answer is malformed: {error}") from error
