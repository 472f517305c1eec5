"""The documents that say what there is, as bytes, encoded anew only when the catalog or the configuration changed.

They say what prometheus-adapter's say, so that nobody who looks sees a difference: the group document of
custom.metrics.k8s.io names v1beta1 alone although both versions are served, every external metric is namespaced, and
the aggregated document is empty, which keeps thousands of metrics out of the cluster's own.
"""

from collections.abc import Callable, Sequence

import msgspec

from adapter.answer import InForce
from adapter.translate import listing
from wire import custom_metrics, discovery, external_metrics, resource_metrics

_encode = msgspec.json.Encoder().encode

EMPTY_V2 = _encode(discovery.APIGroupDiscoveryList())
EMPTY_V2BETA1 = _encode(discovery.APIGroupDiscoveryList(api_version="apidiscovery.k8s.io/v2beta1"))

VERSIONS = {
    custom_metrics.GROUP: ("v1beta1", "v1beta2"),
    external_metrics.GROUP: ("v1beta1",),
    resource_metrics.GROUP: ("v1beta1",),
}


def is_served(in_force: InForce, group: str, version: str) -> bool:
    """Whether there is such a group version now."""
    return group in in_force.groups and version in VERSIONS[group]


def groups_document(in_force: InForce) -> bytes:
    """The answer of `/apis`."""
    groups = [discovery.group(name=name, versions=["v1beta1"]) for name in in_force.groups]
    return _encode(discovery.APIGroupList(groups=groups))


def group_document(name: str) -> bytes:
    """The answer of `/apis/<group>`."""
    group = discovery.group(name=name, versions=["v1beta1"])
    return _encode(msgspec.structs.replace(group, kind="APIGroup", api_version="v1"))


class ResourceDocuments:
    """The answers of `/apis/<group>/<version>`: kube-apiserver asks for each five times a minute, in full."""

    def __init__(self) -> None:
        self._encoded: dict[str, tuple[Sequence[object], bytes]] = {}

    def document(self, in_force: InForce, group: str, version: str) -> bytes:
        """The list of what a group version has."""
        catalog = in_force.catalog
        if group == custom_metrics.GROUP:
            entries = catalog.custom_entries()
            return self._fresh(version, entries, lambda: listing.custom_resources(entries, version))
        if group == external_metrics.GROUP:
            metrics = catalog.external_metrics()
            return self._fresh(group, metrics, lambda: listing.external_resources(metrics))
        return _encode(listing.usage_resources())

    def _fresh(
        self,
        key: str,
        listed: Sequence[object],
        make: Callable[[], discovery.APIResourceList],
    ) -> bytes:
        # The catalog makes a new list whenever something changed, and never changes one.
        held = self._encoded.get(key)
        if held is None or held[0] is not listed:
            held = self._encoded[key] = (listed, _encode(make()))
        return held[1]
