"""The requests that the metrics APIs serve."""

from typing import Final

import msgspec

from adapter.model.resources import GroupResource, KubeObject
from wire.api.labels import Selector

EVERY_OBJECT: Final = "*"


class CustomMetricRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to custom.metrics.k8s.io, from the path and the query string.

    `resource` is as written in the request. `namespace` is empty for a root-scoped request; a metric *of* a
    namespace is the root-scoped resource `namespaces` with the namespace as its `name`. `name` is `*` for every object
    that `selector` matches.
    """

    resource: GroupResource
    name: str
    metric: str
    selector: Selector
    metric_selector: Selector
    namespace: str = ""
    api_version: str = "v1beta1"


class ExternalMetricRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to external.metrics.k8s.io: a metric by name, and a selector of the series' labels."""

    namespace: str
    metric: str
    selector: Selector


class FieldTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A term of a field selector: `metadata.name=web-0`, `metadata.namespace!=kube-system`."""

    field: str
    equal: bool
    value: str

    def matches(self, found: KubeObject) -> bool:
        """Whether an object matches; a field that it does not have is empty."""
        fields = {"metadata.name": found.name, "metadata.namespace": found.namespace}
        return (fields.get(self.field, "") == self.value) is self.equal


class ResourceMetricRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to metrics.k8s.io. `resource` is `PODS` or `NODES`; without a `name` it is for a list."""

    resource: GroupResource
    selector: Selector
    fields: tuple[FieldTerm, ...] = ()
    namespace: str = ""
    name: str | None = None


MetricRequest = CustomMetricRequest | ExternalMetricRequest | ResourceMetricRequest
