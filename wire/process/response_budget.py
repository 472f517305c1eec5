"""What the responses that are being read and decoded may take in memory together, in the whole process.

Small responses are free: the limits on concurrent requests bound them. Of the others, as many are read at a time as fit; one that
needs more is read alone.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Self


class ResponseTooLarge(Exception):
    """A single response takes more than it may."""


_decoding: ContextVar["_Decoding | None"] = ContextVar("decoding", default=None)


@contextmanager
def until_decoded() -> Iterator[None]:
    """The bodies that are read in this block count until its end: they are decoded in it, with pauses in which others are read."""
    decoding = _Decoding()
    token = _decoding.set(decoding)
    try:
        yield
    finally:
        _decoding.reset(token)
        decoding.end()


class ResponseBudget:
    """The budget of one process. Use it within one event loop."""

    def __init__(self, bytes_max: int, *, response_bytes_max: int, free_bytes: int) -> None:
        """`bytes_max`: of all responses, without the first part of each, and beside one that may need more.

        `response_bytes_max`: of a single one. `free_bytes`: what each may take without being counted.
        """
        self.bytes_max = bytes_max
        self.response_bytes_max = response_bytes_max
        self.free_bytes = free_bytes
        self.used_bytes = 0
        self._exceeding: Claim | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    def claim(self) -> "Claim":
        """The share of a response that is about to be read."""
        return Claim(self)

    async def take(self, claim: "Claim", size_bytes: int) -> None:
        """Wait until it fits. One response at a time gets what it needs: of several that wait for each other, none would end."""
        while not self._fits(claim, size_bytes):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self.used_bytes += size_bytes
        claim.counted_bytes += size_bytes

    def give_back(self, claim: "Claim") -> None:
        """The response has been read, or has failed."""
        self.used_bytes -= claim.counted_bytes
        if self._exceeding is claim:
            self._exceeding = None
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _fits(self, claim: "Claim", size_bytes: int) -> bool:
        """The one that exceeds is beside the others: its server may have stopped in the middle of it."""
        if self._exceeding is claim:
            return True
        beside_bytes = self._exceeding.counted_bytes if self._exceeding is not None else 0
        if self.used_bytes - beside_bytes + size_bytes <= self.bytes_max:
            return True
        if self._exceeding is None:
            self._exceeding = claim
        return self._exceeding is claim


class Claim:
    """What one response takes, while it is entered."""

    def __init__(self, budget: ResponseBudget) -> None:
        self._budget = budget
        self.counted_bytes = 0
        """Its part of the budget."""
        self.size_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        decoding = _decoding.get() if error is None else None
        if decoding is None or decoding.has_ended:
            self.give_back()
        else:
            decoding.claims.append(self)

    def give_back(self) -> None:
        """Its body is not needed any more."""
        if self.counted_bytes:
            self._budget.give_back(self)

    @property
    def size_bytes_max(self) -> int:
        """What a single response may take."""
        return self._budget.response_bytes_max

    async def grow(self, size_bytes: int) -> None:
        """It takes so much more: wait until it fits. Raises `ResponseTooLarge`."""
        self.size_bytes += size_bytes
        if self.size_bytes > self._budget.response_bytes_max:
            raise ResponseTooLarge
        counted_bytes = max(0, self.size_bytes - self._budget.free_bytes)
        more_bytes = counted_bytes - self.counted_bytes
        if more_bytes:
            await self._budget.take(self, more_bytes)


class _Decoding:
    """The claims whose bodies are being decoded. A task that goes on after the end keeps none."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.has_ended = False

    def end(self) -> None:
        self.has_ended = True
        for each in self.claims:
            each.give_back()
