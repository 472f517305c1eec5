"""What is sent to Prometheus for a request, and which part of the result belongs to it."""

import enum

import msgspec

from adapter.model.configuration import BackendRef, SignalContract


class Lane(enum.StrEnum):
    """Who waits for a query; when a backend is at its limit, the first goes first."""

    AUTOSCALER = "autoscaler"
    LIST = "list"  # usage of several namespaces, as for `kubectl top`
    COMMAND = "command"  # `explain`


class Plan(msgspec.Struct, frozen=True):
    """One PromQL query for one backend. Equal plans have equal results, so they are evaluated once.

    `key_labels`: the labels by which requests select rows, so that the result is indexed once for all of them.
    """

    query: str
    backend: BackendRef = BackendRef()
    key_labels: tuple[str, ...] = ()


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan is sent.

    `may_post`: a long text by POST, even if the backend's verb is GET. `counts_samples`: Prometheus says how many samples it has read.
    `seconds_max`: the result is of no use after that, so neither Prometheus nor the client goes on.
    """

    lane: Lane = Lane.AUTOSCALER
    may_post: bool = False
    counts_samples: bool = False
    seconds_max: float = float("inf")


FOR_AUTOSCALER = Sending()


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
    backend: BackendRef = BackendRef()
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
