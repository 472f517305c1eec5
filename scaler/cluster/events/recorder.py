"""Events written in the background: recording one never waits and never fails the caller's work.

Upstream: client-go v0.36.3, tools/record/event.go. Unlike upstream, Normal events are written before
Warnings, repetitions are merged while they wait, and the rate of writes is limited for the whole
process. Needs permission to create and patch events.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum

import msgspec
from cachetools import LRUCache

from scaler.cluster.events.correlation import OBJECTS_MAX, Correlator, EventSource, Write, new_event
from scaler.cluster.events.event_queue import EventQueue, EventQueueLimits
from scaler.cluster.events.token_bucket import Refill, TokenBucket
from wire.api.meta import ObjectReference
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import STRATEGIC_MERGE_PATCH, Writer
from wire.process.problem_log import ProblemLog

# Of the whole process; kube-controller-manager makes at most 20 requests a second of any kind.
WRITES = Refill(burst=100, seconds_per_token=0.05)
TRIES_MAX = 12
RETRY_SECONDS = 10.0
# A clock that is this far behind the last event was set back; then the new time is taken.
CLOCK_STEP_SECONDS = 1.0
# A message may name a selector or the name of a metric, for which kube-apiserver has no limit of its own.
MESSAGE_CHARACTERS_MAX = 8_192
# Refusals that are logged once: one for each namespace and reason.
REFUSALS_MAX = 1024

log = logging.getLogger(__name__)


class DropReason(StrEnum):
    """Why an event was not written."""

    QUEUE_FULL = "queue_full"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


class EventRecorder:
    """Queues events and writes them one after the other while `run()` runs."""

    def __init__(
        self,
        client: Writer,
        *,
        component: str,
        host: str = "",
        objects_max: int = OBJECTS_MAX,
        limits: EventQueueLimits | None = None,
        on_dropped: Callable[[str, DropReason], None] = lambda _type, _reason: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`component` becomes `source.component` and `reportingComponent`. `objects_max`: how many objects'
        events are remembered. `on_dropped` is called with the type of every event that is not written.
        """
        self._client = client
        self._source = EventSource(component=component, host=host)
        self._on_dropped = on_dropped
        self._sleep = sleep
        self._now = now
        self._monotonic = monotonic
        self._chance = chance
        self._correlator = Correlator(objects_max=objects_max)
        self._queue = EventQueue(limits)
        self._tokens = TokenBucket(float(WRITES.burst), monotonic())
        self._recorded = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stamp_seconds = 0.0
        self._refusals: LRUCache[tuple[str, str], bool] = LRUCache(REFUSALS_MAX)
        self._problem = ProblemLog(
            log, failing="events are being dropped", recovered="events are no longer dropped"
        )

    def event(self, about: ObjectReference, type: str, reason: str, message: str) -> None:  # noqa: A002
        """Record an event of an object, with the arguments of client-go's recorder: `type` is Normal or
        Warning, `reason` one CamelCase word, `message` a sentence.
        """
        now_seconds = self._unique_now_seconds()
        event = new_event(
            about,
            type=type,
            reason=reason,
            message=message[:MESSAGE_CHARACTERS_MAX],
            source=self._source,
            now_seconds=now_seconds,
        )
        write = self._correlator.correlate(event, now_seconds=now_seconds)
        if write is None:
            return
        if not self._queue.put(write):
            self._problem.set(f"{len(self._queue)} events are waiting to be written")
            self._on_dropped(type, DropReason.QUEUE_FULL)
            return
        self._idle.clear()
        self._recorded.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            write = await self._next()
            try:
                await self._write(write)
            except Exception:
                event = write.event
                log.exception("dropped event %s of %s", event.reason, event.involved_object.name)

    async def flushed(self) -> None:
        """Wait until every event recorded so far is written or given up."""
        await self._idle.wait()

    def _unique_now_seconds(self) -> float:
        """The time is part of an event's name, so two events need different times."""
        now_seconds = self._now()
        if 0 <= self._stamp_seconds - now_seconds < CLOCK_STEP_SECONDS:
            now_seconds = self._stamp_seconds + 1e-6
        self._stamp_seconds = now_seconds
        return now_seconds

    async def _next(self) -> Write:
        """The next write, once there is one and a token for it."""
        while True:
            if not self._queue:
                self._problem.set(None)
                self._idle.set()
                self._recorded.clear()
                await self._recorded.wait()
            pause_seconds = self._tokens.wait_seconds(WRITES, now_seconds=self._monotonic())
            if self._tokens.take(WRITES, now_seconds=self._monotonic()):
                return self._queue.pop()
            await self._sleep(pause_seconds)

    async def _write(self, write: Write) -> None:
        for attempt in range(1, TRIES_MAX + 1):
            try:
                return await self._send(write)
            except StatusError as error:
                # The same request would get the same response.
                return self._refused(write, error)
            except Unavailable as error:
                if attempt == TRIES_MAX:
                    log.warning("dropped an event: %s", error)
                    self._on_dropped(write.event.type, DropReason.UNAVAILABLE)
                    return None
            # The first pause is random, so that many clients do not return at the same moment.
            await self._sleep(RETRY_SECONDS * (self._chance() if attempt == 1 else 1.0))
        return None

    def _refused(self, write: Write, error: StatusError) -> None:
        if _is_expected(error):
            log.debug("an event is not written: %s", error)
            return
        self._on_dropped(write.event.type, DropReason.REFUSED)
        refusal = (write.event.metadata.namespace, error.reason)
        level = logging.DEBUG if refusal in self._refusals else logging.WARNING
        self._refusals[refusal] = True
        log.log(level, "the API server refused an event: %s", error)

    async def _send(self, write: Write) -> None:
        event = write.event
        path = f"/api/v1/namespaces/{event.metadata.namespace}/events"
        if write.patch is not None:
            try:
                await self._client.patch(
                    f"{path}/{event.metadata.name}", write.patch, content_type=STRATEGIC_MERGE_PATCH
                )
            except StatusError as error:
                if error.code != 404:
                    raise
            else:
                return
        await self._client.create(path, msgspec.json.encode(event))


def _is_expected(error: StatusError) -> bool:
    """A namespace that is being deleted, or a create that was sent twice."""
    terminating = error.details is not None and any(
        cause.reason == "NamespaceTerminating" for cause in error.details.causes
    )
    return terminating or error.reason == "AlreadyExists"
