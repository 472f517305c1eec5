"""The newest responses that the adapter has streamed, and the paths to watch. `scaler.runtime.stream_connection` does the I/O.

A response may be used in place of a GET while the adapter confirms it: it is what a GET would have returned that was sent at
`as_of` by the clock of this process, since the adapter only repeats a time that it received before it evaluated the metric.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from wire.api.metric_stream import (
    PATHS_MAX,
    REQUEST_BYTES_MAX,
    StreamRequest,
    StreamUpdate,
    WatchedPath,
    encode,
    goes_on,
)

DROP_SECONDS: Final = 10.0
UNUSED_SECONDS: Final = 900.0
"""A path whose response was not used for so long is no longer watched."""
REFUSED_SECONDS: Final = 60.0
"""How long a path that the adapter does not stream is not watched again."""
DENIED_SECONDS: Final = 10.0
"""The same without permission, which the adapter cannot check either while kube-apiserver restarts."""
PATH_CHARACTERS_MAX: Final = 8_192
"""With the selectors of ordinary metrics and pods, a path has a few hundred. A longer one is read by GETs."""
PATHS_CHARACTERS_MAX: Final = 32 << 20
"""Of all paths together."""
# Not an answer to the request, but a reason to send it without a stream: kube-apiserver may decide otherwise.
BODIES_BYTES_MAX: Final = 64 << 20
"""Of all responses together. What does not fit is read by GETs, whose memory has a limit of its own."""
NOT_STREAMED: Final = (400, 401, 403, 429)
_ENTRY_BYTES: Final = 64
"""Of a path in a message, beside its text."""


class Streamed(msgspec.Struct, frozen=True, gc=False):
    """A response. It is the same object until the adapter sends another one."""

    code: int
    body: bytes


class _Path:
    """A path that is watched."""

    __slots__ = ("id", "response", "used_at_seconds")

    def __init__(self, number: int, now_seconds: float) -> None:
        self.id = number
        self.used_at_seconds = now_seconds
        self.response: Streamed | None = None

    @property
    def body_bytes(self) -> int:
        """Of the response."""
        return 0 if self.response is None else len(self.response.body)


class MetricStream:
    """What is known by the stream of one connection at a time."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._serves: Callable[[str], bool] = lambda _: False
        self._is_open = False
        self._paths_max = PATHS_MAX
        self._as_of_seconds = float("-inf")
        self._paths: dict[str, _Path] = {}
        self._path_of: dict[int, str] = {}
        self._paths_characters = 0
        self._new: dict[int, WatchedPath] = {}
        self._stopped: list[int] = []
        # By the hash of the path: it is forgotten later than the path itself.
        self._refused_until: dict[int, float] = {}
        self._last_id = 0
        self._with_response = 0
        self._body_bytes = 0
        self._dropped_at_seconds = float("-inf")
        self.on_change: Callable[[str], None] = lambda _: None
        """Called with each path that has another response. The first one may differ from that of the last GET, too."""
        self.on_drop: Callable[[str], None] = lambda _: None
        """Called with each path that is not watched any more, for whatever reason."""

    def __len__(self) -> int:
        return len(self._paths)

    @property
    def responses(self) -> int:
        """How many paths have one."""
        return self._with_response

    def opened(self, serves: Callable[[str], bool], *, paths_max: int = PATHS_MAX) -> None:
        """A connection is open. `serves`: whether its server is the one for this path now. `paths_max`: how many it lets a client watch."""
        self.closed()
        self._is_open = True
        self._paths_max = paths_max
        self._serves = serves

    def closed(self) -> None:
        """The connection is lost: nothing is confirmed any more."""
        self._is_open = False
        self._as_of_seconds = float("-inf")
        for path in list(self._paths):
            self._stop(path)
        self._stopped.clear()

    def watch(self, path: str) -> bool:
        """A GET of this path was sent: watch it, if the stream can. Whether it is watched now."""
        if path in self._paths:
            return True
        now_seconds = self._monotonic()
        if (
            not self._is_open
            or len(self._paths) >= self._paths_max
            or len(path) > min(PATH_CHARACTERS_MAX, PATHS_CHARACTERS_MAX - self._paths_characters)
            or not self._serves(path)
            or self._refused_until.get(hash(path), now_seconds) > now_seconds
        ):
            return False
        self._refused_until.pop(hash(path), None)
        self._last_id += 1
        self._paths[path] = _Path(self._last_id, now_seconds)
        self._path_of[self._last_id] = path
        self._paths_characters += len(path)
        self._new[self._last_id] = WatchedPath(self._last_id, path)
        return True

    def stop(self, path: str) -> None:
        """Nothing is decided from it any more: do not watch it."""
        if path in self._paths:
            self._stop(path)

    def use(self, path: str, max_age_seconds: float) -> Streamed | None:
        """Take the response, if a GET that was sent at most that long ago would have had the same."""
        watched = self._paths.get(path)
        if watched is None or watched.response is None:
            return None
        now_seconds = self._monotonic()
        if now_seconds - self._as_of_seconds > max_age_seconds or not self._serves(path):
            return None
        watched.used_at_seconds = now_seconds
        return watched.response

    def received(self, update: StreamUpdate) -> None:
        """Take what the adapter sent."""
        changed = []
        for each in update.responses:
            path = self._path_of.get(each.id)
            if path is None:
                continue
            watched, body = self._paths[path], bytes(each.body)
            body_bytes = self._body_bytes + len(body) - watched.body_bytes
            if goes_on(each):
                self._withdraw(watched)
                continue
            if each.code in NOT_STREAMED or body_bytes > BODIES_BYTES_MAX:
                wait_seconds = DENIED_SECONDS if each.code in (401, 403) else REFUSED_SECONDS
                self._refused_until[hash(path)] = self._monotonic() + wait_seconds
                self._stop(path)
                continue
            self._body_bytes = body_bytes
            self._with_response += watched.response is None
            changed.append(path)
            watched.response = Streamed(each.code, body)
        if update.as_of is not None:
            # A time of the future, which this process has not sent, would confirm everything until then.
            as_of_seconds = min(update.as_of, self._monotonic())
            self._as_of_seconds = max(self._as_of_seconds, as_of_seconds)
        for path in changed:
            self.on_change(path)

    def requests(self) -> Iterator[bytes]:
        """The messages to send now: the time, and what to watch and to stop, in as many messages as needed."""
        self._drop_unused()
        stop, self._stopped = tuple(self._stopped), []
        new, self._new = self._new, {}
        watch: list[WatchedPath] = []
        size = 0
        for each in new.values():
            size += len(each.path.encode()) + _ENTRY_BYTES
            if size > REQUEST_BYTES_MAX // 2 and watch:
                yield encode(StreamRequest(now=self._monotonic(), watch=tuple(watch), stop=stop))
                watch, stop, size = [], (), len(each.path.encode()) + _ENTRY_BYTES
            watch.append(each)
        yield encode(StreamRequest(now=self._monotonic(), watch=tuple(watch), stop=stop))

    def _drop_unused(self) -> None:
        now_seconds = self._monotonic()
        if now_seconds - self._dropped_at_seconds < DROP_SECONDS:
            return
        self._dropped_at_seconds = now_seconds
        unused_since = now_seconds - UNUSED_SECONDS
        self._refused_until = {
            path: until for path, until in self._refused_until.items() if until >= now_seconds
        }
        for path in [
            path for path, each in self._paths.items() if each.used_at_seconds < unused_since
        ]:
            self._stop(path)

    def _withdraw(self, watched: _Path) -> None:
        """It has no response for now."""
        self._with_response -= watched.response is not None
        self._body_bytes -= watched.body_bytes
        watched.response = None

    def _stop(self, path: str) -> None:
        watched = self._paths.pop(path)
        self._withdraw(watched)
        self._paths_characters -= len(path)
        del self._path_of[watched.id]
        if self._new.pop(watched.id, None) is None:
            self._stopped.append(watched.id)
        self.on_drop(path)
