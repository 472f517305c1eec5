"""How far the LISTs of a collection are: whether the first one is complete or was refused, and whether another one was requested."""

import asyncio


class ListProgress:
    """Of one collection."""

    def __init__(self) -> None:
        self._synced = asyncio.Event()
        self._listed_or_refused = asyncio.Event()
        self._attempted = asyncio.Event()
        self._requested = 0
        self._complete = 0
        self._completed = asyncio.Event()
        self._watching: asyncio.Timeout | None = None

    @property
    def is_synced(self) -> bool:
        """Whether the first LIST is complete."""
        return self._synced.is_set()

    @property
    def is_refused(self) -> bool:
        """Whether there was no LIST yet, because the client may not list."""
        return self._listed_or_refused.is_set() and not self.is_synced

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
        """List again, and wait until a LIST is complete that began afterwards."""
        self._requested += 1
        wanted = self._requested
        if self._watching is not None:
            self._watching.reschedule(asyncio.get_running_loop().time())
        while self._complete < wanted:
            await self._completed.wait()

    @property
    def _is_list_due(self) -> bool:
        return self._complete < self._requested

    def _list_ended(self, requested: int) -> None:
        """`requested`: how many LISTs had been requested when it began."""
        self._complete = requested
        self._completed.set()
        self._completed = asyncio.Event()
        for event in (self._synced, self._listed_or_refused, self._attempted):
            event.set()
