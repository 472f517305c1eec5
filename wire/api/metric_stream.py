"""The messages of the stream of changed metrics: JSON over a WebSocket at `PATH` of the adapter.

The client names the paths that it would otherwise GET. The adapter evaluates all of them in rounds, and sends the responses that
have changed. A round confirms all others: they are what a GET would have returned after the client's time `as_of`.
"""

from typing import Final

import msgspec

from wire.api import kube_json
from wire.api.status import StatusDetails, StatusError, failure, from_response

PATH: Final = "/watch/metrics"

PATHS_MAX: Final = 50_000
"""What one client may watch. An adapter ends the stream of one that watches more."""
PATHS_MAX_BY_DEFAULT: Final = 20_000
"""The same of an adapter that does not offer `wire.api.offers.LARGE_METRIC_STREAM`."""
REQUEST_BYTES_MAX: Final = 1 << 20
"""Of a client's message."""


class WatchedPath(msgspec.Struct, frozen=True):
    """A path of the metrics APIs with its query, as in a GET. The client chooses the number."""

    id: int
    path: str


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From the client. `now` is the time of its own clock, in seconds on any scale."""

    now: float
    watch: tuple[WatchedPath, ...] = ()
    stop: tuple[int, ...] = ()


class StreamedResponse(msgspec.Struct, frozen=True):
    """What a GET of the path would have returned: the status code and the body."""

    id: int
    code: int
    body: msgspec.Raw


class StreamUpdate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From the adapter. `as_of` is the newest `now` that had arrived before the round; None before the end of a round."""

    responses: tuple[StreamedResponse, ...] = ()
    as_of: float | None = None


def send_a_get(why: str, *, is_temporary: bool) -> StatusError:
    """429, in place of a response: the client sends a GET instead. `is_temporary`: it should continue to watch the path."""
    details = StatusDetails(retry_after_seconds=1) if is_temporary else None
    return failure(429, why, details)


def goes_on(response: StreamedResponse) -> bool:
    """Whether a path without a response should be watched nevertheless, because it will soon have one."""
    if response.code != 429:
        return False
    status = from_response(response.code, bytes(response.body)).details
    return status is not None and status.retry_after_seconds > 0


def decode_request(message: bytes) -> StreamRequest:
    """Raises `msgspec.DecodeError`. Not with `kube_json`, where clients could take the time that an unusual document takes."""
    try:
        return _request_decoder.decode(message)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def decode_update(message: bytes) -> StreamUpdate:
    """Raises `msgspec.DecodeError`."""
    return kube_json.decode(message, StreamUpdate)


_request_decoder: Final = msgspec.json.Decoder(StreamRequest)
encode = msgspec.json.encode
