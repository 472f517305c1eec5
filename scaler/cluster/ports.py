"""What the stages of a reconcile need from outside, as protocols; and the wording of failed requests.

`scaler.runtime` provides the implementations, tests provide fakes. Errors that cross a port are
`wire.api.status.StatusError` and `Unavailable`, nothing else.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec

from scaler.algorithm.decision import Event
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Pod, ScaleUnavailable, ScaleView
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import Reading
from scaler.api.autoscaler import Autoscaler, MetricSpec
from wire.api.labels import Selector
from wire.api.quoting import go_quote
from wire.api.status import StatusError, Unavailable
from wire.kube.mapping import GroupVersionResource, Resource


class TargetScale(msgspec.Struct, frozen=True, kw_only=True):
    """A Scale and where it was read: `path` ends in `/namespaces/NAMESPACE/RESOURCE/NAME/scale`.

    `is_copy`: it was read in an earlier reconcile, and a watch shows that the target has not changed since.
    """

    path: str
    uid: str
    view: ScaleView
    is_copy: bool = False


def same_scale(
    copy: TargetScale | ScaleUnavailable, newest: TargetScale | ScaleUnavailable
) -> bool:
    """Whether the target has not changed."""
    return (
        isinstance(copy, TargetScale)
        and isinstance(newest, TargetScale)
        and (copy.uid, copy.view) == (newest.uid, newest.view)
    )


class TimedReading(msgspec.Struct, frozen=True):
    """A reading, and how long it took to get."""

    reading: Reading
    duration_seconds: float


class Mapper(Protocol):
    """Resources by kind; `wire.kube.mapper.RestMapper` implements it. Raises `LookupError`."""

    def resource_for(self, resource: str, group: str = "") -> GroupVersionResource: ...

    def resources_for_kind(self, group: str, kind: str) -> Sequence[Resource]: ...

    async def refresh_after_miss(self) -> bool: ...


class Autoscalers(Protocol):
    """The cached autoscalers."""

    def get(self, key: str) -> Autoscaler | None: ...


class Pods(Protocol):
    """The cached pods."""

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]: ...


class Reads(Protocol):
    """What is read from the metrics APIs in every reconcile of one autoscaler, as long as its spec stays the same."""

    @property
    def requests(self) -> tuple[Hashable, ...]:
        """One for each metric that is read. Equal requests have the same response."""
        ...

    def shared(self, *, counted: bool = True) -> tuple[Reading, ...] | None:
        """The readings, if other reconciles have just read all of them; None if a request has to be sent.

        `counted`: they are used for a reconcile.
        """
        ...

    async def read(self) -> tuple[TimedReading, ...]:
        """One reading per metric, in the order of the spec."""
        ...


class Measurements(Protocol):
    """The metrics APIs. Nothing raises: a metric that cannot be read is a `MetricFailed`."""

    def reads(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
    ) -> Reads:
        """`period_seconds`: of this autoscaler, None for the flag's. It limits the age of readings, and the time to read them."""
        ...


class DecisionObserver(Protocol):
    """What goes on beside the reconciles, from what they leave. Nothing waits or raises."""

    def decided(self, autoscaler: Autoscaler, policy: Policy, memory: Memory) -> None:
        """A reconcile has ended with this memory."""
        ...

    def forget(self, key: str) -> None:
        """The autoscaler was deleted, or another process reconciles it from now on."""
        ...


class EventSink(Protocol):
    """Receives events; must neither block nor raise."""

    def emit(self, autoscaler: Autoscaler, event: Event) -> None: ...


# What client-go reports for a response without a meta/v1 Status (apimachinery pkg/api/errors,
# NewGenericServerResponse); users know these texts from their HPAs.
_GENERIC_MESSAGES: dict[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}

# For 403, 406 and 415 client-go quotes the server's text, which names the missing right or the accepted types.
_QUOTED_CODES = (403, 406, 415)


def worded(
    error: StatusError | Unavailable, *, verb: str, resource: str, group: str = "", name: str = ""
) -> str:
    """The error as the HPA controller words it: the API server's own message if it sent one."""
    if isinstance(error, Unavailable) or not error.generic:
        return error.message
    known = _generic_message(error)
    qualified = f"{resource}.{group}" if group else resource
    return f"{known} ({verb} {qualified} {name})" if name else f"{known} ({verb} {qualified})"


def _generic_message(error: StatusError) -> str:
    known = _GENERIC_MESSAGES.get(error.code)
    if known is not None:
        return known
    if error.code in _QUOTED_CODES:
        return error.text
    if error.code >= 500:
        text = go_quote(error.text)
        return f"an error on the server ({text}) has prevented the request from succeeding"
    return f"the server responded with the status code {error.code} but did not return more information"
