"""`/watch/metrics`: a WebSocket over which a client gets the metrics that have changed (see `wire.api.metric_stream`).

Access to the path is checked before, as for every path, and again while the stream is open, with the credentials and the
impersonated user. Access to each metric is checked as for a GET, before it is evaluated, and again while it is watched. What
waits to be sent is at most the newest response of each path; a client that does not read it in time is disconnected.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import WSMsgType, web

from adapter import telemetry
from adapter.answer import KnownRequest
from adapter.model import CustomMetricRequest, ExternalMetricRequest, MetricRequest
from adapter.watching.rounds import Rounds, Watched, too_large
from wire.api.metric_stream import (
    PATH,
    PATHS_MAX,
    REQUEST_BYTES_MAX,
    StreamedResponse,
    StreamRequest,
    StreamUpdate,
    decode_request,
    encode,
    send_a_get,
)
from wire.api.status import StatusError, Unavailable, bad_request, failure
from wire.process.text_bytes import text_bytes
from wire.serving.access_guard import USER, Admit
from wire.serving.attributes import Attributes, User, attributes_of
from wire.serving.authorization import Authorizer
from wire.serving.rendering import as_status
from wire.serving.request_path import split_url

STREAMS_MAX: Final = 64
RECHECK_SECONDS: Final = 5.0
"""How often the permission for a path is checked again. A decision of kube-apiserver is reused for its TTL, as for GETs."""
REVIEW_WAIT_SECONDS: Final = 1.0
"""How long the paths of a stream wait for the review of one of them. A client sends a GET for that one: the review continues, and both use
its result."""
REVIEWS_MAX: Final = 64
"""Of one stream, at once."""
SEND_SECONDS: Final = 5.0
UPDATE_BYTES: Final = 1 << 20
"""Of one message, unless a single response is larger."""
PATH_BYTES: Final = 900
"""What a path of a stream takes beside its texts, with a refusal, roughly."""
PATH_COPIES: Final = 4
"""A path is kept as text and in parts, for the request and for its authorization."""
REFUSAL_BYTES_MAX: Final = 1_024
"""Of the response to a path that cannot be read: up to PATHS_MAX of them wait for the end of a round."""
IDLE_SECONDS: Final = 30.0
"""A client that sends nothing for so long is gone."""

Read = Callable[[str], KnownRequest]
"""The request of an escaped path with its query string. Raises `StatusError`."""


class MetricStreams:
    """The open streams."""

    def __init__(
        self,
        rounds: Rounds,
        read: Read,
        admit: Admit,
        authorizer: Authorizer,
        *,
        send_seconds: float = SEND_SECONDS,
        review_wait_seconds: float = REVIEW_WAIT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`admit`: as the server has admitted each stream. `send_seconds`: how long a client may take to read what was sent after a round.

        `review_wait_seconds`: how long a stream waits for a review.
        """
        self._rounds = rounds
        self._read = read
        self._send_seconds = send_seconds
        self._review_wait_seconds = review_wait_seconds
        self._sleep = sleep
        self._admit = admit
        self._authorizer = authorizer
        self._monotonic = monotonic
        self._open: set[web.WebSocketResponse] = set()

    def add_route(self, app: web.Application) -> None:
        """Serve it."""
        app.router.add_get(PATH, self._serve)

    async def close(self) -> None:
        """End every stream, so that its client connects to another replica at once."""
        await asyncio.gather(*map(self._close, tuple(self._open)))

    @staticmethod
    async def _close(socket: web.WebSocketResponse) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await socket.close(code=1001, message=b"the adapter stops")

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if len(self._open) >= STREAMS_MAX:
            raise failure(429, f"{STREAMS_MAX} clients already watch metrics")
        socket = web.WebSocketResponse(max_msg_size=REQUEST_BYTES_MAX, compress=False)
        if not socket.can_prepare(request):
            raise bad_request(f"{PATH} is a WebSocket")
        await socket.prepare(request)
        stream = _Stream(
            socket,
            self._rounds,
            self._read,
            request[USER],
            self._authorizer,
            self._review_wait_seconds,
            self._monotonic,
        )
        self._open.add(socket)
        telemetry.STREAMS.set(len(self._open))
        self._rounds.join(stream)
        tasks = [
            asyncio.create_task(stream.send_updates(request, self._send_seconds)),
            asyncio.create_task(stream.receive()),
            asyncio.create_task(self._stay_admitted(request)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._rounds.leave(stream)
            self._open.discard(socket)
            telemetry.STREAMS.set(len(self._open))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            stream.release()
        return socket

    async def _stay_admitted(self, request: web.Request) -> None:
        """Until the client would not be admitted any more, or as another user: with other groups, for example."""
        while True:
            await self._sleep(RECHECK_SECONDS)
            try:
                if await self._admit(request) == request[USER]:
                    continue
            except Unavailable:
                continue
            except StatusError as refused:
                if refused.code == HTTPStatus.TOO_MANY_REQUESTS:
                    continue
            telemetry.STREAMS_ENDED.labels("not_admitted").inc()
            return


class _Path:
    """A path that a client watches."""

    __slots__ = ("attributes", "checked_at_seconds", "refused", "request", "sent", "size_bytes", "watched")  # fmt: skip

    def __init__(self, request: MetricRequest, attributes: Attributes, size_bytes: int) -> None:
        self.request = request
        self.attributes = attributes
        self.size_bytes = size_bytes
        self.watched: Watched | None = None
        """None while it is not known if the client may read it, and while it may not."""
        self.sent: object = None
        """What the client has: a version of what is watched, or the refusal."""
        self.refused: StatusError | None = None
        """Why the client may not read it. It stays after that has ended, until a round has evaluated the path."""
        self.checked_at_seconds = float("-inf")

    def unsent(self, number: int, is_evaluated: bool) -> StreamedResponse | None:
        """What the client does not have yet, at the end of a round. `is_evaluated`: whether the round had the path at its beginning."""
        watched = self.watched
        if is_evaluated and watched is not None and watched.version:
            self.refused = None
            if watched.version == self.sent:
                return None
            self.sent = watched.version
            return StreamedResponse(number, watched.code, msgspec.Raw(watched.body))
        # The round must not confirm what the client has of the time before a refusal.
        if self.refused is None or self.sent is self.refused:
            return None
        self.sent = self.refused
        return _refusal(number, self.refused)


class _Round(msgspec.Struct, frozen=True):
    """The client's time before a round, and the paths that are evaluated in it."""

    as_of: float
    evaluated: frozenset[int]


class _Stream:
    """One client. It is a `RoundListener` of the rounds."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        rounds: Rounds,
        read: Read,
        user: User,
        authorizer: Authorizer,
        review_wait_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._socket = socket
        self._rounds = rounds
        self._read = read
        self._user = user
        self._authorizer = authorizer
        self._review_wait_seconds = review_wait_seconds
        self._monotonic = monotonic
        self._paths: dict[int, _Path] = {}
        self._invalid: dict[int, StreamedResponse] = {}
        self._client_now = 0.0
        self._in_round = _Round(0.0, frozenset())
        self._ended = self._in_round
        self._changed = asyncio.Event()

    def round_begins(self) -> None:
        """Everything that is watched from now on is evaluated in the next round."""
        evaluated = (number for number, path in self._paths.items() if path.watched is not None)
        self._in_round = _Round(self._client_now, frozenset(evaluated))

    def round_ended(self) -> None:
        """Send what has changed."""
        self._ended = self._in_round
        self._changed.set()

    def release(self) -> None:
        """Watch nothing any more."""
        for number in tuple(self._paths):
            self._forget(number)

    async def receive(self) -> None:
        """Follow what the client wants, until it disconnects or sends something else."""
        while True:
            try:
                message = await self._socket.receive(timeout=IDLE_SECONDS)
            except TimeoutError:
                return
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            is_text = message.type is WSMsgType.TEXT
            try:
                self._apply(decode_request(message.data.encode() if is_text else message.data))
            except (msgspec.DecodeError, ValueError):
                telemetry.STREAMS_ENDED.labels("protocol").inc()
                return
            await self._check_rights()

    def _apply(self, request: StreamRequest) -> None:
        """Raises `ValueError` for more paths than one client may watch."""
        self._client_now = request.now
        for number in request.stop:
            self._forget(number)
        for each in request.watch:
            if len(self._paths) + len(self._invalid) >= PATHS_MAX or each.id in self._paths:
                raise ValueError(each.id)
            try:
                self._paths[each.id] = self._new_path(each.path)
            except StatusError as refused:
                self._invalid[each.id] = _small_refusal(each.id, refused)

    def _new_path(self, path: str) -> _Path:
        known = self._read(path)
        if not isinstance(known.request, CustomMetricRequest | ExternalMetricRequest):
            raise bad_request("only custom and external metrics can be watched")
        attributes = attributes_of("GET", *split_url(path))
        texts_bytes = PATH_COPIES * text_bytes(attributes.path)
        size_bytes = PATH_BYTES + texts_bytes + known.selectors_bytes
        if not self._rounds.budget.take(size_bytes):
            raise too_large()
        return _Path(known.request, attributes, size_bytes)

    def _forget(self, number: int) -> None:
        path = self._paths.pop(number, None)
        if path is not None:
            self._rounds.budget.give(path.size_bytes)
            self._stop_watching(path)

    def _stop_watching(self, path: _Path) -> None:
        if path.watched is not None:
            self._rounds.release(path.watched)
            path.watched = None
            path.sent = None  # Its next versions are counted from the beginning.

    async def send_updates(self, request: web.Request, send_seconds: float) -> None:
        """What has changed, after each round. Ends when the client does not read it in time."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            ended = self._ended
            try:
                await self._check_rights()
                async with asyncio.timeout(send_seconds):
                    await self._send_changes(ended.evaluated)
                    await self._socket.send_bytes(encode(StreamUpdate(as_of=ended.as_of)))
            except TimeoutError:
                telemetry.STREAMS_ENDED.labels("slow_client").inc()
                if request.transport is not None:
                    request.transport.abort()
                return

    async def _send_changes(self, evaluated: frozenset[int]) -> None:
        responses: list[StreamedResponse] = []
        size = 0
        for response in self._unsent(evaluated):
            responses.append(response)
            size += len(bytes(response.body))
            if size >= UPDATE_BYTES:
                await self._socket.send_bytes(encode(StreamUpdate(responses=tuple(responses))))
                responses, size = [], 0
        if responses:
            await self._socket.send_bytes(encode(StreamUpdate(responses=tuple(responses))))

    def _unsent(self, evaluated: frozenset[int]) -> Iterator[StreamedResponse]:
        invalid, self._invalid = self._invalid, {}
        yield from invalid.values()
        # Those that were refused are not evaluated. The client may stop some meanwhile.
        for number, path in tuple(self._paths.items()):
            response = path.unsent(number, number in evaluated)
            if response is not None:
                yield response

    async def _check_rights(self) -> None:
        """Refuse the paths that may no longer be read, and those for which that cannot be reviewed, as a GET is refused then."""
        now_seconds = self._monotonic()
        due = [
            number
            for number, each in self._paths.items()
            if now_seconds - each.checked_at_seconds >= RECHECK_SECONDS
        ]
        numbers = iter(due)
        reviews = min(len(due), REVIEWS_MAX)
        await asyncio.gather(*(self._check_all(numbers, now_seconds) for _ in range(reviews)))

    async def _check_all(self, numbers: Iterator[int], now_seconds: float) -> None:
        for number in numbers:
            await self._check(number, now_seconds)

    async def _check(self, number: int, now_seconds: float) -> None:
        path = self._paths.get(number)
        if path is None:
            return
        refused: StatusError | None = None
        is_reviewed = True
        try:
            async with asyncio.timeout(self._review_wait_seconds):
                await self._authorizer.authorize(self._user, path.attributes)
            if path.watched is None and self._paths.get(number) is path:
                path.watched = self._rounds.watch(path.request)
                # The equal one that is evaluated: it stays as long as one of its paths, which count it.
                path.request = path.watched.known.request
        except TimeoutError:
            why = f"the review of this permission takes more than {self._review_wait_seconds:g} s: send a GET"
            refused, is_reviewed = send_a_get(why, is_temporary=True), False
        except StatusError as error:
            refused = error
        except Unavailable as error:
            refused, is_reviewed = as_status(error), False
        if refused is not None:
            # The first one stays until the path is watched again, so that it is sent once.
            if path.refused is None or path.watched is not None:
                path.refused = refused.with_traceback(None)
            self._stop_watching(path)
        if is_reviewed:
            path.checked_at_seconds = now_seconds


def _refusal(number: int, error: StatusError) -> StreamedResponse:
    return StreamedResponse(number, error.code, msgspec.Raw(encode(error.to_status())))


def _small_refusal(number: int, error: StatusError) -> StreamedResponse:
    """One that quotes a long path says only that a GET must be sent."""
    found = _refusal(number, error)
    return found if len(bytes(found.body)) <= REFUSAL_BYTES_MAX else _refusal(number, too_large())
