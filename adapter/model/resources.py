"""Resources of the cluster, their names and kinds, and their objects."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec


class GroupResource(msgspec.Struct, frozen=True, order=True, gc=False):
    """A resource and its API group, as apimachinery's `schema.GroupResource`: `deployments.apps`; core has no group."""

    resource: str
    group: str = ""

    @classmethod
    def parse(cls, text: str) -> "GroupResource":
        """Everything after the first dot is the group (apimachinery's `ParseGroupResource`)."""
        resource, _, group = text.partition(".")
        return cls(resource=resource, group=group)

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


PODS: Final = GroupResource("pods")
NODES: Final = GroupResource("nodes")
NAMESPACES: Final = GroupResource("namespaces")


class GroupVersionKind(msgspec.Struct, frozen=True):
    """The kind of a `describedObject`."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """As prometheus-adapter prints it: group, a slash, version; so that core is `/v1`."""
        return f"{self.group}/{self.version}"


class UnknownResource(LookupError):
    """The cluster has no such resource (yet: a CustomResourceDefinition may be created)."""

    def __init__(self, resource: GroupResource) -> None:
        self.resource = resource
        super().__init__(f"the cluster serves no resource {resource}")


class ResourceMapping(Protocol):
    """The cluster's resources, as its discovery lists them. Lookups read memory only.

    It is here and not among the ports because the pure stages use it.
    """

    def resource_for(self, resource: GroupResource) -> GroupResource:
        """Plural, singular or short names and a whole or partial group made canonical; raises `UnknownResource`."""
        ...

    def singular(self, resource: str) -> str:
        """The singular of a canonical plural: `pods` is `pod`; an unknown one is returned unchanged."""
        ...

    def kind_for(self, resource: GroupResource) -> GroupVersionKind:
        """The kind, in the preferred version, behind a canonical group-resource; raises `UnknownResource`."""
        ...

    def is_namespaced(self, resource: GroupResource) -> bool:
        """Whether objects of a canonical group-resource live in namespaces; raises `UnknownResource`."""
        ...


class KubeObject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """As much of an object as a metric needs: who it is and its labels. `namespace` is empty for cluster scope."""

    name: str
    namespace: str = ""
    labels: Mapping[str, str] = {}
