"""The discovery documents as bytes, encoded again only when the catalog or the configuration has changed.

They are equal to prometheus-adapter's: the group document of custom.metrics.k8s.io names only v1beta1 although both
versions are served, every external metric is namespaced, and the aggregated document contains only metrics.k8s.io,
which keeps thousands of metrics out of the cluster's own.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from adapter.answer import ActiveConfiguration
from adapter.documents import discovery, resource_lists
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.api.json_pieces import JSONPieces, in_pieces

T = TypeVar("T")

SLICE: Final = 2_000
"""Resources that are encoded at a time: a few milliseconds."""

_encode = msgspec.json.Encoder().encode

_AGGREGATED_VERSIONS = ("v2", "v2beta1")

_USAGE = discovery.APIGroupDiscovery(
    metadata=discovery.Named(name=resource_metrics.GROUP),
    versions=[
        discovery.APIVersionDiscovery(
            version="v1beta1",
            resources=[
                discovery.APIResourceDiscovery(
                    resource=resource,
                    response_kind=discovery.ResponseKind(kind=kind),
                    scope=scope,
                    verbs=["get", "list"],
                )
                for resource, kind, scope in (
                    ("nodes", "NodeMetrics", "Cluster"),
                    ("pods", "PodMetrics", "Namespaced"),
                )
            ],
        )
    ],
)


def groups_document(active: ActiveConfiguration, address: str) -> bytes:
    """The response of `/apis`; `address` is the listener's. Go leaves apiVersion out of this document only."""
    every_client = discovery.ServerAddress(client_cidr="0.0.0.0/0", server_address=address)
    groups = [
        msgspec.structs.replace(
            discovery.group(name=name, versions=["v1beta1"]),
            server_address_by_client_cidrs=[every_client],
        )
        for name in active.groups
    ]
    document = msgspec.to_builtins(discovery.APIGroupList(groups=groups))
    del document["apiVersion"]
    return _encode(document)


def aggregated_document(accept: str, active: ActiveConfiguration) -> tuple[bytes, str] | None:
    """The aggregated document and its media type for a client that accepts it; None for all others."""
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        accepted = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        version = accepted.get("v", "")
        if (
            media_type in ("application/json", "application/*", "*/*")
            and accepted.get("g") == "apidiscovery.k8s.io"
            and accepted.get("as") == "APIGroupDiscoveryList"
            and version in _AGGREGATED_VERSIONS
        ):
            document = discovery.APIGroupDiscoveryList(
                api_version=f"apidiscovery.k8s.io/{version}",
                items=[_USAGE] if resource_metrics.GROUP in active.groups else [],
            )
            return _encode(document), (
                f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            )
    return None


def group_document(name: str) -> bytes:
    """The response of `/apis/<group>`."""
    group = discovery.group(name=name, versions=["v1beta1"])
    return _encode(msgspec.structs.replace(group, kind="APIGroup", api_version="v1"))


class ResourceDocuments:
    """The responses of `/apis/<group>/<version>`: kube-apiserver requests each five times a minute, in full."""

    def __init__(self) -> None:
        self._encoded: dict[str, tuple[Sequence[object], list[bytes]]] = {}
        self._encoding = asyncio.Lock()

    async def document(self, active: ActiveConfiguration, group: str, version: str) -> JSONPieces:
        """The resource list of a group version."""
        catalog = active.catalog
        if group == custom_metrics.GROUP:
            return await self._fresh(
                group,
                catalog.custom_entries,
                lambda entries: resource_lists.custom_resources(entries, version),
            )
        if group == external_metrics.GROUP:
            return await self._fresh(
                group, catalog.external_metrics, resource_lists.external_resources
            )
        return in_pieces(_encode(resource_lists.usage_resources()))

    async def _fresh(
        self,
        group: str,
        current: Callable[[], Sequence[T]],
        make: Callable[[Sequence[T]], discovery.APIResourceList],
    ) -> JSONPieces:
        """The head depends on the version, and the rest is shared by all versions and requests."""
        async with self._encoding:
            # The catalog makes a new list for every change, and never modifies one. It may have changed while this request waited.
            listed = current()
            held = self._encoded.get(group)
            if held is None or held[0] is not listed:
                held = self._encoded[group] = (listed, await _slices(listed, make))
        before, _, after = _encode(make(())).rpartition(b"[]")
        pieces = [before + b"[", *held[1], b"]" + after]
        return JSONPieces(pieces, sum(map(len, pieces)), 0)


async def _slices(
    listed: Sequence[T], make: Callable[[Sequence[T]], discovery.APIResourceList]
) -> list[bytes]:
    """The resources without brackets, encoded in slices: two hundred thousand of them take half a second."""
    slices = []
    for start in range(0, len(listed), SLICE):
        encoded = _encode(make(listed[start : start + SLICE]).resources)
        slices.append((b"," if start else b"") + encoded[1:-1])
        await asyncio.sleep(0)
    return slices
