"""Writes the desired number of replicas to the target's Scale subresource.

Upstream: the retry in `reconcileAutoscaler` (horizontal.go) with client-go's `retry.DefaultRetry`:
five attempts about 10 ms apart, only after a conflict, and each writes the same number over
whatever another client has written meanwhile.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from scaler.algorithm.decision import Decision, Rescaled, RescaleFailed
from scaler.cluster.failed_requests import worded
from scaler.cluster.target_scale import SCALE, TargetScale
from wire.api import kube_json
from wire.api.status import NotSent, StatusError, Unavailable
from wire.kube.requests import BeforeEach, Reader, Writer

ATTEMPTS = 5
PAUSE_SECONDS = 0.01
PAUSE_JITTER_RATIO = 0.1
# Under a shorter sync period, metrics may be this old: each has at least five seconds to respond.
AGE_SECONDS_MIN = 7.5


class _Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True):
    replicas: int


class _Scale(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    spec: _Spec
    api_version: str
    kind: str = SCALE


class _Version(msgspec.Struct, frozen=True):
    metadata: _Metadata


def may_write_copy(decision: Decision) -> bool:
    """Not where other writes are needed first, which an outdated copy must not cause."""
    return bool(decision.desired_replicas) and not decision.pod_annotations


def checked_age(
    read_since_seconds: float, period_seconds: float, monotonic: Callable[[], float]
) -> BeforeEach:
    """The check of a write that is decided on metrics which were read from that monotonic time on.

    A process may be suspended after it has read them, and a busy kube-apiserver may be waited for.
    """

    def check() -> None:
        age_seconds = monotonic() - read_since_seconds
        if age_seconds > max(period_seconds, AGE_SECONDS_MIN):
            raise NotSent(
                f"not written, because the metrics are up to {age_seconds:.0f} s old: kube-apiserver was slow or "
                "the scaler was paused. The next reconcile decides again"
            )

    return check


async def rescale(
    kube: Writer,
    scale: TargetScale,
    replicas: int,
    *,
    before_each: BeforeEach | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> Rescaled | RescaleFailed:
    """Set the replicas. A failure is a value rather than an exception, because the status reports it."""
    message = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            await sleep(PAUSE_SECONDS * (1 + PAUSE_JITTER_RATIO * chance()))
        try:
            await kube.replace(scale.path, _body(scale, replicas), before_each=before_each)
        except (StatusError, Unavailable) as error:
            *_, resource, name, _ = scale.path.split("/")
            message = worded(error, verb="put", resource=resource, name=name)
            if not isinstance(error, StatusError) or error.reason != "Conflict":
                may_be_applied = attempt > 0 or _may_be_applied(error)
                return RescaleFailed(message, may_be_applied=may_be_applied)
            # Perhaps with itself: the client sends a request again if the response was lost.
            scale = await _refreshed(kube, scale)
        else:
            return Rescaled()
    return RescaleFailed(message, may_be_applied=True)


async def rescale_unchanged(
    kube: Writer,
    scale: TargetScale,
    replicas: int,
    *,
    before_each: BeforeEach | None = None,
) -> Rescaled | RescaleFailed | None:
    """Set the replicas if the target still has the resourceVersion of `scale`.

    None: the request was refused, because another client has changed or deleted the target, or because this is the second
    time that the request was sent, after the response to the first one was lost.
    """
    try:
        await kube.replace(scale.path, _body(scale, replicas), before_each=before_each)
    except (StatusError, Unavailable) as error:
        if isinstance(error, StatusError) and (error.reason == "Conflict" or error.code == 404):
            return None
        *_, resource, name, _ = scale.path.split("/")
        message = worded(error, verb="put", resource=resource, name=name)
        return RescaleFailed(message, may_be_applied=_may_be_applied(error))
    return Rescaled()


def _may_be_applied(error: StatusError | Unavailable) -> bool:
    """Whether the write may have happened all the same: it was sent and got no answer, or a server error."""
    if isinstance(error, StatusError):
        return error.code >= 500
    return not isinstance(error, NotSent)


def _body(scale: TargetScale, replicas: int) -> bytes:
    *_, namespace, _, name, _ = scale.path.split("/")
    metadata = _Metadata(
        name=name, namespace=namespace, uid=scale.uid, resource_version=scale.view.resource_version
    )
    sent = _Scale(metadata=metadata, spec=_Spec(replicas), api_version=scale.api_version)
    return msgspec.json.encode(sent)


async def _refreshed(kube: Reader, scale: TargetScale) -> TargetScale:
    """The newest resourceVersion for the next attempt; if it cannot be read, that attempt conflicts again.

    So it does without one: a write without a resourceVersion would succeed whatever another client has written.
    """
    try:
        body = kube_json.of_kind(await kube.get(scale.path), SCALE)
        read = kube_json.decode(body, _Version).metadata
    except (StatusError, Unavailable, msgspec.DecodeError):
        return scale
    if not read.resource_version:
        return scale
    view = msgspec.structs.replace(scale.view, resource_version=read.resource_version)
    return msgspec.structs.replace(scale, uid=read.uid, view=view)
