"""`/watch/metrics`: a WebSocket over which a client gets the metrics that have changed (see `wire.api.metric_stream`).

Access to the path is checked before, as for every path. Access to each metric is checked as for a GET, and again while it
is watched, and so are the credentials. What waits to be sent is at most the newest response of each path; a client that
does not read it in time is disconnected.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import WSMsgType, web

from adapter import telemetry
from adapter.answer import KnownRequest
from adapter.model import CustomMetricRequest, ExternalMetricRequest
from adapter.watching.rounds import Rounds, Watched
from wire.api.metric_stream import (
    PATH,
    PATHS_MAX,
    REQUEST_BYTES_MAX,
    StreamedResponse,
    StreamRequest,
    StreamUpdate,
    decode_request,
    encode,
)
from wire.api.status import StatusError, Unavailable, bad_request, failure
from wire.serving.access_guard import USER
from wire.serving.attributes import Attributes, User, attributes_of
from wire.serving.authentication import Authenticator
from wire.serving.authorization import Authorizer
from wire.serving.rendering import as_status
from wire.serving.request_path import split_url

STREAMS_MAX: Final = 64
RECHECK_SECONDS: Final = 5.0
"""How often the permission for a path is checked again. A decision of kube-apiserver is reused for its TTL, as for GETs."""
SEND_SECONDS: Final = 5.0
UPDATE_BYTES: Final = 1 << 20
"""Of one message, unless a single response is larger."""
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
        authenticator: Authenticator,
        authorizer: Authorizer,
        *,
        send_seconds: float = SEND_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`send_seconds`: how long a client may take to read what was sent after a round."""
        self._rounds = rounds
        self._read = read
        self._send_seconds = send_seconds
        self._sleep = sleep
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._monotonic = monotonic
        self._open: set[web.WebSocketResponse] = set()

    def add_route(self, app: web.Application) -> None:
        """Serve it."""
        app.router.add_get(PATH, self._serve)

    async def close(self) -> None:
        """End every stream, so that its client connects to another replica at once."""
        for each in tuple(self._open):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await each.close(code=1001, message=b"the adapter stops")

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if len(self._open) >= STREAMS_MAX:
            raise failure(429, f"{STREAMS_MAX} clients watch metrics already")
        socket = web.WebSocketResponse(max_msg_size=REQUEST_BYTES_MAX, compress=False)
        if not socket.can_prepare(request):
            raise bad_request(f"{PATH} is a WebSocket")
        await socket.prepare(request)
        stream = _Stream(
            socket, self._rounds, self._read, request[USER], self._authorizer, self._monotonic
        )
        self._open.add(socket)
        telemetry.STREAMS.set(len(self._open))
        self._rounds.join(stream)
        tasks = [
            asyncio.create_task(stream.send_updates(request, self._send_seconds)),
            asyncio.create_task(stream.receive()),
            asyncio.create_task(self._stay_authenticated(request)),
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

    async def _stay_authenticated(self, request: web.Request) -> None:
        """Until the credentials are no longer valid."""
        while True:
            await self._sleep(RECHECK_SECONDS)
            with contextlib.suppress(Unavailable):
                try:
                    await self._authenticator.authenticate(request)
                except StatusError:
                    telemetry.STREAMS_ENDED.labels("not_admitted").inc()
                    return


class _Path:
    """A path that a client watches."""

    __slots__ = ("attributes", "checked_at_seconds", "refused", "sent", "watched")

    def __init__(self, attributes: Attributes, watched: Watched) -> None:
        self.attributes = attributes
        self.watched = watched
        self.sent: object = None
        """What the client has: a version, or the refusal."""
        self.refused: StatusError | None = None
        self.checked_at_seconds = float("-inf")

    @property
    def is_checked(self) -> bool:
        """Whether it is known if the client may read it."""
        return self.refused is not None or self.checked_at_seconds > float("-inf")


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
        monotonic: Callable[[], float],
    ) -> None:
        self._socket = socket
        self._rounds = rounds
        self._read = read
        self._user = user
        self._authorizer = authorizer
        self._monotonic = monotonic
        self._paths: dict[int, _Path] = {}
        self._invalid: dict[int, StatusError] = {}
        self._client_now = 0.0
        self._in_round = _Round(0.0, frozenset())
        self._ended = self._in_round
        self._changed = asyncio.Event()

    def round_begins(self) -> None:
        """Everything that is watched from now on is evaluated in the next round."""
        self._in_round = _Round(self._client_now, frozenset(self._paths))

    def round_ended(self) -> None:
        """Send what has changed."""
        self._ended = self._in_round
        self._changed.set()

    def release(self) -> None:
        """Watch nothing any more."""
        for path in self._paths.values():
            self._rounds.release(path.watched)
        self._paths.clear()

    async def receive(self) -> None:
        """Follow what the client wants, until it disconnects or sends something else."""
        while True:
            try:
                message = await self._socket.receive(timeout=IDLE_SECONDS)
            except TimeoutError:
                return
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            try:
                self._apply(decode_request(message.data))
            except (msgspec.DecodeError, ValueError):
                telemetry.STREAMS_ENDED.labels("protocol").inc()
                return

    def _apply(self, request: StreamRequest) -> None:
        """Raises `ValueError` for more paths than one client may watch."""
        self._client_now = request.now
        for number in request.stop:
            path = self._paths.pop(number, None)
            if path is not None:
                self._rounds.release(path.watched)
        for each in request.watch:
            if len(self._paths) + len(self._invalid) >= PATHS_MAX or each.id in self._paths:
                raise ValueError(each.id)
            try:
                self._paths[each.id] = self._new_path(each.path)
            except StatusError as refused:
                self._invalid[each.id] = refused

    def _new_path(self, path: str) -> _Path:
        known = self._read(path)
        if not isinstance(known.request, CustomMetricRequest | ExternalMetricRequest):
            raise bad_request("only custom and external metrics can be watched")
        return _Path(attributes_of("GET", *split_url(path)), self._rounds.watch(known))

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
        for number, refused in self._invalid.items():
            responses.append(_refusal(number, refused))
        self._invalid.clear()
        for number in evaluated:
            path = self._paths.get(number)
            if path is None or not path.is_checked:
                continue
            state = path.refused or path.watched.version
            if state == path.sent:
                continue
            path.sent = state
            if path.refused is not None:
                response = _refusal(number, path.refused)
            else:
                response = StreamedResponse(
                    number, path.watched.code, msgspec.Raw(path.watched.body)
                )
            responses.append(response)
            size += len(bytes(response.body))
            if size >= UPDATE_BYTES:
                await self._socket.send_bytes(encode(StreamUpdate(responses=tuple(responses))))
                responses, size = [], 0
        if responses:
            await self._socket.send_bytes(encode(StreamUpdate(responses=tuple(responses))))

    async def _check_rights(self) -> None:
        """Refuse the paths that may no longer be read, and those for which that cannot be reviewed, as a GET is refused then."""
        now_seconds = self._monotonic()
        due = [
            each
            for each in self._paths.values()
            if now_seconds - each.checked_at_seconds >= RECHECK_SECONDS
        ]
        for first in range(0, len(due), 64):
            await asyncio.gather(
                *(self._check(each, now_seconds) for each in due[first : first + 64])
            )

    async def _check(self, path: _Path, now_seconds: float) -> None:
        try:
            await self._authorizer.authorize(self._user, path.attributes)
        except StatusError as refused:
            path.refused = path.refused or refused
        except Unavailable as error:
            path.refused = path.refused or as_status(error)
            return
        else:
            path.refused = None
        path.checked_at_seconds = now_seconds


def _refusal(number: int, error: StatusError) -> StreamedResponse:
    return StreamedResponse(number, error.code, msgspec.Raw(encode(error.to_status())))
