"""The adapter's data: requests, configuration, the results of Prometheus, and values.

Values only: nothing here does I/O or reads a clock. The terms are those of Kubernetes (group-resource, namespace, label
selector) and Prometheus (series, sample, label, instant vector).

The stages of one request:

    request  (CustomMetricRequest | ExternalMetricRequest | ResourceMetricRequest)
      -> Offer       the rule that serves the metric, and the name of its series (from the catalog)
      -> MetricQuery a Plan, which may be evaluated once for many, and the Rows of it that answer this request
      -> Evaluation  what the backend of the plan returned
      -> values      (ObjectValue | ExternalValue | UsageValue), milli-units, ready to be rendered
"""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

import msgspec

from wire.labels import Selector

# --- Kubernetes resources ---------------------------------------------------------------------------------------------


class GroupResource(msgspec.Struct, frozen=True, order=True):
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


class KubeObject(msgspec.Struct, frozen=True, kw_only=True):
    """As much of an object as a metric needs: who it is and its labels. `namespace` is empty for cluster scope."""

    name: str
    namespace: str = ""
    labels: Mapping[str, str] = {}


# --- requests ----------------------------------------------------------------------------------------------------------

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


# --- configuration ----------------------------------------------------------------------------------------------------

DEFAULT_BACKEND: Final = "default"
"""The Prometheus of `--prometheus-url`, for rules that name no backend."""


class Reaction(enum.Enum):
    """What a signal contract does with a value that is missing or not usable."""

    FAIL = "fail"  # respond with an error: the autoscaler keeps its replicas
    ZERO = "zero"  # respond with 0
    LAST = "last"  # respond with the last good value, while it is younger than `last_for_seconds`
    OMIT = "omit"  # leave the object or the row out
    ACCEPT = "accept"  # use it


class SignalContract(msgspec.Struct, frozen=True, kw_only=True):
    """What an empty result, NaN or infinity, an old sample and a partial response mean for one metric."""

    on_empty: Reaction
    on_nan: Reaction
    on_stale: Reaction = Reaction.FAIL
    on_partial: Reaction
    stale_after_seconds: float | None = None  # None: no sample is too old
    last_for_seconds: float | None = (
        None  # the greatest age of a last good value; set where LAST is used
    )


class SeriesFilter(msgspec.Struct, frozen=True):
    """A regular expression (RE2, unanchored) that a series name must match, or must not."""

    pattern: str
    positive: bool


class ResourceLabels(msgspec.Struct, frozen=True, kw_only=True):
    """Which labels of a series name which Kubernetes objects (`resources` of a rule)."""

    template: str = (
        ""  # a Go template over .Group and .Resource with << >>; empty: only the overrides
    )
    overrides: tuple[
        tuple[str, GroupResource], ...
    ] = ()  # (label, resource as spelled in the file)
    namespaced: bool = True  # for external rules only: restrict to the namespace of the request


class DiscoveryRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `rules` or `externalRules`, as in prometheus-adapter: its metrics are discovered from series.

    All texts are validated when the configuration is loaded: patterns compile, templates parse, defaults are set.
    """

    path: str  # its key path in the file, for messages: "rules[2]"
    external: bool
    series_query: str
    series_filters: tuple[SeriesFilter, ...] = ()  # the implicit filter of `name.matches` included
    resources: ResourceLabels
    name_matches: str = ".*"
    name_as: str = "$0"
    metrics_query: str
    backend: str = DEFAULT_BACKEND
    contract: SignalContract


class NamedRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `metrics`: the query is explicit, so nothing has to be discovered.

    `describes` is None for an external metric. `object_label` is the label with the object's name in the result,
    `namespace_label` the one with its namespace (empty when the resource is cluster-scoped or, for an external metric,
    when every namespace gets all rows).
    """

    path: str  # "metrics[0]"
    name: str
    query: str
    describes: GroupResource | None = None
    object_label: str = ""
    namespace_label: str = ""
    window_seconds: float | None = (
        None  # the range over which the query averages; None: an instant value
    )
    backend: str = DEFAULT_BACKEND
    contract: SignalContract


Rule = DiscoveryRule | NamedRule


class ResourceRule(msgspec.Struct, frozen=True, kw_only=True):
    """The queries for cpu or memory (`resourceRules.cpu`, `resourceRules.memory`)."""

    path: str
    container_query: str
    node_query: str
    resources: ResourceLabels
    container_label: str


class ResourceRules(msgspec.Struct, frozen=True, kw_only=True):
    """`resourceRules`: the rules of metrics.k8s.io."""

    cpu: ResourceRule
    memory: ResourceRule
    window_seconds: float
    backend: str = DEFAULT_BACKEND


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """One Prometheus, or another server with its HTTP API. Files are named and not read, since they may be rotated."""

    url: str
    name: str = DEFAULT_BACKEND
    verb: Literal["GET", "POST"] = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    token_file: Path | None = None
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
    username: str = ""
    password_file: Path | None = None
    timeout_seconds: float = 30.0
    """For one query, including its wait for `concurrency_max`."""
    discovery_timeout_seconds: float = 120.0
    """For one list of series, which may be large."""
    concurrency_max: int = 20
    """Prometheus itself evaluates 20 queries at a time (`--query.max-concurrency`); more would wait there."""
    answer_bytes_max: int = 64 * 1024 * 1024
    """A larger response is a mistake in the query, and would exceed the memory of a small pod."""


# --- metrics -----------------------------------------------------------------------------------------------------------


class Series(msgspec.Struct, frozen=True):
    """A metric name of Prometheus with the names of its labels, without their values."""

    name: str
    labels: frozenset[str] = frozenset()


class MetricEntry(msgspec.Struct, frozen=True, order=True):
    """What discovery lists for custom metrics, and the key by which a request finds its rule."""

    resource: GroupResource
    namespaced: bool
    metric: str


class Offer(msgspec.Struct, frozen=True):
    """A metric that can be requested: its rule and, for a discovered one, the name of its series in Prometheus."""

    rule: Rule
    series: str = ""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A rule whose series have not been listed yet, so that its metrics are unknown and not merely absent."""

    rule: str  # the path of the rule
    cause: str
    temporary: bool  # it may resolve itself


class ListedRule(msgspec.Struct, frozen=True):
    """A rule and the series that its selector selects now; None: not listed yet. A named rule has none."""

    rule: Rule
    series: Sequence[Series] | None = ()


# --- querying Prometheus ----------------------------------------------------------------------------------------------


class Lane(enum.StrEnum):
    """Who waits for a query; when a backend is at its limit, the first goes first."""

    AUTOSCALER = "autoscaler"
    LIST = "list"  # usage of several namespaces, as for `kubectl top`
    COMMAND = "command"  # `explain`


class Plan(msgspec.Struct, frozen=True):
    """One PromQL query for one backend. Equal plans have equal results, so they are evaluated once.

    `key_labels`: the labels by which requests select rows, so that the result is indexed once for all of them. `may_post`: a
    long text is sent by POST, even if the backend's verb is GET.
    """

    query: str
    backend: str = DEFAULT_BACKEND
    key_labels: tuple[str, ...] = ()
    may_post: bool = False
    lane: Lane = Lane.AUTOSCALER


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of an evaluation belong to one request, and how they name objects.

    A plan for one request needs no `where`; the rows of a named rule's query are selected by it.
    """

    object_label: str = ""
    where: tuple[
        tuple[str, str], ...
    ] = ()  # (label, value): a row counts when all of them are equal
    dropped: tuple[str, ...] = ()
    """Labels that a wide query adds to its rows, and a narrow query does not."""

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The labels by which the rows are selected; the object's first."""
        of_object = (self.object_label,) if self.object_label else ()
        return of_object + tuple(label for label, _ in self.where)


class Ages(msgspec.Struct, frozen=True, kw_only=True):
    """A second plan that yields how old the samples behind each row are; rows are identified by `labels`."""

    plan: Plan
    labels: tuple[str, ...]


class WideQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query that answers many requests, for any set of namespaces.

    `parts` and `ages` (empty: not needed) are the text around the places where the namespaces are written; one part when the
    query is not restricted to namespaces.
    """

    parts: tuple[str, ...]
    ages: tuple[str, ...] = ()
    backend: str = DEFAULT_BACKEND
    key_labels: tuple[str, ...]
    dropped: tuple[str, ...] = ()  # labels of its rows that narrow queries do not return


class Wide(msgspec.Struct, frozen=True, kw_only=True):
    """The wide query that answers a request too, and the rows of it that belong to the request."""

    query: WideQuery
    rows: Rows
    namespace: str = ""  # empty: the query is not restricted to namespaces


class MetricQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What a request needs from Prometheus: evaluate `plan`, then read the result with `rows` and `contract`.

    `ages` is set when the contract bounds the age of samples and the query reads samples. `wide` is set when a query that
    answers many requests is proven to have the same rows.
    """

    plan: Plan
    ages: Ages | None = None
    rows: Rows
    contract: SignalContract
    rule: str  # the path of the rule, for messages
    window_seconds: float | None = None
    wide: Wide | None = None


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What a request to metrics.k8s.io needs from Prometheus: both plans are evaluated and read together.

    `container_label` is empty for nodes, which have no containers.
    """

    cpu: Plan
    memory: Plan
    cpu_rows: Rows
    memory_rows: Rows
    cpu_container_label: str = ""
    memory_container_label: str = ""
    window_seconds: float
    cpu_wide: Wide | None = None
    memory_wide: Wide | None = None


class ResultKind(enum.Enum):
    """The `resultType` of a Prometheus response."""

    VECTOR = "vector"
    SCALAR = "scalar"
    MATRIX = "matrix"
    STRING = "string"


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One row of an instant vector; a scalar is a row without labels.

    Not followed by the garbage collector: a result has thousands of rows, and their labels are texts.
    """

    labels: Mapping[str, str]
    value: float
    timestamp_seconds: float
    is_histogram: bool = False  # a native histogram, which has no single value: NaN


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a plan. `samples` is empty for kinds without usable values (matrix, string).

    `by_key` are the samples by the values of the plan's `key_labels`; empty for a plan without them.
    """

    samples: tuple[Sample, ...]
    evaluated_at_seconds: float
    kind: ResultKind = ResultKind.VECTOR
    warnings: tuple[str, ...] = ()
    partial: bool = False  # some of the stores behind the backend did not answer
    by_key: Mapping[tuple[str, ...], Sequence[Sample]] = {}


# --- values -----------------------------------------------------------------------------------------------------------


class ObjectValue(msgspec.Struct, frozen=True, kw_only=True):
    """One object's value of a custom metric. Milli-units: 1.5 requests/s is 1500."""

    name: str
    value_milli: int
    timestamp_seconds: float
    substitute: bool = False
    """A 0 that the signal contract put in: it is served, and must never become a last good value."""


class ExternalValue(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an external metric, in milli-units; a scalar has no labels (None)."""

    labels: Mapping[str, str] | None
    value_milli: int
    timestamp_seconds: float
    substitute: bool = False  # as of an `ObjectValue`


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """cpu and memory in milli-units: cores and bytes times a thousand."""

    cpu_milli: int
    memory_milli: int


class UsageValue(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one pod (by container, in the order of the result) or of one node (one entry under "")."""

    subject: KubeObject
    usage: Mapping[str, Usage]
    timestamp_seconds: float
    window_seconds: float
