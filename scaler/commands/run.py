"""`loadline-scaler run`: everything plugged together, started, kept and ended."""

import asyncio
import contextlib
import logging
import socket
import sys
import uuid
from collections.abc import Coroutine, Iterator, Sequence
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Final

import msgspec
from prometheus_client import disable_created_metrics

from scaler.commands.logs import start_logging
from scaler.config import Options, add_run_flags, options_of
from scaler.controller import Controller
from scaler.gather.measurements import Measurements
from scaler.model.autoscaler import Autoscaler
from scaler.model.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.model.observed import Pod
from scaler.observe.autoscalers import WatchedAutoscalers
from scaler.observe.pods import WatchedPods
from scaler.observe.rivals import Selectors, Targets
from scaler.reconcile import Reconciler, Surroundings
from scaler.report.events import COMPONENT, Events
from scaler.serve import scaler_server
from scaler.telemetry import Telemetry
from scaler.workqueue import WorkQueue
from wire.clock import SYSTEM_CLOCK, Clock
from wire.kube.cache import WatchCache
from wire.kube.client import KubeClient
from wire.kube.connection import SERVICE_ACCOUNT_FOLDER, ConnectionConfigError, connect
from wire.kube.events import EventRecorder
from wire.kube.leases import LeaderElection
from wire.kube.mapper import RestMapper
from wire.serving.flags import FlagParser
from wire.serving.health import Check
from wire.serving.runtime import run, stop_requested
from wire.serving.server import Delegates
from wire.serving.tls import ServingConfigError
from wire.status import StatusError, Unavailable

OK: Final = 0
FAILED: Final = 1
MISCONFIGURED: Final = 2
# Discovery is tried again this soon while nothing at all is known.
DISCOVERY_RETRY_SECONDS: Final = 1.0
# How long to wait for the HPAs, which are good to know and no more.
OTHERS_DEADLINE_SECONDS: Final = 5.0
# How long the end waits for events that are still to be written.
FLUSH_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Scale until SIGTERM; returns the exit code."""
    start_logging(0)
    options = parse(arguments)
    start_logging(options.verbosity)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    try:
        return run(Program(options, version_of("loadline-autoscaler")).serve())
    except (ConnectionConfigError, ServingConfigError) as error:
        print(f"loadline-scaler: {error}", file=sys.stderr)
        return MISCONFIGURED


def parse(arguments: Sequence[str]) -> Options:
    """The flags. A wrong one ends the program with exit code 2 and names the fix."""
    parser = FlagParser(
        prog="loadline-scaler",
        conflict_handler="resolve",
        description="Scale workloads by LoadAutoscalers, or by HorizontalPodAutoscalers in place of the built-in controller.",
        epilog="Durations are Go's: 500ms, 15s, 1m30s. kube-controller-manager's names "
        "(--horizontal-pod-autoscaler-sync-period ...) are accepted. "
        "Another command: `loadline-scaler why NAMESPACE/NAME`.",
    )
    add_run_flags(parser)
    given = parser.parse_args(arguments)
    try:
        return options_of(given)
    except ValueError as error:
        parser.error(str(error))


class Program:
    """The parts, and how they know each other."""

    def __init__(self, options: Options, version: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._options = options
        self._clock = clock
        self._version = version
        self._user_agent = f"loadline-scaler/{version}"
        self._telemetry = Telemetry(options.kind)
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = asyncio.Event()
        self._is_scaling = False
        self._recording: asyncio.Task[None] | None = None

    async def serve(self) -> int:
        """Start, wait for the end, stop. Raises what is wrong with the configuration."""
        stop = stop_requested()
        connection = await connect(
            self._options.kubeconfig, context=self._options.context, user_agent=self._user_agent
        )
        client = KubeClient(connection)
        try:
            self._plug(client)
            return await self._listen(client, stop)
        finally:
            # In the reverse order of their start: scaling ends first, and its last events are written.
            for task in reversed(self._tasks):
                if task is self._recording:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._recorder.flushed(), FLUSH_SECONDS)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await client.close()

    def _plug(self, client: KubeClient) -> None:
        options, clock = self._options, self._clock
        self._mapper = RestMapper(client, monotonic=clock.monotonic)
        self._recorder = EventRecorder(client, component=COMPONENT, now=clock.now)
        self._selectors = Selectors()
        self._rivals = Targets(HORIZONTAL_POD_AUTOSCALERS.kind)
        self._autoscalers = WatchedAutoscalers(
            client,
            options.kind,
            options.namespaces,
            on_change=self._changed,
            monotonic=clock.monotonic,
        )
        self._pods = WatchedPods(client, options.namespaces, monotonic=clock.monotonic)
        self._others = self._other_kind(client)
        around = Surroundings(
            kube=client,
            mapper=self._mapper,
            autoscalers=self._autoscalers,
            pods=self._pods,
            selectors=self._selectors,
            rivals=self._rivals,
            measurements=Measurements(
                client,
                self._mapper,
                self._telemetry,
                period_seconds=options.sync_period_seconds,
                monotonic=clock.monotonic,
            ),
            events=Events(self._recorder, options.kind),
            telemetry=self._telemetry,
        )
        self._reconciler = Reconciler(
            around, options.kind, options.settings, now=clock.now, monotonic=clock.monotonic
        )
        self._controller = Controller(
            WorkQueue(options.sync_period_seconds),
            self._reconciler.look,
            self._telemetry,
            concurrent=options.concurrent_syncs,
            monotonic=clock.monotonic,
        )

    def _other_kind(self, client: KubeClient) -> list[WatchCache[Autoscaler]]:
        """HPAs are only watched to stand back from their targets, so without the right to it all else works."""
        if not self._options.kind.yields_to_hpas:
            return []
        watched = WatchedAutoscalers(
            client,
            HORIZONTAL_POD_AUTOSCALERS,
            self._options.namespaces,
            on_change=self._rivals.change,
            monotonic=self._clock.monotonic,
        )
        return watched.caches

    def _changed(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        """Follow the watch of our kind."""
        if new is None:
            if old is not None:
                self._selectors.disappear(old.key)
        else:
            self._selectors.appear(new.key)
            if self._is_scaling:
                self._controller.enqueue(new.key)
        self._telemetry.autoscalers.set(len(self._autoscalers))

    async def _listen(self, client: KubeClient, stop: asyncio.Event) -> int:
        serving = self._options.serving
        delegates = await Delegates.connected(serving, client, user_agent=self._user_agent)
        server = scaler_server(
            serving,
            delegates,
            registry=self._telemetry.registry,
            version=self._version,
            ready=self._checks(),
            derivation=self._reconciler.derivation,
        )
        await server.start()
        for work in self._upkeep():
            self._spawn(work)
        self._recording = self._spawn(self._recorder.run())
        self._spawn(self._scale_when_leading(client))
        ends = [asyncio.create_task(each.wait()) for each in (stop, self._failed)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        log.info("ending: looks under way are finished")
        await server.stop()
        return FAILED if self._failed.is_set() else OK

    def _upkeep(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What must go on whether we lead or not, so that taking over takes no time."""
        yield self._follow_discovery()
        for cache in self._caches():
            yield cache.run()

    def _caches(self) -> tuple[WatchCache[Autoscaler] | WatchCache[Pod], ...]:
        return (*self._autoscalers.caches, *self._pods.caches, *self._others)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """None of these may end by itself; when one does, the process does, and is started anew."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled():
                log.error("a part has ended: %s", task, exc_info=task.exception())
                self._failed.set()

        task = asyncio.create_task(work)
        task.add_done_callback(ended)
        self._tasks.append(task)
        return task

    async def _scale_when_leading(self, client: KubeClient) -> None:
        asked = self._options.leader_election
        if not asked.enabled:
            await self._scale()
            return
        await LeaderElection(
            client,
            namespace=asked.resource_namespace or own_namespace(),
            name=asked.resource_name,
            identity=f"{socket.gethostname()}_{uuid.uuid4()}",
            times=asked.times,
            monotonic=self._clock.monotonic,
        ).run(self._scale)

    async def _scale(self) -> None:
        """Look at every autoscaler for as long as we are in charge."""
        await self._complete()
        self._is_scaling = True
        self._telemetry.leading.set(1)
        log.info(
            "scaling %d autoscalers of kind %s", len(self._autoscalers), self._options.kind.kind
        )
        try:
            for key in self._autoscalers:
                self._controller.enqueue(key, spread=True)
            await self._controller.run()
        finally:
            self._is_scaling = False
            self._telemetry.leading.set(0)
            self._reconciler.forget_all()

    async def _complete(self) -> None:
        """Until every copy is complete; of HPAs that may not be read, until that is known."""
        for ours in self._autoscalers.caches:
            await ours.synced()
        for pods in self._pods.caches:
            await pods.synced()
        for other in self._others:
            try:
                await asyncio.wait_for(other.synced(), OTHERS_DEADLINE_SECONDS)
            except TimeoutError:
                log.warning(
                    "%s cannot be read (%s): a target that an HPA scales as well will not be noticed",
                    other.path,
                    other.last_error,
                )

    async def _follow_discovery(self) -> None:
        while not self._mapper.table.versions:
            try:
                await self._mapper.refresh()
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._mapper.last_error = str(error)
                log.warning("discovery failed, trying again: %s", error)
                await asyncio.sleep(DISCOVERY_RETRY_SECONDS)
        await self._mapper.run()

    def _checks(self) -> tuple[Check, ...]:
        return (
            Check("discovery", self._discovery_problem, public=True),
            Check("autoscalers", lambda: _unsynced(self._autoscalers.caches), public=True),
            Check("pods", lambda: _unsynced(self._pods.caches), public=True),
        )

    def _discovery_problem(self) -> str:
        if self._mapper.table.versions:
            return ""
        return self._mapper.last_error or "the cluster's resources are not read yet"


def own_namespace(folder: Path = SERVICE_ACCOUNT_FOLDER) -> str:
    """The pod's; outside a cluster that of the control plane, as kube-controller-manager's."""
    try:
        return (folder / "namespace").read_text().strip()
    except OSError:
        return "kube-system"


def _unsynced(caches: Sequence[WatchCache[Autoscaler]] | Sequence[WatchCache[Pod]]) -> str:
    """What is missing before the first decision; a copy that has grown old is no reason to be restarted."""
    for cache in caches:
        if not cache.is_synced:
            return (
                f"{cache.path} is not read yet: {cache.last_error or 'the first LIST is under way'}"
            )
    return ""
