"""The server: started, kept running and stopped."""

import asyncio
import contextlib
import logging
import signal
from functools import partial
from typing import Final

import msgspec
from prometheus_client import REGISTRY

from adapter import telemetry
from adapter.certificates.managed_certificate import ManagedCertificate
from adapter.config import load
from adapter.runtime.assembly import Parts, assemble
from adapter.runtime.reloader import ConfigurationReloader
from adapter.runtime.server_settings import AdapterSettings
from adapter.serve.app import MetricsAPI, check_timeouts, count_requests, served_paths
from adapter.serve.explain_endpoint import add_explain_route
from adapter.serve.request_log import log_requests
from adapter.watching.endpoint import MetricStreams
from adapter.watching.rounds import Rounds
from wire.api import offers
from wire.api.debug_paths import EXPLAIN
from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.process.event_loop import stop_requested
from wire.process.first_of import first_of
from wire.process.readiness import Check
from wire.serving.server import Delegates, Server

REQUESTS_LEVEL: Final = 3
"""From this `-v` on, every request is logged, as in every Kubernetes API server."""


log = logging.getLogger(__name__)


async def run_server(settings: AdapterSettings, *, version: str) -> bool:
    """Serve until SIGTERM; False when a background task failed.

    Raises `ConfigError`, `ConnectionConfigError` and `ServingConfigError`.
    """
    # Before anything is connected: a faulty file is reported before an unreachable cluster.
    settings.check_with(load(settings.config))
    user_agent = f"loadline-adapter/{version}"
    stop = stop_requested()
    client = KubeClient(await connect(settings.lister_kubeconfig, user_agent=user_agent))
    try:
        async with assemble(
            settings.config,
            settings.prometheus,
            client,
            user_agent=user_agent,
            times=settings.times,
            freshness=settings.freshness,
            wide_queries=settings.wide_queries,
        ) as parts:
            return await _Server(settings, parts, version).run(client, stop)
    finally:
        await client.close()


class _Server:
    def __init__(self, settings: AdapterSettings, parts: Parts, version: str) -> None:
        self._settings = settings
        self._parts = parts
        self._version = version
        telemetry.show_build(version)
        self._rounds = Rounds(parts.answers.answer, next_samples=parts.scrapes.next_visible)
        self._streams: MetricStreams | None = None
        self._reloader = ConfigurationReloader(
            settings.config, parts.activator.activate, poll_seconds=settings.config_poll_seconds
        )

    async def run(self, client: KubeClient, stop: asyncio.Event) -> bool:
        """Until `stop` is set or a background task fails; False in the second case."""
        tasks = self._parts.tasks
        await self._read_resources()
        await self._reloader.start()
        listener = await self._listener(client)
        await listener.start()
        tasks.start(self._rounds.run(), name="watched metrics")
        tasks.start(self._reloader.run(), name="configuration reload")
        tasks.start(self._parts.mapper.run(), name="discovery")
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reloader.reload_now)
        await first_of(stop.wait(), tasks.failed.wait())
        log.info("shutting down: not accepting new connections, finishing requests in flight")
        if self._streams is not None:
            await self._streams.close()
        await listener.stop()
        return not tasks.failed.is_set()

    async def _listener(self, client: KubeClient) -> Server:
        serving, managed = self._settings.serving, self._settings.managed_certificate
        delegates = await Delegates.connected(
            serving, client, user_agent=f"loadline-adapter/{self._version}"
        )
        server = Server(
            serving,
            delegates,
            registry=REGISTRY,
            on_crash=telemetry.CRASHES.inc,
            on_refusal=telemetry.count_refusal,
            version=self._version,
            offers=(offers.METRIC_STREAM, offers.LARGE_METRIC_STREAM, offers.EXPLAIN),
            paths=lambda: served_paths(self._parts.answers.active),
            ready=self._checks(),
            background=self._parts.tasks,
            certificate=ManagedCertificate(client, managed) if managed else None,
        )
        # Behind the authorization: the query of a client without rights is not read.
        server.app.middlewares.append(check_timeouts)
        server.app.middlewares.insert(0, count_requests)
        if self._settings.logging.verbosity >= REQUESTS_LEVEL:
            server.app.middlewares.insert(0, log_requests)
        api = MetricsAPI(
            self._parts.answers,
            self._parts.paths,
            version=self._version,
            may_read_configuration=partial(server.may_get, EXPLAIN),
        )
        api.add_routes(server.app)
        self._streams = MetricStreams(
            self._rounds, self._parts.paths.of_url, server.admit, server.authorizer
        )
        self._streams.add_route(server.app)
        add_explain_route(server.app, self._parts.explainer, server.authorizer)
        return server

    def _checks(self) -> tuple[Check, ...]:
        activator = self._parts.activator
        return (
            Check("cluster-resources", self._resources_problem),
            Check("discovery", lambda: activator.problem),
            Check("objects", lambda: self._parts.objects.problem, informs=True),
            Check("rules", lambda: activator.catalog.failures, informs=True),
            Check("configuration", lambda: self._reloader.problem, informs=True),
        )

    def _resources_problem(self) -> str | None:
        mapper = self._parts.mapper
        if mapper.table.versions:
            return None
        return mapper.last_error or "the cluster's resources have not been read yet"

    async def _read_resources(self) -> None:
        # The mapper logs what is wrong.
        with contextlib.suppress(StatusError, Unavailable, msgspec.DecodeError):
            await self._parts.mapper.refresh()
