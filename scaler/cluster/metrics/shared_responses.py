"""The newest responses of the metrics APIs, decoded once and shared by all autoscalers with the same request.

A response is shared if its request was sent less than `fresh_seconds` ago, by the autoscaler's own period (a tenth of
it, at most one second). So it is at most that much older than the response to a request of its own. The same holds for
failures, and for requests in flight: a slow API is not waited for longer than by a request of its own.
After an autoscaler has scaled its target, it sends a request of its own: what was measured before is not of the replicas since.
"""

import asyncio
import functools
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Iterable
from typing import Any, Generic, TypeVar, cast

Request = TypeVar("Request", bound=Hashable)
Response = TypeVar("Response")


class Sent(Generic[Response]):
    """A request that was sent, and its response once there is one. The task is not kept: it takes more memory than a response."""

    __slots__ = (
        "_monotonic",
        "_responded_at_seconds",
        "_response",
        "_task",
        "sent_at_seconds",
        "was_streamed",
    )

    def __init__(
        self,
        task: asyncio.Task[Response],
        monotonic: Callable[[], float],
        on_response: "Callable[[Sent[Response]], None]",
    ) -> None:
        self._task: asyncio.Task[Response] | None = task
        self._response: Response | None = None
        self.sent_at_seconds = monotonic()
        self.was_streamed = False
        """Whether the adapter had streamed the response, so that nothing was sent."""
        self._monotonic = monotonic
        self._responded_at_seconds: float | None = None
        task.add_done_callback(functools.partial(self._responded, on_response))

    @property
    def in_flight(self) -> asyncio.Task[Response] | None:
        """The task while there is no response, None afterwards."""
        return None if self._task is None or self._task.done() else self._task

    def response(self) -> Response:
        """Raises `asyncio.InvalidStateError` while there is none, and what the task has raised."""
        if self._task is not None:
            return self._task.result()
        return cast("Response", self._response)

    def waited_seconds(self, since_seconds: float) -> float:
        """How long a reconcile has waited for it that began to wait at that time."""
        ended = self._responded_at_seconds
        return max(0.0, (self._monotonic() if ended is None else ended) - since_seconds)

    def _responded(
        self, on_response: "Callable[[Sent[Response]], None]", task: asyncio.Task[Response]
    ) -> None:
        self._responded_at_seconds = self._monotonic()
        if not task.cancelled() and task.exception() is None:
            self._response, self._task = task.result(), None
            on_response(self)


class SharedResponses(Generic[Request, Response]):
    """What was sent last for each request."""

    def __init__(
        self, *, fresh_seconds_max: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`fresh_seconds_max`: nothing is shared for longer."""
        self._fresh_seconds_max = fresh_seconds_max
        self._monotonic = monotonic
        # In the order of sending.
        self._sent: OrderedDict[Request, Sent[Response]] = OrderedDict()
        # asyncio itself keeps no task alive.
        self._in_flight: set[asyncio.Task[Response]] = set()

    def __len__(self) -> int:
        return len(self._sent)

    def find(
        self, request: Request, fresh_seconds: float, since_seconds: float = -math.inf
    ) -> Sent[Response] | None:
        """What was sent for it less than this ago, and not before `since_seconds`, with a response or in flight."""
        found = self._sent.get(request)
        earliest_seconds = max(self._monotonic() - fresh_seconds, since_seconds)
        if found is None or found.sent_at_seconds <= earliest_seconds:
            return None
        return found

    def send(
        self,
        request: Request,
        read: Callable[[], Coroutine[Any, Any, Response]],
        on_response: Callable[[Sent[Response]], None] = lambda _: None,
    ) -> Sent[Response]:
        """Send it now. `read` returns a failure as a response, and does not raise it."""
        self._drop_outdated()
        task = asyncio.create_task(read())
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        sent = Sent(task, self._monotonic, on_response)
        # At its end, to keep the order of sending.
        self._sent.pop(request, None)
        self._sent[request] = sent
        return sent

    def _drop_outdated(self) -> None:
        outdated_before = self._monotonic() - self._fresh_seconds_max
        while self._sent:
            oldest = next(iter(self._sent))
            if self._sent[oldest].sent_at_seconds > outdated_before:
                return
            del self._sent[oldest]


async def responded(sent: Iterable[Sent[Any]], deadline_seconds: float) -> None:
    """Wait until all have a response, or the deadline has passed; other reconciles may wait for longer."""
    in_flight = {task for each in sent if (task := each.in_flight) is not None}
    if in_flight:
        await asyncio.wait(in_flight, timeout=deadline_seconds)
