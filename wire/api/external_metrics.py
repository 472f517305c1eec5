"""external.metrics.k8s.io/v1beta1: values that belong to no Kubernetes object.

Names, order and omission are those of k8s.io/metrics v0.36.3. Wire trap: the window is `window`, in seconds, unlike
`windowSeconds` of custom.metrics.k8s.io/v1beta2. `metricLabels` is null when there are none.
"""

from datetime import datetime
from typing import Final

import msgspec

from wire.api import kube_json
from wire.api.kube_json import TextOfNumber
from wire.api.meta import ListMeta, always

GROUP: Final = "external.metrics.k8s.io"
V1BETA1: Final = f"{GROUP}/v1beta1"


class ExternalMetricValue(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One series' value, canonical Quantity text, with its labels. Only the value must be there."""

    metric_name: str = always("")
    metric_labels: dict[str, str] | None = always(None)
    timestamp: datetime | None = always(None)
    window_seconds: int | None = msgspec.field(default=None, name="window")
    value: TextOfNumber


class ExternalMetricValueList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """All series of one metric that the selector matched; the HPA adds them up."""

    kind: str = always("ExternalMetricValueList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[ExternalMetricValue] = always([])


def decode(body: bytes) -> ExternalMetricValueList:
    """A server's answer. Raises msgspec.DecodeError on anything else."""
    return kube_json.decode(body, ExternalMetricValueList)
