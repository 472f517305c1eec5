"""Responses that are sent piece by piece, as fast as the client reads them, and what all of them may take in memory.

aiohttp would hand over a whole body at once, which TLS and the socket copy, and would keep it until the next request of the connection.
"""

import asyncio
import itertools
import math
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from wire.api.status import Unavailable
from wire.process.byte_budget import ByteBudget

LARGE_BYTES: Final = 64 << 10
"""Smaller ones are not counted: a connection takes as much."""
SENDING_BYTES_MAX: Final = 48 << 20
CONVERTING_BYTES_MAX: Final = 16 << 20
"""What all large responses of the process may take, of which one may take everything (see `adapter.caches`): those in JSON, and those
that are converted to YAML, one after the other."""
WRITE_BYTES: Final = 64 << 10
RETRY_AFTER_SECONDS: Final = 1.0
"""A response is sent within milliseconds, unless its client reads slowly."""
SLOW_SECONDS: Final = 5.0
"""A response that takes longer is ended when another one needs its place: otherwise a client that reads slowly keeps it from all."""


class SendingBudget(ByteBudget):
    """What large responses take while they are sent."""

    def __init__(self, bytes_max: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(bytes_max)
        self.monotonic = monotonic
        self._numbers = itertools.count()
        self._responses: weakref.WeakValueDictionary[int, LargeResponse] = (
            weakref.WeakValueDictionary()
        )

    def begin(self, response: "LargeResponse", size_bytes: int) -> bool:
        """False if it does not fit beside the others, and none of them is slow."""
        while not self.take(size_bytes):
            since_seconds = self.monotonic() - SLOW_SECONDS
            # In the order in which they have begun.
            slow = [
                each for each in self._responses.values() if each.began_seconds <= since_seconds
            ]
            if not slow:
                return False
            slow[0].end()
        if size_bytes:
            # One that takes nothing makes no place.
            self._responses[next(self._numbers)] = response
        return True


class LargeResponse(web.Response):
    """It is counted until it was sent, or dropped."""

    def __init__(
        self, pieces: Iterable[bytes], *, content_type: str, own_bytes: int, budget: SendingBudget
    ) -> None:
        """`own_bytes`: what it takes in memory. Raises `Unavailable` if that does not fit beside the others."""
        self.began_seconds = math.inf
        """When the first bytes were sent, by the monotonic clock; infinite before that, and after the end."""
        self._monotonic = budget.monotonic
        self._transport: asyncio.Transport | None = None
        if not budget.begin(self, own_bytes):
            raise Unavailable(
                f"other large responses are being sent, and this one has {own_bytes / (1 << 20):.1f} MiB: try again",
                retry_after_seconds=RETRY_AFTER_SECONDS,
            )
        super().__init__(headers={"Content-Type": content_type})
        self._release = weakref.finalize(self, budget.give, own_bytes)
        self._pieces = deque(pieces)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Say how long it is."""
        self.headers["Content-Length"] = str(sum(map(len, self._pieces)))
        if request.method == "HEAD":
            self._pieces.clear()
        self.began_seconds = self._monotonic()
        self._transport = request.transport
        return await super().prepare(request)

    async def write_eof(self, data: bytes = b"") -> None:
        """Send it."""
        try:
            for block in _blocks(self._pieces):
                await self.write(block)
            await super().write_eof(data)
        finally:
            self._drop()

    def end(self) -> None:
        """Send nothing more, and close the connection, so that the client does not take it for complete."""
        if self._transport is not None:
            self._transport.abort()
        self._drop()

    def _drop(self) -> None:
        self.began_seconds = math.inf
        self._pieces.clear()
        self._release()


def _blocks(pieces: deque[bytes]) -> Iterator[bytes | memoryview]:
    """The pieces, which are taken out, in blocks of `WRITE_BYTES` at most."""
    small: list[bytes] = []
    size_bytes = 0
    while pieces:
        piece = pieces.popleft()
        if size_bytes + len(piece) > WRITE_BYTES and small:
            yield b"".join(small)
            small, size_bytes = [], 0
        if len(piece) > WRITE_BYTES:
            view = memoryview(piece)
            yield from (
                view[start : start + WRITE_BYTES] for start in range(0, len(piece), WRITE_BYTES)
            )
        else:
            small.append(piece)
            size_bytes += len(piece)
    if small:
        yield b"".join(small)


SENDING: Final = SendingBudget(SENDING_BYTES_MAX)
CONVERTING: Final = SendingBudget(CONVERTING_BYTES_MAX)
