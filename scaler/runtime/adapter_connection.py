"""The direct connections to the adapters behind the metrics APIs, beside kube-apiserver.

Which Service, at which address, and by which CA is read from the APIServices, as kube-apiserver does. A Service that
cannot be verified or reached, or does not accept a client that may only read metrics, is read through kube-apiserver.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_options import ALWAYS, AdapterOptions
from scaler.runtime.adapter_token import GivenIdentity, RequestedToken
from scaler.runtime.clients import ADAPTER_CONNECTIONS_MAX, Clients, MetricsClient
from scaler.runtime.flags import Options
from scaler.runtime.metrics_services import Address, MetricsServices
from scaler.runtime.service_connection import AdapterClient, Connect, ServiceConnection
from wire.api.offers import EXPLAIN, METRIC_STREAM
from wire.kube.cluster_access import AccessSource
from wire.kube.connection import access_source
from wire.kube.requests import Reader, Watcher
from wire.kube.server_connection import connect_to
from wire.process.problem_log import ProblemLog

# After the start, the first LIST of the APIServices takes a moment.
LIST_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


def adapter_connections(
    options: Options,
    clients: Clients,
    telemetry: Telemetry,
    *,
    version: str,
    monotonic: Callable[[], float] = time.monotonic,
) -> "AdapterConnections | None":
    """The connections with credentials for adapters; None with --adapter-connection=never.

    `clients`: of kube-apiserver, for the APIServices and for tokens.
    """
    adapter = options.adapter
    if adapter is None:
        return None

    def identity(address: Address, audience: str) -> AccessSource:
        if adapter.token_account is not None:
            return RequestedToken(
                clients.requests, adapter.token_account, audience=audience, monotonic=monotonic
            )
        own = access_source(options.kubeconfig, options.context)
        return GivenIdentity(own, adapter, audience=address.server_hostname)

    async def connect(address: Address, audience: str) -> AdapterClient:
        connection = await connect_to(
            address.url,
            ca_pem=address.ca_pem,
            server_hostname=address.server_hostname,
            source=identity(address, audience),
            user_agent=f"loadline-scaler/{version}",
        )
        return MetricsClient(
            connection, clients.metrics.budget, connections_max=ADAPTER_CONNECTIONS_MAX
        )

    return AdapterConnections(
        clients.watches, adapter, telemetry, connect=connect, monotonic=monotonic
    )


class AdapterConnections:
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
        self._gauge = telemetry.direct_connection
        self._connect = connect
        self._monotonic = monotonic
        self._services = MetricsServices(
            client,
            options,
            on_change=self._registered,
            on_available=self._check_now,
            monotonic=monotonic,
        )
        self._connections: dict[Address, ServiceConnection] = {}
        self._tasks: dict[Address, asyncio.Task[None]] = {}
        self._registrations_changed = asyncio.Event()
        self._changed = asyncio.Event()
        self._unused: dict[str, ProblemLog] = {}
        """By the name of the APIService."""
        self._listing = ProblemLog(
            log,
            failing="metrics are read through kube-apiserver, since the APIServices cannot be read. The scaler needs permission to "
            "list and watch them, which its chart grants, or --adapter-connection=never",
            recovered="the APIServices can be read",
        )

    def reader(self, group: str, version: str) -> Reader | None:
        """A client of the adapter to which kube-apiserver forwards this group and version, if its connection works."""
        address = self._services.address(group, version)
        connection = None if address is None else self._connections.get(address)
        return None if connection is None else connection.client

    def failed(self, reader: Reader, problem: str) -> None:
        """A request had no response, or was not authenticated."""
        for each in self._connections.values():
            each.failed(reader, problem)

    def streaming(self) -> AdapterClient | None:
        """A client of an adapter that streams metrics; of the first one by name, if there are several."""
        return self._offering(METRIC_STREAM, is_assumed=self._options.streams == ALWAYS)

    def offers(self, client: AdapterClient, name: str) -> bool:
        """Whether the adapter of this client has said that it offers this (`wire.api.offers`)."""
        return any(
            each.client is client and each.offers(name) for each in self._connections.values()
        )

    def explaining(self) -> AdapterClient | None:
        """A client of an adapter that explains its metrics."""
        return self._offering(EXPLAIN, is_assumed=self._options.service is not None)

    async def connected(self, client_of: Callable[[], AdapterClient | None]) -> AdapterClient:
        """Wait until `streaming` or `explaining` has one."""
        while (client := client_of()) is None:
            self._changed.clear()
            await self._changed.wait()
        return client

    def direct_services(self) -> tuple[str, ...]:
        """The Services, as `namespace/name`, from which metrics are read directly at present."""
        connections = self._connections.values()
        return tuple(sorted(each.address.service_name for each in connections if each.client))

    def problem(self) -> str | None:
        """Why some metrics, or all, are not read directly; None if all that is registered is, or nothing is."""
        problem = self._services.problem()
        if problem:
            return problem
        problems = [*self._services.problems.values()]
        problems += [each.problem for each in self._connections.values() if each.problem]
        if not problems and not self._connections and self._options.service is not None:
            name = "/".join(self._options.service)
            problems.append(f"no APIService of a metrics API names the Service {name}")
        return "; ".join(problems) or None

    async def run(self) -> None:
        """Follow the APIServices, and connect. Ends only by cancellation."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._services.run(), name="watch the APIServices")
            tasks.create_task(self._note_listing(), name="note the problem of the APIServices")
            while True:
                self._registrations_changed.clear()
                self._follow(tasks)
                await self._registrations_changed.wait()

    def _follow(self, tasks: asyncio.TaskGroup) -> None:
        """One connection for each address."""
        addresses = self._services.addresses
        for address in [each for each in self._connections if each not in addresses]:
            del self._connections[address]
            self._tasks.pop(address).cancel()
        for address in sorted(addresses - self._connections.keys(), key=lambda each: each.service):
            connection = self._connections[address] = ServiceConnection(
                address,
                connect=self._connect,
                audiences=self._audiences(address),
                on_change=self._connection_changed,
                monotonic=self._monotonic,
            )
            name = f"direct connection to {address.service_name}"
            self._tasks[address] = tasks.create_task(connection.run(), name=name)
        self._log_unused()
        self._connection_changed()

    def _audiences(self, address: Address) -> tuple[str, ...]:
        """Loadline's adapter accepts tokens that are for it alone. Other adapters review tokens as ones for kube-apiserver."""
        if self._options.token_account is None:
            return (address.server_hostname,)
        return (address.server_hostname, "")

    def _log_unused(self) -> None:
        problems = self._services.problems
        for name in problems.keys() | self._unused.keys():
            noted = self._unused.get(name)
            if noted is None:
                noted = self._unused[name] = ProblemLog(
                    log,
                    failing="metrics are read through kube-apiserver",
                    recovered=f"APIService {name} can be verified, or is gone",
                )
            noted.set(problems.get(name))

    async def _note_listing(self) -> None:
        while True:
            await asyncio.sleep(LIST_SECONDS)
            self._listing.set(self._services.problem())

    def _offering(self, name: str, *, is_assumed: bool) -> AdapterClient | None:
        """`is_assumed`: without an adapter that says so, any other is taken to."""
        working = [each for each in self._connections.values() if each.client is not None]
        usable = [each for each in working if each.offers(name)] or (working if is_assumed else [])
        first = min(usable, key=lambda each: each.address.service, default=None)
        return None if first is None else first.client

    def _registered(self) -> None:
        self._registrations_changed.set()

    def _check_now(self, address: Address) -> None:
        connection = self._connections.get(address)
        if connection is not None:
            connection.check_now()

    def _connection_changed(self) -> None:
        self._gauge.clear()
        for address, each in self._connections.items():
            self._gauge.labels(address.service_name).set(each.client is not None)
        self._changed.set()
