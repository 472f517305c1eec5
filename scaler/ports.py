"""What the stages of a look need from outside, as protocols; and how an answer's failure is worded.

`__main__` and `commands` plug the real things in, tests plug fakes in. Errors that cross a port are
`wire.status.StatusError` and `Unavailable`, nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from scaler.model.autoscaler import Autoscaler, MetricSpec
from scaler.model.decision import Event
from scaler.model.observed import Pod, ScaleView
from scaler.model.readings import Reading
from wire.kube.mapping import GroupVersionResource, Resource
from wire.labels import Selector
from wire.quoting import go_quote
from wire.status import StatusError, Unavailable


class TargetScale(msgspec.Struct, frozen=True, kw_only=True):
    """The Scale that was read, and where: `path` ends in `/namespaces/NAMESPACE/RESOURCE/NAME/scale`."""

    path: str
    uid: str
    view: ScaleView


class Reader(Protocol):
    """GET at the API server; `wire.kube.client.KubeClient` is one."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes: ...


class Writer(Reader, Protocol):
    """GET and PUT at the API server."""

    async def replace(self, path: str, body: bytes) -> bytes: ...


class Mapper(Protocol):
    """Names of kinds to paths; `wire.kube.mapper.RestMapper` is one. Raises `LookupError`."""

    def resource_for(self, resource: str, group: str = "") -> GroupVersionResource: ...

    def resources_for_kind(self, group: str, kind: str) -> Sequence[Resource]: ...

    async def refresh_after_miss(self) -> bool: ...


class Autoscalers(Protocol):
    """The autoscalers in our care, by a copy that is kept up to date."""

    def get(self, key: str) -> Autoscaler | None: ...


class Pods(Protocol):
    """The pods of the cluster, by a copy that is kept up to date."""

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]: ...


class Measurements(Protocol):
    """The metrics APIs. Never raises: a metric that cannot be had is a `MetricFailed`."""

    async def read(self, namespace: str, metric: MetricSpec, pod_selector: Selector) -> Reading: ...


class EventSink(Protocol):
    """Where events go; must not block and must not fail."""

    def emit(self, autoscaler: Autoscaler, event: Event) -> None: ...


# The texts that client-go makes up for an answer without a meta/v1 Status
# (apimachinery pkg/api/errors, NewGenericServerResponse), which users know from their HPAs.
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

# 403, 406 and 415: the server's text says who may not do what, or what it would have understood.
_QUOTED_CODES = (403, 406, 415)


def worded(
    error: StatusError | Unavailable, *, verb: str, resource: str, group: str = "", name: str = ""
) -> str:
    """The error as the HPA controller would word it, which is the API server's own message if it sent one."""
    if isinstance(error, Unavailable) or not error.generic:
        return error.message
    known = _generic_message(error)
    asked = f"{resource}.{group}" if group else resource
    return f"{known} ({verb} {asked} {name})" if name else f"{known} ({verb} {asked})"


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
