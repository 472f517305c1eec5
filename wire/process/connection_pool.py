"""Pooled connections that are given up together: when one of them turns out to be dead, the others mostly are, too.

After a failover of a virtual IP, or after the pod behind a Service was replaced, each idle connection is answered with RST.
A request that is repeated must not find the next one of them.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp

from wire.process.single_attempt import ClosedBeforeResponse


class ConnectionPool:
    """A session of aiohttp, and after a connection was closed unexpectedly another one, without the connections before it."""

    def __init__(self, new_session: Callable[[], aiohttp.ClientSession]) -> None:
        self._new_session = new_session
        self._newest: aiohttp.ClientSession | None = None
        self._users: dict[aiohttp.ClientSession, int] = {}

    @asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """For one request. Raises what `new_session` raises."""
        if self._newest is None:
            self._newest = self._new_session()
        used = self._newest
        self._users[used] = self._users.get(used, 0) + 1
        try:
            yield used
        except aiohttp.ClientConnectorError:
            raise
        except (ClosedBeforeResponse, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if used is self._newest:
                self._newest = None
            raise
        finally:
            if used in self._users:  # not closed meanwhile
                self._users[used] -= 1
                if used is not self._newest and self._users[used] == 0:
                    await self._close(used)

    async def close(self) -> None:
        """Close every connection, also of requests that have not ended."""
        newest, self._newest = self._newest, None
        if newest is not None:
            self._users.setdefault(newest, 0)
        for each in tuple(self._users):
            del self._users[each]
            await each.close()

    async def _close(self, session: aiohttp.ClientSession) -> None:
        """Without waiting for a server that may be gone."""
        del self._users[session]
        if session.connector is not None:
            await session.connector.close(abort_ssl=True)
