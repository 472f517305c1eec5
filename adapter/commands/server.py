"""`loadline-adapter` without a command: everything plugged together, started, kept and ended."""

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import msgspec
from prometheus_client import REGISTRY, disable_created_metrics

from adapter.answer import Answers
from adapter.answer.explaining import Explainer
from adapter.commands.credentials import credentials_of
from adapter.commands.flags import AdapterFlags, parse, server_parser
from adapter.commands.in_force import Switch, Upkeep
from adapter.commands.reloading import ConfigurationWatch
from adapter.config import ConfigError, load
from adapter.fetch.cache import SharedAnswers
from adapter.fetch.kubernetes import ClusterMapping, WatchedObjects
from adapter.fetch.prometheus import Backends
from adapter.serve.app import MetricsAPI, count_requests
from adapter.serve.explain import add_explain_route
from adapter.serve.request_log import log_requests
from wire.command_line.parsing import FlagParser
from wire.command_line.program import DISTRIBUTION
from wire.kube.client import KubeClient
from wire.kube.connection import ConnectionConfigError, connect
from wire.kube.mapper import RestMapper
from wire.logs import start_logging
from wire.serving.event_loop import run, stop_requested
from wire.serving.health import Check
from wire.serving.server import Delegates, Server
from wire.serving.tls import ServingConfigError
from wire.status import StatusError, Unavailable

OK: Final = 0
FAILED: Final = 1
MISCONFIGURED: Final = 2

REQUESTS_LEVEL: Final = 3
"""From this -v on, each request is logged, as by every Kubernetes API server."""

QUERIES_LEVEL: Final = 6
"""From this -v on, queries to Prometheus are logged, as by prometheus-adapter."""

RESOURCES_RETRY_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


def parser() -> FlagParser:
    """The flags of the server."""
    return server_parser()


def main(arguments: Sequence[str]) -> int:
    """Serve until SIGTERM; returns the exit code."""
    flags = parse(arguments)
    start_logging(flags.logging, packages=("adapter", "wire"), debug_level=QUERIES_LEVEL)
    for sentence in flags.ignored:
        log.warning("%s", sentence)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library types all but this
    try:
        return run(_Program(flags, version(DISTRIBUTION)).serve())
    except (ConfigError, ConnectionConfigError, ServingConfigError) as error:
        print(f"loadline-adapter: {error}", file=sys.stderr)
        return MISCONFIGURED


class _Program:
    """The parts, and how they know each other."""

    def __init__(self, flags: AdapterFlags, version: str) -> None:
        self._flags = flags
        self._version = version
        self._user_agent = f"loadline-adapter/{version}"
        self._upkeep = Upkeep()

    async def serve(self) -> int:
        """Start, wait for the end, stop. Raises what is wrong with the configuration."""
        flags = self._flags
        # Before anything is connected: who has a fault in the file should not first hear of the cluster.
        load(flags.config)
        stop = stop_requested()
        connection = await connect(flags.lister_kubeconfig, user_agent=self._user_agent)
        client = KubeClient(connection)
        self._mapper = RestMapper(client, on_change=self._resources_changed)
        mapping = ClusterMapping(self._mapper)
        backends = Backends({})
        prometheus = SharedAnswers(backends, freshness_seconds=flags.freshness_seconds)
        answers = Answers(
            prometheus=prometheus,
            objects=WatchedObjects(client, mapping, self._upkeep.spawn),
            mapping=mapping,
        )
        self._explainer = Explainer(answers, prometheus=prometheus, mapping=mapping)
        self._switch = Switch(
            flags.config,
            default_backend=flags.prometheus.backend,
            default_credentials=await credentials_of(flags.prometheus, user_agent=self._user_agent),
            backends=backends,
            prometheus=prometheus,
            mapping=mapping,
            times=flags.times,
            answers=answers,
            upkeep=self._upkeep,
        )
        self._watch = ConfigurationWatch(
            flags.config, self._switch.apply, poll_seconds=flags.config_poll_seconds
        )
        try:
            await self._read_resources()
            await self._watch.start()
            return await self._listen(client, answers, stop)
        finally:
            await self._upkeep.end()
            await backends.close()
            await client.close()

    async def _listen(self, client: KubeClient, answers: Answers, stop: asyncio.Event) -> int:
        serving = self._flags.serving
        delegates = await Delegates.connected(serving, client, user_agent=self._user_agent)
        server = Server(
            serving, delegates, registry=REGISTRY, version=self._version, ready=self._checks()
        )
        server.app.middlewares.insert(0, count_requests)
        if self._flags.logging.verbosity >= REQUESTS_LEVEL:
            server.app.middlewares.insert(0, log_requests)
        MetricsAPI(answers, version=self._version).add_routes(server.app)
        add_explain_route(server.app, self._explainer, server.authorizer)
        await server.start()
        self._upkeep.spawn(self._watch.run())
        self._upkeep.spawn(self._follow_resources())
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._watch.look_at_once)
        ends = [asyncio.create_task(each.wait()) for each in (stop, self._upkeep.failed)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        log.info("ending: no new connections, requests under way are finished")
        await server.stop()
        return FAILED if self._upkeep.failed.is_set() else OK

    def _checks(self) -> tuple[Check, ...]:
        return (
            Check("cluster-resources", self._resources_problem, public=True),
            Check("discovery", lambda: self._switch.catalog.problem, public=True),
            Check("rules", lambda: self._switch.catalog.failures, public=True, informs=True),
            Check("configuration", lambda: self._watch.problem, public=True, informs=True),
        )

    def _resources_problem(self) -> str:
        if self._mapper.table.versions:
            return ""
        return self._mapper.last_error or "the cluster's resources are not read yet"

    def _resources_changed(self) -> None:
        self._upkeep.spawn(self._switch.catalog.rebuild())

    async def _read_resources(self) -> bool:
        try:
            await self._mapper.refresh()
        except (StatusError, Unavailable, msgspec.DecodeError):
            return False  # the mapper logs it
        return True

    async def _follow_resources(self) -> None:
        """Until the first reading succeeds nothing can be offered, so it is tried often."""
        while not self._mapper.table.versions:
            await asyncio.sleep(RESOURCES_RETRY_SECONDS)
            await self._read_resources()
        await self._mapper.run()
