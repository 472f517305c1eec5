"""The connection to loadline-adapter beside kube-apiserver: where it is, by which certificate, and for which API groups.

All of that is read from the APIServices, as kube-apiserver does. A group that another Service serves is never requested
here, since the two could have different metrics of the same name.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import msgspec

from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_options import AdapterOptions
from scaler.runtime.adapter_token import AdapterToken
from scaler.runtime.clients import MetricsClient
from scaler.runtime.flags import Options
from scaler.runtime.websocket import WebSocket
from wire.api.status import StatusError, Unavailable
from wire.kube.api_services import PATH as API_SERVICES
from wire.kube.api_services import APIService
from wire.kube.cache import WatchCache
from wire.kube.connection import ConnectionConfigError, access_source
from wire.kube.requests import Reader, Watcher
from wire.kube.server_connection import connect_to
from wire.process.problem_log import ProblemLog

# kube-apiserver sends a bookmark about once a minute. APIServices that were not confirmed for longer are not relied on.
AGE_SECONDS_MAX: Final = 90.0
# Between two checks of the connection, and how long the adapter may take for one.
CHECK_SECONDS: Final = 5.0
CHECK_WAIT_SECONDS: Final = 4.0

log = logging.getLogger(__name__)


class Address(msgspec.Struct, frozen=True):
    """Where the adapter is. Its certificate is verified with `ca_pem`, for `server_hostname`."""

    url: str
    server_hostname: str
    ca_pem: str


class AdapterClient(Reader, Protocol):
    """A client of the adapter. `MetricsClient` is one."""

    def websocket(self, path: str) -> AbstractAsyncContextManager[WebSocket]: ...

    async def close(self) -> None: ...


Connect = Callable[[Address], Awaitable[AdapterClient]]
"""Makes a client with credentials of the scaler for the adapter. Raises `ConnectionConfigError`."""


def adapter_connection(
    options: Options,
    watches: Watcher,
    telemetry: Telemetry,
    *,
    version: str,
    monotonic: Callable[[], float] = time.monotonic,
) -> "AdapterConnection | None":
    """The connection with credentials of the scaler for the adapter; None without --adapter-service."""
    adapter = options.adapter
    if adapter is None:
        return None

    async def connect(address: Address) -> AdapterClient:
        own = access_source(options.kubeconfig, options.context)
        connection = await connect_to(
            address.url,
            ca_pem=address.ca_pem,
            server_hostname=address.server_hostname,
            source=AdapterToken(own, adapter.token_file, audience=adapter.host),
            user_agent=f"loadline-scaler/{version}",
        )
        return MetricsClient(connection)

    return AdapterConnection(watches, adapter, telemetry, connect=connect, monotonic=monotonic)


class AdapterConnection:
    """Implements `scaler.cluster.metrics.direct_reader.Route`. Run `run()` as a task."""

    def __init__(
        self,
        client: Watcher,
        options: AdapterOptions,
        telemetry: Telemetry,
        *,
        connect: Connect,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`client` watches the APIServices."""
        self._options = options
        self._telemetry = telemetry
        self._connect = connect
        self._changed = asyncio.Event()
        self._is_connected = asyncio.Event()
        self._registrations = WatchCache(
            client,
            API_SERVICES,
            APIService,
            on_change=self._registration_changed,
            monotonic=monotonic,
        )
        self._address: Address | None = None
        self._connected: AdapterClient | None = None
        self._works = False
        self._problem = ProblemLog(
            log,
            failing="metrics are read through kube-apiserver, not from the adapter directly",
            recovered=f"metrics are read directly from the adapter, Service {'/'.join(options.service)}",
        )
        self._problem.problem = "not connected yet"

    def reader(self, group: str, version: str) -> Reader | None:
        """A client of the adapter, if it works and kube-apiserver forwards this group and version to the adapter."""
        if not self._works or self._registrations_problem():
            return None
        found = self._registrations.get("", f"{version}.{group}")
        if found is None or self._address_in(found) != self._address:
            return None
        return self._connected

    def failed(self, reader: Reader, problem: str) -> None:
        """A request had no response: nothing is sent directly until a check succeeds."""
        if reader is self._connected:
            self._set_works(problem)

    @property
    def client(self) -> AdapterClient | None:
        """A client of the adapter, while the connection works."""
        return self._connected if self._works else None

    async def connected(self) -> AdapterClient:
        """Wait until the connection works."""
        while (client := self.client) is None:
            self._is_connected.clear()
            await self._is_connected.wait()
        return client

    async def run(self) -> None:
        """Follow the APIServices, and check the connection. Ends only by cancellation."""
        watching = asyncio.create_task(self._registrations.run(), name=f"watch {API_SERVICES}")
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._registrations.synced()
            while True:
                self._changed.clear()
                self._set_works(await self._check())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await self._changed.wait()
        finally:
            watching.cancel()
            await self._disconnect()

    async def _check(self) -> str | None:
        """Connect, or connect again, where necessary; what is wrong, or None."""
        problem = self._registrations_problem()
        if problem:
            return problem
        address = self._registered_address()
        if isinstance(address, str):
            return address
        try:
            if address != self._address or self._connected is None:
                await self._disconnect()
                self._connected = await self._connect(address)
                self._address = address
            async with asyncio.timeout(CHECK_WAIT_SECONDS):
                await self._connected.get("/readyz")
        except TimeoutError:
            return f"{address.url} did not respond within {CHECK_WAIT_SECONDS:g} s"
        except (ConnectionConfigError, Unavailable, StatusError) as error:
            return f"{address.url}: {error}"
        return None

    def _registrations_problem(self) -> str | None:
        """Why it is not known which API groups the adapter serves."""
        cache = self._registrations
        if not cache.is_synced:
            return cache.last_error or "the APIServices have not been listed yet"
        if cache.last_error or cache.age_seconds > AGE_SECONDS_MAX:
            return cache.last_error or "kube-apiserver has not confirmed the APIServices for long"
        return None

    def _registered_address(self) -> Address | str:
        """The address by the first usable APIService of the adapter; without one, the problem."""
        namespace, name = self._options.service
        problem = f"no APIService of a metrics API names the Service {namespace}/{name}"
        for each in sorted(self._registrations.items, key=lambda found: found.metadata.name):
            service = each.spec.service
            if service and (service.namespace, service.name) == self._options.service:
                address = self._address_in(each)
                if address is not None:
                    return address
                problem = (
                    f"APIService {each.metadata.name} has no caBundle, so the adapter's certificate cannot be verified: "
                    "see `tls` in the values of the adapter's chart"
                )
        return problem

    def _address_in(self, registration: APIService) -> Address | None:
        service, pem = registration.spec.service, registration.trusted_pem
        if service is None or (service.namespace, service.name) != self._options.service:
            return None
        if not pem or registration.spec.insecure:
            return None
        host = self._options.host
        url = self._options.url or f"https://{host}:{service.port or 443}"
        return Address(url, host, pem.decode("ascii", "replace"))

    def _registration_changed(self, old: APIService | None, new: APIService | None) -> None:
        # kube-apiserver updates the status of APIServices too.
        if (old and old.spec) != (new and new.spec):
            self._changed.set()

    def _set_works(self, problem: str | None) -> None:
        self._works = not problem
        if self._works:
            self._is_connected.set()
        self._telemetry.direct_connection.set(self._works)
        self._problem.set(problem)

    async def _disconnect(self) -> None:
        client, self._connected, self._address, self._works = self._connected, None, None, False
        if client is not None:
            await client.close()
