"""Discovery documents: which groups, versions and resources a server has.

Names, order and omission are those of `k8s.io/apimachinery/pkg/apis/meta/v1` and `k8s.io/api/apidiscovery/v2`
v0.36.3.
"""

import msgspec

from wire.api.meta import ListMeta, always


class GroupVersionForDiscovery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a group, in both spellings: `apps/v1` and `v1`."""

    group_version: str
    version: str


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients of an address range reach the server (ServerAddressByClientCIDR)."""

    client_cidr: str = msgspec.field(name="clientCIDR")
    server_address: str = msgspec.field(name="serverAddress")


class APIGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A group and its versions. Inside a list, kind and apiVersion are left out."""

    kind: str = ""
    api_version: str = ""
    name: str
    versions: list[GroupVersionForDiscovery]
    preferred_version: GroupVersionForDiscovery
    server_address_by_client_cidrs: list[ServerAddress] = msgspec.field(
        default=[], name="serverAddressByClientCIDRs"
    )


class APIGroupList(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The answer of `/apis`."""

    kind: str = always("APIGroupList")
    api_version: str = always("v1")
    groups: list[APIGroup]


class APIResource(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A resource: for the metrics APIs, its `name` is `pods/http_requests` or the external metric's name."""

    name: str
    singular_name: str = always("")
    namespaced: bool
    group: str = ""
    version: str = ""
    kind: str
    verbs: list[str]
    short_names: list[str] = []
    categories: list[str] = []
    storage_version_hash: str = ""


class APIResourceList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The answer of `/apis/<group>/<version>`."""

    kind: str = always("APIResourceList")
    api_version: str = always("v1")
    group_version: str
    resources: list[APIResource]


class ResponseKind(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of a resource. An empty group means the group that contains the resource."""

    group: str = ""
    version: str = ""
    kind: str


class APIResourceDiscovery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource in the aggregated document."""

    resource: str
    response_kind: ResponseKind
    scope: str
    singular_resource: str = ""
    verbs: list[str]


class APIVersionDiscovery(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a group in the aggregated document."""

    version: str
    resources: list[APIResourceDiscovery]
    freshness: str = "Current"


class Named(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata of a group, with the creation time that older Go types do not omit."""

    name: str
    creation_timestamp: None = None


class APIGroupDiscovery(msgspec.Struct, frozen=True, kw_only=True):
    """A group in the aggregated document."""

    metadata: Named
    versions: list[APIVersionDiscovery]


class APIGroupDiscoveryList(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The aggregated document of `/apis`.

    A group that is not in it keeps its long metric lists out of the cluster's own document; kube-aggregator still
    knows that the server is there.
    """

    kind: str = always("APIGroupDiscoveryList")
    api_version: str = always("apidiscovery.k8s.io/v2")
    metadata: ListMeta = always(ListMeta())
    items: list[APIGroupDiscovery] = always([])


def group(*, name: str, versions: list[str]) -> APIGroup:
    """The document of a group with these versions, the preferred one first."""
    listed = [
        GroupVersionForDiscovery(group_version=f"{name}/{version}", version=version)
        for version in versions
    ]
    return APIGroup(name=name, versions=listed, preferred_version=listed[0])
