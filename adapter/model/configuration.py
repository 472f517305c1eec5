"""The configuration: rules, backends, and what a signal contract says."""

import enum
import hashlib
from typing import Final, Literal

import msgspec

from adapter.model.resources import GroupResource
from wire.prometheus.options import PrometheusOptions

DEFAULT_BACKEND: Final = "default"
"""The Prometheus of `--prometheus-url`, for rules that name no backend."""


class BackendRef(msgspec.Struct, frozen=True, cache_hash=True):
    """Which backend: its name, and a digest of where its data comes from and as which user it is read.

    Whatever is kept of a backend is kept by this, so that nothing of the former one serves a rule after a reload that changes its
    URL or credentials, and everything stays when only a timeout changes.
    """

    name: str = DEFAULT_BACKEND
    source: str = ""  # empty: that of the flags, which does not change while the process runs


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
    keeps_positive: bool = False
    """Whether a positive value below a thousandth is a thousandth. As 0 it would be no load, which lets a target go to zero."""


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
    backend: BackendRef = BackendRef()
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
    backend: BackendRef = BackendRef()
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
    backend: BackendRef = BackendRef()


class Backend(PrometheusOptions, frozen=True, kw_only=True):
    """One Prometheus, or another server with its HTTP API. Its options say what it returns, the other fields how it is queried."""

    name: str = DEFAULT_BACKEND
    verb: Literal["GET", "POST"] = "GET"
    timeout_seconds: float = 30.0
    """For one query, including its wait for `concurrency_max`."""
    discovery_timeout_seconds: float = 120.0
    """For one list of series, which may be large. Usually `discovery_seconds` of the timeout."""
    concurrency_max: int = 20
    """Prometheus itself evaluates 20 queries at a time (`--query.max-concurrency`); more would wait there.

    A query counts for 10 s, so three times as many can be in flight with a timeout of 30 s.
    """
    answer_bytes_max: int = 64 * 1024 * 1024
    """A larger response is a mistake in the query. Less may be too much: results are bounded by what they take in memory, too."""

    @staticmethod
    def discovery_seconds(timeout_seconds: float) -> float:
        """How long a list of series may take: as long as four queries, and two minutes at least."""
        return max(120.0, 4 * timeout_seconds)

    @property
    def ref(self) -> BackendRef:
        """What refers to it in rules and queries, for a backend of the file."""
        source = repr([getattr(self, each) for each in PrometheusOptions.__struct_fields__])
        return BackendRef(self.name, hashlib.sha256(source.encode()).hexdigest()[:16])
