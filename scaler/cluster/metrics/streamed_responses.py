"""The decoded responses of requests that the adapter streams. A response that has not changed is decoded once.

Of a request something is kept exactly as long as the stream watches its path, and so at most while an autoscaler is decided from it.
"""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from scaler.cluster.metrics.metric_requests import MetricRequest
from scaler.cluster.metrics.metric_stream import MetricStream, Streamed
from scaler.cluster.metrics.shared_responses import Sent
from wire.api.status import from_response
from wire.kube.requests import JSON, Reader

# How long the path of a request is taken to be the same: the version of an API and the resource of a kind may change.
PATH_SECONDS: Final = 60.0

Response = TypeVar("Response")


class StreamedReader:
    """A `Reader` for one request: it returns the streamed response of its path, or reads it, and notes the path."""

    def __init__(self, behind: Reader, known_path: str = "", streamed: Streamed | None = None):
        self._behind = behind
        self.known_path = known_path
        """Where the request was read last; empty before that."""
        self.streamed = streamed
        self.path = ""
        """With its query; empty before anything was read."""
        self.was_streamed = False

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError` and `Unavailable`. What is streamed has its parameters in the path."""
        self.path = "" if params else path
        if self.streamed is None or self.path != self.known_path:
            return await self._behind.get(path, params, accept=accept)
        self.was_streamed = True
        if self.streamed.code != 200:
            raise from_response(self.streamed.code, self.streamed.body)
        return self.streamed.body


class _Known(Generic[Response]):
    """The path of a request, and its decoded response."""

    __slots__ = ("decoded", "located_at_seconds", "path", "streamed")

    def __init__(self, path: str, now_seconds: float) -> None:
        self.path = path
        self.located_at_seconds = now_seconds
        self.streamed: Streamed | None = None
        self.decoded: Sent[Response] | None = None


class StreamedResponses(Generic[Response]):
    """Responses by request."""

    def __init__(
        self,
        stream: MetricStream,
        behind: Reader,
        is_followed: Callable[[MetricRequest], bool],
        monotonic: Callable[[], float],
    ) -> None:
        """`behind`: reads what is not streamed; `is_followed`: whether an autoscaler is decided from the request."""
        self._stream = stream
        self._behind = behind
        self._is_followed = is_followed
        self._monotonic = monotonic
        self._known: dict[MetricRequest, _Known[Response]] = {}
        # Several, if the names of their metrics are written in lower case.
        self._requests_of: dict[str, list[MetricRequest]] = {}
        stream.on_drop = self._dropped

    def __len__(self) -> int:
        return len(self._known)

    def find(self, request: MetricRequest, max_age_seconds: float) -> Sent[Response] | None:
        """The response, if it is streamed, confirmed for that age, and decoded or being decoded."""
        known, streamed = self._use(request, max_age_seconds)
        if known is None or streamed is None or known.streamed is not streamed:
            return None
        if self._monotonic() - known.located_at_seconds > PATH_SECONDS:
            return None
        return known.decoded

    def holds(self, request: MetricRequest, max_age_seconds: float) -> bool:
        """Whether the response is streamed, and confirmed for that age."""
        return self._use(request, max_age_seconds)[1] is not None

    def reader(self, request: MetricRequest, max_age_seconds: float) -> StreamedReader:
        """What to read a request with that `find` has not found."""
        known, streamed = self._use(request, max_age_seconds)
        return StreamedReader(self._behind, known.path if known else "", streamed)

    def keep(self, request: MetricRequest, reader: StreamedReader, decoded: Sent[Response]) -> None:
        """The request was read with `reader`: from now on it is watched, and a response that was streamed is used again."""
        known = self._known.get(request)
        if known is not None and known.path != reader.path:
            self.forget(request)
            known = None
        if not (reader.path and self._is_followed(request) and self._stream.watch(reader.path)):
            return
        if known is None:
            known = self._known[request] = _Known(reader.path, self._monotonic())
            self._requests_of.setdefault(reader.path, []).append(request)
        known.located_at_seconds = self._monotonic()
        if reader.was_streamed:
            decoded.was_streamed = True
            known.streamed, known.decoded = reader.streamed, decoded

    def forget(self, request: MetricRequest) -> None:
        """No autoscaler is decided from it any more, or its path has changed."""
        known = self._known.pop(request, None)
        if known is None:
            return
        others = self._requests_of[known.path]
        others.remove(request)
        if not others:
            self._stream.stop(known.path)

    def request_of(self, path: str) -> MetricRequest | None:
        """A request with this path."""
        return next(iter(self._requests_of.get(path, ())), None)

    def _dropped(self, path: str) -> None:
        for request in self._requests_of.pop(path, ()):
            self._known.pop(request, None)

    def _use(
        self, request: MetricRequest, max_age_seconds: float
    ) -> tuple[_Known[Response] | None, Streamed | None]:
        known = self._known.get(request)
        if known is None:
            return None, None
        return known, self._stream.use(known.path, max_age_seconds)
