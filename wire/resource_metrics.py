"""metrics.k8s.io/v1beta1: what pods and nodes use of cpu and memory.

Names, order and omission are those of k8s.io/metrics v0.36.3. Usage maps a resource's name to canonical Quantity
text; `window` is a duration in Go's syntax, which prints as `1m0s`.
"""

from datetime import datetime
from typing import Final

import msgspec

from wire.meta import ListMeta, ObjectMeta, always

GROUP: Final = "metrics.k8s.io"
V1BETA1: Final = f"{GROUP}/v1beta1"


class ContainerMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One container's usage."""

    name: str
    usage: dict[str, str]


class PodMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One pod's usage, container by container. In a list, kind and apiVersion are left out."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta())
    timestamp: datetime | None
    window: str
    containers: list[ContainerMetrics]


class PodMetricsList(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The usage of the pods that have both cpu and memory."""

    kind: str = always("PodMetricsList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[PodMetrics]


class NodeMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One node's usage. In a list, kind and apiVersion are left out."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta())
    timestamp: datetime | None
    window: str
    usage: dict[str, str]


class NodeMetricsList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The usage of the nodes that have both cpu and memory."""

    kind: str = always("NodeMetricsList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[NodeMetrics]


def decode_pods(body: bytes) -> PodMetricsList:
    """A server's list of pods' usage, with Go's null where something is empty.

    Raises msgspec.DecodeError on anything else.
    """
    answer = msgspec.json.decode(body, type=_PodAnswer)
    return PodMetricsList(
        metadata=answer.metadata, items=[_filled(pod) for pod in answer.items or ()]
    )


class _ContainerAnswer(msgspec.Struct):
    name: str
    usage: dict[str, str] | None = None


class _Pod(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    timestamp: datetime | None = None
    window: str = "0s"  # as a Go duration that was never set
    containers: list[_ContainerAnswer] | None = None


class _PodAnswer(msgspec.Struct):
    metadata: ListMeta = ListMeta()
    items: list[_Pod] | None = None


def _filled(pod: _Pod) -> PodMetrics:
    return PodMetrics(
        metadata=pod.metadata,
        timestamp=pod.timestamp,
        window=pod.window,
        containers=[
            ContainerMetrics(name=container.name, usage=container.usage or {})
            for container in pod.containers or ()
        ],
    )
