"""A stream of metrics on a connection between a scaler and the adapter, as the judge reads it along (RFC 6455, section 5.2).

The adapter sends what a GET would have returned, and confirms the rest. Each of that is a response that the scaler has.
"""

from collections.abc import Callable
from urllib.parse import parse_qsl

import msgspec

from tests.simulation.cluster import Document
from tests.simulation.metrics_apis import Measured, decoded, metric_of
from tests.simulation.network import Request
from wire.api.metric_stream import StreamRequest, StreamUpdate, decode_request, decode_update

DATA_OPCODES = (1, 2)
OK = 200


class Frames:
    """The messages in the bytes of one direction."""

    def __init__(self) -> None:
        self._bytes = b""

    def messages(self, data: bytes) -> list[bytes]:
        """Those that are complete with these bytes. Both programs send a message in one frame."""
        self._bytes += data
        found = []
        while (frame := _frame(self._bytes)) is not None:
            opcode, payload, self._bytes = frame
            if opcode in DATA_OPCODES:
                found.append(payload)
        return found


def _frame(data: bytes) -> tuple[int, bytes, bytes] | None:
    """Opcode and payload of the first frame, and what follows it; None if it is not complete."""
    if len(data) < 2:
        return None
    is_masked, length, begin = data[1] & 0x80, data[1] & 0x7F, 2
    if length >= 126:
        size = 2 if length == 126 else 8
        length, begin = int.from_bytes(data[2 : 2 + size]), 2 + size
    mask = data[begin : begin + 4] if is_masked else b"\0\0\0\0"
    begin += 4 if is_masked else 0
    if len(data) < begin + length:
        return None
    payload = data[begin : begin + length]
    repeated = (mask * (length // 4 + 1))[:length]
    plain = (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(length)
    return data[0] & 0x0F, plain, data[begin + length :]


class Streamed(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter has sent, or confirmed, the response for a metric; `sent_at` is when the scaler has sent the time of which it is."""

    measured: Measured
    code: int
    document: Document | None
    sent_at: float
    is_new: bool


class Stream:
    """What one scaler watches, and the newest response to each path."""

    def __init__(self, note: Callable[[Streamed], object]) -> None:
        self._note = note
        self._from_scaler, self._from_adapter = Frames(), Frames()
        self._paths: dict[int, str] = {}
        self._newest: dict[int, Streamed] = {}
        self._sent_at: dict[float, float] = {}

    def sent(self, data: bytes, now: float) -> None:
        """The scaler has sent these bytes."""
        for message in self._from_scaler.messages(data):
            self._watch(decode_request(message), now)

    def received(self, data: bytes, now: float) -> None:
        """The adapter's bytes have arrived."""
        for message in self._from_adapter.messages(data):
            self._update(decode_update(message), now)

    def _watch(self, request: StreamRequest, now: float) -> None:
        self._sent_at[request.now] = now
        for number in request.stop:
            self._paths.pop(number, None)
            self._newest.pop(number, None)
        self._paths.update({each.id: each.path for each in request.watch})

    def _update(self, update: StreamUpdate, now: float) -> None:
        for each in update.responses:
            if each.id in self._paths:
                measured = _measured(self._paths[each.id])
                document = decoded(measured, bytes(each.body)) if each.code == OK else None
                found = Streamed(
                    measured=measured, code=each.code, document=document, sent_at=now, is_new=True
                )
                self._newest[each.id] = found
                self._note(found)
        if update.as_of is None or update.as_of not in self._sent_at:
            return
        sent_at = self._sent_at[update.as_of]
        self._sent_at = {of: at for of, at in self._sent_at.items() if of >= update.as_of}
        for known in self._newest.values():
            self._note(msgspec.structs.replace(known, sent_at=sent_at, is_new=False))


def _measured(path: str) -> Measured:
    """The metric of a path that the scaler watches."""
    plain, _, query = path.partition("?")
    request = Request(
        process="", method="GET", path=plain, params=dict(parse_qsl(query)), headers={}, body=b"", sent_at=0.0,
    )  # fmt: skip
    found = metric_of(request)
    if found is None:
        raise ValueError(f"{path} is not the path of a metric")
    return found
