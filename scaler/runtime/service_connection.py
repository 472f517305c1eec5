"""The direct connection to one Service of a metrics API: whether it works, with which credentials, and what the adapter offers.

It is checked every few seconds, so that an adapter that is away costs one failed request and not one for each metric.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from scaler.runtime.metrics_services import Address
from scaler.runtime.websocket import WebSocket
from wire.api.offers import offers_in
from wire.api.status import StatusError, Unavailable
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.requests import Reader
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.problem_log import ProblemLog

# Between two checks of a connection that works, and how long the adapter may take for one.
CHECK_SECONDS: Final = 5.0
CHECK_WAIT_SECONDS: Final = 4.0
# The pauses while it fails. kube-apiserver also says when it reaches the Service again.
RETRIES: Final = BackoffLimits(initial_seconds=1.0, max_seconds=120.0, jitter_ratio=0.2)
# A connection that has worked for so long begins with the shortest pause again.
STEADY_SECONDS: Final = 60.0
# How often `/version` is read again: the adapter may be upgraded behind its Service.
OFFERS_SECONDS: Final = 60.0

NOT_AUTHENTICATED: Final = 401

log = logging.getLogger(__name__)


class AdapterClient(Reader, Protocol):
    """A client of an adapter. `MetricsClient` is one."""

    def websocket(self, path: str) -> AbstractAsyncContextManager[WebSocket]: ...

    async def close(self) -> None: ...


Connect = Callable[[Address, str], Awaitable[AdapterClient]]
"""Makes a client with credentials for this audience, empty for that of kube-apiserver. Raises `ConnectionConfigError`."""


class ServiceConnection:
    """Run `run()` as a task."""

    def __init__(
        self,
        address: Address,
        *,
        connect: Connect,
        audiences: tuple[str, ...],
        on_change: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`audiences`: of the tokens to try, in this order. `on_change`: it works, it does not any more, or it offers something else."""
        self.address = address
        self._connect = connect
        self._audiences = audiences
        self._on_change = on_change
        self._monotonic = monotonic
        self._connected: AdapterClient | None = None
        self._accepted = ""
        """The audience of the connection."""
        self._works = False
        self._works_since_seconds = 0.0
        self._failure: str | None = None
        self._offers: frozenset[str] = frozenset()
        self._offers_at_seconds = float("-inf")
        self._wakes = asyncio.Event()
        name = address.service_name
        self._problem = ProblemLog(
            log,
            failing=f"metrics are read through kube-apiserver, not from Service {name} directly",
            recovered=f"metrics are read directly from the adapter, Service {name}",
        )
        self._problem.problem = "not connected yet"

    @property
    def client(self) -> AdapterClient | None:
        """A client of the adapter, while the connection works."""
        return self._connected if self._works else None

    @property
    def problem(self) -> str | None:
        """Why it does not work."""
        return self._problem.problem

    def offers(self, name: str) -> bool:
        """Whether the adapter has said so (`wire.api.offers`)."""
        return name in self._offers

    def failed(self, reader: Reader, problem: str) -> None:
        """A request had no response, or was not authenticated: nothing is sent until a check succeeds, after a pause."""
        if reader is self._connected and self._works:
            self._failure = problem
            self._become(problem)
            self._wakes.set()

    def check_now(self) -> None:
        """Do not wait for the end of the pause."""
        self._wakes.set()

    async def run(self) -> None:
        """Check the connection. Ends only by cancellation; then it is closed."""
        backoff = Backoff(RETRIES)
        try:
            while True:
                self._wakes.clear()
                problem, self._failure = self._failure or await self._check(), None
                self._become(problem)
                if problem is None:
                    if self._monotonic() - self._works_since_seconds > STEADY_SECONDS:
                        backoff.reset()
                    await self._pause(CHECK_SECONDS)
                else:
                    await self._pause(backoff.next_seconds())
        finally:
            self._works = False
            await self._disconnect()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wakes.wait()

    async def _check(self) -> str | None:
        """Connect, or connect again, where necessary; what is wrong, or None."""
        audiences = self._audiences if self._connected is None else (self._accepted,)
        problem = ""
        for audience in audiences:
            try:
                async with asyncio.timeout(CHECK_WAIT_SECONDS):
                    await self._exchange(audience)
            except TimeoutError:
                return f"{self.address.url} did not respond within {CHECK_WAIT_SECONDS:g} s"
            except ConnectionConfigError as error:
                return str(error)
            except Unavailable as error:
                return error.message
            except StatusError as error:
                problem = f"{self.address.url}: {error.message}"
                if error.code != NOT_AUTHENTICATED:
                    return problem
                await self._disconnect()
            except Exception as error:
                # A bug, or what the registration of an adapter has in it: kube-apiserver responds.
                log.exception("the direct connection to %s failed", self.address.service_name)
                return f"{self.address.url}: {error}"
            else:
                return None
        return f"{problem}. An adapter needs permission to create tokenreviews (ClusterRole system:auth-delegator)"

    async def _exchange(self, audience: str) -> None:
        if self._connected is None:
            self._connected = await self._connect(self.address, audience)
            self._accepted = audience
            self._offers_at_seconds = float("-inf")
        await self._connected.get("/readyz")
        if self._monotonic() - self._offers_at_seconds >= OFFERS_SECONDS:
            self._offers = await self._read_offers(self._connected)
            self._offers_at_seconds = self._monotonic()

    async def _read_offers(self, client: AdapterClient) -> frozenset[str]:
        try:
            return offers_in(await client.get("/version"))
        except StatusError as error:
            if error.code == NOT_AUTHENTICATED:
                raise
            return frozenset()

    def _become(self, problem: str | None) -> None:
        works = problem is None
        if works and not self._works:
            self._works_since_seconds = self._monotonic()
        self._works = works
        self._problem.set(problem)
        self._on_change()

    async def _disconnect(self) -> None:
        client, self._connected = self._connected, None
        if client is not None:
            await client.close()
