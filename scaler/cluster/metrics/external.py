"""Client of external.metrics.k8s.io: metrics that describe no object of the cluster.

Upstream: `externalMetricsClient` (podautoscaler/metrics/client.go) over the `external_metrics` client of
k8s.io/metrics.
"""

from urllib.parse import quote

import msgspec

from scaler.algorithm import samples
from scaler.algorithm.readings import Reading
from scaler.cluster.failed_requests import worded
from scaler.cluster.metrics.metrics_api import MetricUnavailable, with_selectors, within_limit
from scaler.cluster.metrics.response_parts import decoded
from wire.api.external_metrics import GROUP, V1BETA1, decode
from wire.api.labels import Selector
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Reader


def external_path(namespace: str, metric: str, selector: Selector) -> str:
    """Where the series of a metric are read."""
    path = f"/apis/{V1BETA1}/namespaces/{namespace}/{quote(metric, safe='')}"
    return with_selectors(path, labelSelector=selector)


async def external_metric(kube: Reader, path: str, metric: str) -> Reading:
    """The values of all series at an `external_path`. Raises `MetricUnavailable`."""
    try:
        body = within_limit(await kube.get(path))
        return samples.joined(await decoded(body, _values))
    except (StatusError, Unavailable) as error:
        raise MetricUnavailable(worded(error, verb="get", resource=metric, group=GROUP)) from error
    except msgspec.DecodeError as error:
        raise MetricUnavailable(f"the response is malformed: {error}") from error


def _values(part: bytes) -> Reading:
    return samples.external_values(decode(part))
