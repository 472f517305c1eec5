"""custom.metrics.k8s.io: a metric's values for Kubernetes objects, in both of its versions.

Names, order and omission are those of k8s.io/metrics v0.36.3. Wire traps: v1beta1 calls the window `window` and has
`metricName` and `selector` side by side; v1beta2 calls it `windowSeconds` and puts name and selector into `metric`.
Values are canonical Quantity text; times have whole seconds (`wire.api.meta.time_from_unix`).
"""

from datetime import datetime
from typing import Final

import msgspec

from wire.api import kube_json
from wire.api.kube_json import TextOfNumber
from wire.api.meta import LabelSelector, ListMeta, ObjectReference, always

GROUP: Final = "custom.metrics.k8s.io"
V1BETA1: Final = f"{GROUP}/v1beta1"
V1BETA2: Final = f"{GROUP}/v1beta2"


class MetricIdentifier(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name of a metric and the selector of the request; null when there was none."""

    name: str = ""
    selector: LabelSelector | None = None


class MetricValue(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """v1beta2: one object's value. `window_seconds` is None for an instant value.

    Only the value must be there: client-go reads a missing one as 0, which was never measured.
    """

    described_object: ObjectReference = always(ObjectReference())
    metric: MetricIdentifier = always(MetricIdentifier())
    timestamp: datetime | None = always(None)
    window_seconds: int | None = None
    value: TextOfNumber


class MetricValueList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """v1beta2: the values of one metric for the objects that have one."""

    kind: str = always("MetricValueList")
    api_version: str = always(V1BETA2)
    metadata: ListMeta = always(ListMeta())
    items: list[MetricValue] = always([])


class MetricValueV1beta1(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """v1beta1: one object's value. `window_seconds` is None for an instant value."""

    described_object: ObjectReference = always(ObjectReference())
    metric_name: str = always("")
    timestamp: datetime | None = always(None)
    window_seconds: int | None = msgspec.field(default=None, name="window")
    value: TextOfNumber
    selector: LabelSelector | None = always(None)


class MetricValueListV1beta1(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """v1beta1: the values of one metric for the objects that have one."""

    kind: str = always("MetricValueList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[MetricValueV1beta1] = always([])


def to_v1beta1(values: MetricValueList) -> MetricValueListV1beta1:
    """The same values in the older version, which every HPA still understands."""
    return MetricValueListV1beta1(
        metadata=values.metadata, items=[_item_to_v1beta1(item) for item in values.items]
    )


def _item_to_v1beta1(item: MetricValue) -> MetricValueV1beta1:
    return MetricValueV1beta1(
        described_object=item.described_object,
        metric_name=item.metric.name,
        timestamp=item.timestamp,
        window_seconds=item.window_seconds,
        value=item.value,
        selector=item.metric.selector,
    )


def decode(body: bytes) -> MetricValueList:
    """A server's answer in whichever version it came, as v1beta2. Raises msgspec.DecodeError on anything else."""
    if kube_json.decode(body, _Version).api_version != V1BETA1:
        return kube_json.decode(body, MetricValueList)
    older = kube_json.decode(body, MetricValueListV1beta1)
    return MetricValueList(
        metadata=older.metadata, items=[_item_from_v1beta1(item) for item in older.items]
    )


def _item_from_v1beta1(item: MetricValueV1beta1) -> MetricValue:
    return MetricValue(
        described_object=item.described_object,
        metric=MetricIdentifier(name=item.metric_name, selector=item.selector),
        timestamp=item.timestamp,
        window_seconds=item.window_seconds,
        value=item.value,
    )


class _Version(msgspec.Struct, rename="camel"):
    api_version: str = ""
