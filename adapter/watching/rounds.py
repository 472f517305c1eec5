"""Evaluates everything that is watched, round after round, and keeps the newest response of each request.

A request is evaluated once per round, however many clients watch it, and through the same path as a GET: so equal queries are
sent once, and wide queries answer many requests. What no other request shares costs Prometheus a query per round, so the
number of such queries is limited; a client sends a GET for the others. It does so too for a request that takes long, and for
those of a backend that answers none: a round must not wait for them (`adapter.watching.sources`).
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final, Protocol

import msgspec

from adapter import telemetry
from adapter.answer.answering import AnswerDocument
from adapter.answer.metric_paths import KnownRequest
from adapter.answer.observer import AnswerObserver
from adapter.answer.query_plan import requested_names
from adapter.caches import STREAMS_BYTES
from adapter.model import (
    CustomMetricRequest,
    MetricQuery,
    MetricRequest,
    Offer,
    Plan,
    UsageQuery,
)
from adapter.watching.compared_values import compared_values
from adapter.watching.sources import REFUSED_SECONDS, NotEvaluated, OwnQueries, Source, Sources
from adapter.watching.streamed_body import streamed_body
from adapter.watching.waiting_limit import WaitingLimit
from wire.api.metric_stream import send_a_get
from wire.api.status import StatusError, Unavailable, failure, internal_error
from wire.process.byte_budget import ByteBudget
from wire.process.crashes import Crashes
from wire.serving.rendering import as_status

PERIOD_SECONDS: Final = 1.1
"""A little more than the time for which a result is reused, so that each round has new ones."""
PERIOD_SECONDS_MIN: Final = 0.3
"""Between the beginnings of two rounds, if the second one is for new samples."""
OWN_QUERIES_MAX: Final = 10
"""How many different queries may be sent to a backend in each round that are not for all requests of a rule: about nine a second, as 140
autoscalers send them with 15 s."""
OWN_QUERY_ROUNDS: Final = 3
"""A request beyond that limit in so many rounds, one after the other, is not evaluated for a while. After a reload, wide queries begin in
the second round."""
ANSWER_SECONDS: Final = 2.0
"""How long a round waits for a request. A client uses a stream for at most 5 s after the beginning of the last round that has ended."""
SLOW_FAILURE_RATIO: Final = 0.25
"""After this part of that time, a failure is like no answer: the timeout of a backend may be shorter than a round waits."""
WATCHED_BYTES: Final = 500
"""What a watched request takes beside its query and its response, roughly."""
DIGEST_BYTES: Final = 16
"""Of a response without its timestamps, to compare with the next one. Different responses never have the same one in practice."""
CONCURRENT: Final = 64
SLICE_SECONDS: Final = 0.005
"""How long requests that need no waiting may follow each other before everything else gets its turn."""
BUSY_RATIO: Final = 0.25
"""The part of the CPU time of the process that rounds may take, roughly: with very many requests they follow each other more slowly."""
PAUSE_SECONDS_MAX: Final = 3.0
CONFIRMED_SECONDS: Final = 4.5
"""A client uses a response for at most 5 s after the beginning of the last round that has ended, so pauses are shorter if the next round can
end within that time."""

_ROUND: Final = ("round", "watched metrics")
"""What may crash, as the log names it."""

log = logging.getLogger(__name__)

Answer = Callable[[KnownRequest, AnswerObserver], Awaitable[AnswerDocument]]
"""Answers a request; raises `StatusError` and `Unavailable`."""


class RoundListener(Protocol):
    """A client of the rounds."""

    def round_begins(self) -> None:
        """Everything that is watched from now on is evaluated in the next round."""
        ...

    def round_ended(self) -> None:
        """Everything that was watched when it began has been evaluated."""
        ...


class Watched:
    """A request, and its newest response. `version` changes with the response; 0 before the first."""

    __slots__ = ("body", "code", "crowded_rounds", "digest", "has_new_user", "known", "refused_until_seconds", "size_bytes", "users", "version")  # fmt: skip

    def __init__(self, request: MetricRequest) -> None:
        self.known = KnownRequest(request)
        self.users = 0
        self.has_new_user = False
        self.version = 0
        self.code = 0
        self.body = b""
        self.digest = b""
        self.crowded_rounds = 0
        """In how many, one after the other, its own query was beyond the limit."""
        self.refused_until_seconds = float("-inf")
        self.size_bytes = WATCHED_BYTES

    @property
    def needed_bytes(self) -> int:
        """What it takes with its query and its newest response."""
        return WATCHED_BYTES + self.known.query_bytes + len(self.body)

    def become(self, code: int, values: bytes, encoded: Callable[[], bytes]) -> None:
        """Take a response. One that differs only in the timestamps of its values is the same, but a new user gets timestamps of this round or the one before."""
        digest = hashlib.blake2b(values, digest_size=DIGEST_BYTES).digest()
        has_changed = self.version == 0 or (code, digest) != (self.code, self.digest)
        if not (has_changed or self.has_new_user):
            return
        # First, because it may raise. In a buffer of its size: that of msgspec may be half as large again.
        self.body = bytes(memoryview(encoded()))
        self.code, self.digest = code, digest
        self.version += has_changed
        self.has_new_user = False


class Rounds:
    """All watched requests. Run `run()` as a task."""

    def __init__(
        self,
        answer: Answer,
        *,
        period_seconds: float = PERIOD_SECONDS,
        own_queries_max: int = OWN_QUERIES_MAX,
        answer_seconds: float = ANSWER_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        busy_seconds: Callable[[], float] = time.process_time,
        next_samples: Callable[[float], float] = lambda _: float("inf"),
        budget: ByteBudget | None = None,
    ) -> None:
        """`period_seconds`: between the beginnings of two rounds, at least. `answer_seconds`: how long a round waits for a request.

        `next_samples`: when there are new samples after a time; a round begins then instead of later. `budget`: for the requests and
        their responses.
        """
        self.budget = budget or ByteBudget(STREAMS_BYTES)
        self._answer = answer
        self._period_seconds = period_seconds
        self._own_queries = OwnQueries(own_queries_max)
        self._sources = Sources()
        self._answer_seconds = answer_seconds
        self._monotonic = monotonic
        self._busy_seconds = busy_seconds
        self._next_samples = next_samples
        self._watched: dict[MetricRequest, Watched] = {}
        self._listeners: set[RoundListener] = set()
        self._has_listeners = asyncio.Event()
        self._crashes = Crashes(telemetry.CRASHES.inc)

    def __len__(self) -> int:
        return len(self._watched)

    def join(self, listener: RoundListener) -> None:
        """Call `listener` for each round from now on."""
        self._listeners.add(listener)
        self._has_listeners.set()

    def leave(self, listener: RoundListener) -> None:
        """The opposite of `join`."""
        self._listeners.discard(listener)
        if not self._listeners:
            self._has_listeners.clear()

    def watch(self, request: MetricRequest) -> Watched:
        """Evaluate it from the next round on, until it is released as often as it was watched.

        Raises `StatusError` 429 if what is watched takes too much memory.
        """
        watched = self._watched.get(request)
        if watched is None:
            if not self.budget.take(WATCHED_BYTES):
                raise too_large()
            watched = self._watched[request] = Watched(request)
            telemetry.WATCHED.set(len(self._watched))
        watched.users += 1
        watched.has_new_user = True
        return watched

    def release(self, watched: Watched) -> None:
        """One user less."""
        watched.users -= 1
        if not watched.users:
            self._watched.pop(watched.known.request, None)
            self.budget.give(watched.size_bytes)
            telemetry.WATCHED.set(len(self._watched))

    async def run(self) -> None:
        """Rounds while there are listeners. Ends only by cancellation."""
        while True:
            await self._has_listeners.wait()
            began_at, busy_before = self._monotonic(), self._busy_seconds()
            due_at = began_at + self._period_seconds
            try:
                await self.round()
                due_at = min(due_at, self._next_samples(began_at + PERIOD_SECONDS_MIN))
            except Exception as error:
                # The clients send GETs until a round has ended. The process has everything else to serve.
                self._crashes.note(*_ROUND, error)
            else:
                self._crashes.ended(*_ROUND)
            busy_seconds = self._busy_seconds() - busy_before
            round_seconds = self._monotonic() - began_at
            telemetry.ROUND_SECONDS.observe(round_seconds)
            left_seconds = due_at - self._monotonic()
            pause_seconds = max(left_seconds, busy_seconds * (1 / BUSY_RATIO - 1))
            await asyncio.sleep(min(_pause_seconds_max(round_seconds), max(0.0, pause_seconds)))

    async def round(self) -> None:
        """Evaluate everything once."""
        listeners = tuple(self._listeners)
        for listener in listeners:
            listener.round_begins()
        self._sources.round_begins()
        self._own_queries.round_begins()
        now_seconds = self._monotonic()
        due = [each for each in self._watched.values() if each.refused_until_seconds <= now_seconds]
        remaining = iter(due)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONCURRENT, len(due))):
                group.create_task(self._evaluate_all(remaining))
        for listener in listeners:
            listener.round_ended()

    async def _evaluate_all(self, remaining: Iterable[Watched]) -> None:
        slice_ends_at = self._monotonic() + SLICE_SECONDS
        with WaitingLimit(self._answer_seconds) as limit:
            for each in remaining:
                await self._evaluate(each, limit)
                self._count(each)
                if self._monotonic() > slice_ends_at:
                    await asyncio.sleep(0)
                    slice_ends_at = self._monotonic() + SLICE_SECONDS

    async def _evaluate(self, watched: Watched, limit: WaitingLimit) -> None:
        began_seconds = self._monotonic()
        steps = _Steps(watched.known.request, self._sources, self._own_queries, self._monotonic)
        failure_code = 0
        try:
            limit.begin()
            document = await self._answer(watched.known, steps)
            watched.become(200, compared_values(document), lambda: streamed_body(document))
        except NotEvaluated as error:
            self._refuse(watched, error)
            return
        except _Crowded:
            self._refuse_crowded(watched)
            return
        except asyncio.CancelledError:
            if not limit.was_exceeded():
                raise
            self._refuse(watched, steps.waited(began_seconds))
            return
        except StatusError as error:
            if self._monotonic() - began_seconds > self._answer_seconds * SLOW_FAILURE_RATIO:
                self._refuse(watched, steps.waited(began_seconds))
                return
            failure_code = error.code
            _fail(watched, error)
        except Unavailable as error:
            failure_code = HTTPStatus.SERVICE_UNAVAILABLE
            _fail(watched, as_status(error))
        except Exception:
            failure_code = HTTPStatus.INTERNAL_SERVER_ERROR
            telemetry.CRASHES.inc()
            log.exception("a watched metric cannot be evaluated: %s", watched.known.request)
            _fail(
                watched, internal_error("an internal error occurred: send a GET, and see the log")
            )
        finally:
            limit.end()
        watched.crowded_rounds = 0
        steps.ended(failure_code, began_seconds)

    def _count(self, watched: Watched) -> None:
        """Count its query and its newest response, or refuse the request for a while if they are too large. Smaller ones still fit."""
        if not watched.users:
            return  # Released while it was evaluated.
        if not self._resized(watched):
            watched.refused_until_seconds = self._monotonic() + REFUSED_SECONDS
            watched.known.forget_query()
            _fail(watched, too_large())
            self._resized(watched)

    def _resized(self, watched: Watched) -> bool:
        more = watched.needed_bytes - watched.size_bytes
        if more > 0 and not self.budget.take(more):
            return False
        if more < 0:
            self.budget.give(-more)
        watched.size_bytes += more
        return True

    def _refuse(self, watched: Watched, error: NotEvaluated) -> None:
        watched.refused_until_seconds = self._monotonic() + error.seconds
        watched.crowded_rounds = 0
        why = f"{error.why}, so this one is not streamed now: send a GET"
        _fail(watched, send_a_get(why, is_temporary=error.is_temporary))

    def _refuse_crowded(self, watched: Watched) -> None:
        rounds = watched.crowded_rounds + 1
        why = f"more than {self._own_queries.plans_max} queries of watched metrics are for one metric each"
        is_last = rounds >= OWN_QUERY_ROUNDS
        self._refuse(watched, NotEvaluated.for_long(why) if is_last else NotEvaluated(why))
        watched.crowded_rounds = 0 if is_last else rounds


class _Crowded(Exception):
    """The request needs a query of its own, and there is no place for it."""


class _Steps(AnswerObserver):
    """What a request waits for, and that it has a query of its own only within the limit."""

    explains = False

    def __init__(
        self,
        request: MetricRequest,
        sources: Sources,
        own_queries: OwnQueries,
        monotonic: Callable[[], float],
    ) -> None:
        self._request = request
        self._sources = sources
        self._own_queries = own_queries
        self._monotonic = monotonic
        self._plan: Plan | None = None
        self._has_result = False
        self.source: Source | None = None

    def rule_chosen(self, offer: Offer) -> None:  # noqa: ARG002
        request = self._request
        if isinstance(request, CustomMetricRequest) and requested_names(request) is None:
            self._wait_for(str(request.resource))

    def objects_matched(self, names: Sequence[str]) -> None:  # noqa: ARG002
        if self.source is not None:
            self._sources.succeeded(self.source, self._monotonic())

    def query_built(self, query: MetricQuery | UsageQuery) -> None:
        if isinstance(query, MetricQuery):
            self._plan = query.plan
            self._wait_for(query.plan.backend)

    def needs_own_query(self) -> None:
        if self._plan is not None and not self._own_queries.admits(self._plan):
            raise _Crowded

    def result_received(self) -> None:
        self._has_result = True
        if self.source is not None:
            self._sources.succeeded(self.source, self._monotonic())

    def ended(self, failure_code: int, began_seconds: float) -> None:
        """There is a response, or a failure with a code. A value that cannot be used is not a failure of its source."""
        if self.source is None or self._has_result:
            return
        now_seconds = self._monotonic()
        if failure_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._sources.failed(self.source, began_seconds, now_seconds)
        else:
            self._sources.succeeded(self.source, now_seconds)

    def waited(self, began_seconds: float) -> NotEvaluated:
        return self._sources.waited(self.source, began_seconds, self._monotonic())

    def _wait_for(self, source: Source) -> None:
        self._sources.check(source, self._monotonic())
        self.source = source


def _pause_seconds_max(round_seconds: float) -> float:
    """After a round that took so long, if the next one takes as long."""
    left_seconds = CONFIRMED_SECONDS - 2 * round_seconds
    return PAUSE_SECONDS_MAX if left_seconds < 0 else min(PAUSE_SECONDS_MAX, left_seconds)


def too_large() -> StatusError:
    """What is watched takes too much memory: this request does not fit."""
    return failure(429, "the watched metrics take too much memory: send a GET")


def _fail(watched: Watched, error: StatusError) -> None:
    body = msgspec.json.encode(error.to_status())
    watched.become(error.code, body, lambda: body)
