"""metrics.k8s.io/v1beta1: what pods and nodes use of cpu and memory.

Names, order and omission are those of k8s.io/metrics v0.36.3. Usage maps a resource's name to canonical Quantity
text; `window` is a duration in Go's syntax, which prints as `1m0s`.
"""

from datetime import datetime
from typing import Final

import msgspec

from wire.api import kube_json
from wire.api.kube_json import TextOfNumber
from wire.api.meta import ListMeta, ObjectMeta, always

GROUP: Final = "metrics.k8s.io"
V1BETA1: Final = f"{GROUP}/v1beta1"


class ContainerMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One container's usage."""

    name: str = ""
    usage: dict[str, TextOfNumber] = {}


class PodMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One pod's usage, container by container. In a list, kind and apiVersion are left out."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta())
    timestamp: datetime | None = always(None)
    window: str = always("0s")  # as Go prints a duration that was never set
    containers: list[ContainerMetrics] = always([])


class PodMetricsList(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The usage of the pods that have both cpu and memory."""

    kind: str = always("PodMetricsList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[PodMetrics] = always([])


class NodeMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One node's usage. In a list, kind and apiVersion are left out."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta())
    timestamp: datetime | None
    window: str
    usage: dict[str, TextOfNumber]


class NodeMetricsList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The usage of the nodes that have both cpu and memory."""

    kind: str = always("NodeMetricsList")
    api_version: str = always(V1BETA1)
    metadata: ListMeta = always(ListMeta())
    items: list[NodeMetrics]


def decode_pods(body: bytes) -> PodMetricsList:
    """A server's list of pods' usage. Raises msgspec.DecodeError on anything else."""
    return kube_json.decode(body, PodMetricsList)
