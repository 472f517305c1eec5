"""How far the LISTs of a collection are: whether the first one is complete or was refused, and whether another one was requested."""

import asyncio
from collections.abc import Awaitable, Callable

from wire.process.first_of import first_of


class ListProgress:
    """Of one collection."""

    def __init__(self, *, is_part: bool) -> None:
        """`is_part`: another LIST may be requested, because the copy is that of a part, which may grow."""
        self._is_part = is_part
        self._synced = asyncio.Event()
        self._listed_or_refused = asyncio.Event()
        self._attempted = asyncio.Event()
        self._is_last_refused = False
        self._requested = 0
        self._complete = 0
        self._completed = asyncio.Event()
        self._wakes = asyncio.Event()
        """Set by each request, and cleared by those who wait for it."""

    @property
    def is_synced(self) -> bool:
        """Whether the first LIST is complete."""
        return self._synced.is_set()

    @property
    def is_refused(self) -> bool:
        """Whether there was no LIST yet, because the client may not list."""
        return self._listed_or_refused.is_set() and not self.is_synced

    @property
    def is_last_refused(self) -> bool:
        """Whether the client may not list any more, or never could: a LIST was refused, and none was complete since."""
        return self._is_last_refused

    async def synced(self) -> None:
        """Wait for the first LIST."""
        await self._synced.wait()

    async def attempted(self) -> None:
        """Wait until the first LIST is complete, or has failed."""
        await self._attempted.wait()

    async def listed_unless_forbidden(self) -> bool:
        """Wait for the first LIST, or until the API server has said that the client may not list: then False.

        Any other failure, and a server that does not respond, is waited out.
        """
        await self._listed_or_refused.wait()
        return self.is_synced

    def forget_refusal(self) -> None:
        """The client may have got the permission: `listed_unless_forbidden` waits for the next attempt."""
        if not self.is_synced:
            self._listed_or_refused.clear()

    async def relisted(self) -> None:
        """List a part again, and wait until a LIST is complete that began afterwards."""
        self._requested += 1
        wanted = self._requested
        self._wakes.set()
        while self._complete < wanted:
            await self._completed.wait()

    @property
    def _is_list_due(self) -> bool:
        return self._complete < self._requested

    async def _list_due(self) -> None:
        """Wait until a LIST is requested that is not complete."""
        while not self._is_list_due:
            self._wakes.clear()
            await self._wakes.wait()

    async def _pause(self, sleep: Callable[[float], Awaitable[None]], seconds: float) -> None:
        """Until then, or until a LIST is requested."""
        if not self._is_part:
            await sleep(seconds)
            return

        async def sleeping() -> None:
            await sleep(seconds)

        self._wakes.clear()
        await first_of(sleeping(), self._wakes.wait())

    def _list_refused(self) -> None:
        self._is_last_refused = True
        self._listed_or_refused.set()

    def _list_ended(self, requested: int) -> None:
        """`requested`: how many LISTs had been requested when it began."""
        self._is_last_refused = False
        self._complete = requested
        self._completed.set()
        self._completed = asyncio.Event()
        for event in (self._synced, self._listed_or_refused, self._attempted):
            event.set()
