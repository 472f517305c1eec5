"""What the core needs from the outside, as Protocols, and how it may fail.

`fetch` implements them, `answer` and `diagnosis` use them, `runtime` connects the two. No exception of a library
passes a port: only what is named here or in `wire.api.status` is raised.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from adapter.model import (
    FOR_AUTOSCALER,
    BackendRef,
    Evaluation,
    Gap,
    GroupResource,
    KubeObject,
    Lane,
    ListedRule,
    MetricEntry,
    Offer,
    Plan,
    ResourceMapping,
    Sending,
    Series,
)
from wire.api.labels import Selector

__all__ = [
    "Catalog",
    "Evaluator",
    "ObjectNames",
    "Prometheus",
    "QueryFailed",
    "ResourceMapping",
    "SeriesIndex",
]


class QueryFailed(Exception):
    """A backend did not answer a query: unreachable, too slow, refused, or not understood.

    `retryable` is true when the same query may succeed a moment later (connection, timeout, 5xx), and false when it will
    not (bad PromQL, a query over a limit). `quotes` is true when the cause has the words of the server, which may quote the query.
    """

    def __init__(
        self, *, backend: str, query: str, cause: str, retryable: bool, quotes: bool = False
    ) -> None:
        self.backend = backend
        self.query = query
        self.cause = cause
        self.retryable = retryable
        self.quotes = quotes
        self.public_cause = cause.partition(":")[0] if quotes else cause
        super().__init__(f"Prometheus backend {backend!r} did not answer {query!r}: {cause}")


class SeriesIncomplete(QueryFailed):
    """Some of the stores behind a backend did not say which series they have; `series` are those of the others."""

    def __init__(self, *, backend: str, match: str, why: str, series: Sequence[Series]) -> None:
        cause = f"the list of series is not complete: {why}"
        super().__init__(backend=backend, query=match, cause=cause, retryable=True, quotes=True)
        self.series = series


class Evaluator(Protocol):
    """Instant queries. A cache is an `Evaluator` that wraps an `Evaluator`."""

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        """The plan's query as an instant query, at its backend's current time, indexed by the plan's `key_labels`.

        Raises `QueryFailed`.
        """
        ...


class SeriesIndex(Protocol):
    """Which series exist. Both methods raise `QueryFailed`."""

    async def series(
        self,
        *,
        match: str,
        backend: BackendRef,
        max_age_seconds: float,
        lane: Lane = Lane.AUTOSCALER,
    ) -> Sequence[Series]:
        """The distinct (name, label names) of the series that `match` selected in the last `max_age_seconds`.

        Raises `SeriesIncomplete` if there may be more.
        """
        ...

    async def label_sets(
        self, *, match: str, backend: BackendRef, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """The same series with all their labels and values: for `check`, which may hold all of them."""
        ...


class Prometheus(Evaluator, SeriesIndex, Protocol):
    """Both, as a backend offers them."""


class ObjectNames(Protocol):
    """Objects behind a label selector, from a watch cache of their metadata: there is no LIST per request.

    Both methods raise `UnknownResource` (the cluster has no such resource) or `wire.api.status.Unavailable` (not known yet).
    """

    async def objects(
        self, resource: GroupResource, *, namespace: str, selector: Selector
    ) -> Sequence[KubeObject]:
        """Matching objects in the order of a Kubernetes LIST (namespace, name); an empty namespace means all of them."""
        ...

    async def running_pods(self, *, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        """The same for pods whose `status.phase` is Running."""
        ...


class Catalog(Protocol):
    """Which metrics can be requested now: the discovered ones and the named ones. Reads memory only."""

    def custom_entries(self) -> Sequence[MetricEntry]:
        """The metrics that custom.metrics.k8s.io lists, sorted."""
        ...

    def entries_of(self, metric: str) -> Sequence[MetricEntry]:
        """Those of `custom_entries` with this name, sorted; found without reading all of them."""
        ...

    def external_metrics(self) -> Sequence[str]:
        """The metrics that external.metrics.k8s.io lists, sorted."""
        ...

    def custom(self, entry: MetricEntry) -> Offer | None:
        """The offer for a custom metric; `entry.resource` is canonical. None: no rule serves it."""
        ...

    def external(self, metric: str) -> Offer | None:
        """The offer for an external metric. None: no rule serves it."""
        ...

    def gaps(self) -> Sequence[Gap]:
        """The rules that offer nothing yet, and why; sorted by rule."""
        ...

    def listed(self) -> Sequence[ListedRule]:
        """Every rule with its series, in the order of the file: for `explain`, not for answering."""
        ...
