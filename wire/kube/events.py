"""Events written in the background: recording one never waits and never fails the caller's work.

Upstream: client-go v0.36.3, tools/record/event.go. Needs the right to create and patch events.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

import msgspec

from wire.kube.correlation import Correlator, Event, EventSource, Write, new_event
from wire.kube.requests import STRATEGIC_MERGE_PATCH, Writer
from wire.meta import ObjectReference
from wire.status import StatusError, Unavailable

QUEUE_MAX = 1000
TRIES_MAX = 12
RETRY_SECONDS = 10.0

log = logging.getLogger(__name__)


class EventRecorder:
    """Queues events and writes them one after the other while `run()` runs."""

    def __init__(
        self,
        client: Writer,
        *,
        component: str,
        host: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`component` becomes `source.component` and `reportingComponent`."""
        self._client = client
        self._source = EventSource(component=component, host=host)
        self._sleep = sleep
        self._now = now
        self._chance = chance
        self._correlator = Correlator()
        self._queue: asyncio.Queue[Event] = asyncio.Queue(QUEUE_MAX)
        self.dropped = 0
        """How many events were lost because the queue was full."""

    def event(self, about: ObjectReference, type: str, reason: str, message: str) -> None:  # noqa: A002
        """Say that something happened to an object, in the order of client-go's recorder: `type` is
        Normal or Warning, `reason` one CamelCase word, `message` a sentence.
        """
        event = new_event(
            about,
            type=type,
            reason=reason,
            message=message,
            source=self._source,
            now_seconds=self._now(),
        )
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            if not self.dropped:
                log.warning("events are lost: more than %d wait to be written", QUEUE_MAX)
            self.dropped += 1

    async def run(self) -> None:
        """Write for ever; ends only by cancellation."""
        while True:
            event = await self._queue.get()
            try:
                write = self._correlator.correlate(event, now_seconds=self._now())
                if write is not None:
                    await self._write(write)
            except Exception:
                log.exception("event %s %s is lost", event.reason, event.involved_object.name)
            finally:
                self._queue.task_done()

    async def flushed(self) -> None:
        """Wait until what was recorded so far is written (or given up)."""
        await self._queue.join()

    async def _write(self, write: Write) -> None:
        for attempt in range(1, TRIES_MAX + 1):
            try:
                return await self._send(write)
            except StatusError as error:
                # Asking again would get the same answer. A namespace that goes away takes its events along.
                level = logging.DEBUG if _is_expected(error) else logging.WARNING
                log.log(level, "the API server refused an event: %s", error)
                return None
            except Unavailable as error:
                if attempt == TRIES_MAX:
                    log.warning("an event is given up: %s", error)
                    return None
            # The first pause is random, so that many clients do not come back in step.
            await self._sleep(RETRY_SECONDS * (self._chance() if attempt == 1 else 1.0))
        return None

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
    terminating = error.details is not None and any(
        cause.reason == "NamespaceTerminating" for cause in error.details.causes
    )
    return terminating or error.reason == "AlreadyExists"
