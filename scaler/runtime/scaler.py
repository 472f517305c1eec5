"""The scaler of one process: everything wired together, started, and stopped in order."""

import asyncio
import contextlib
import logging
import socket
import uuid
from typing import Final

from scaler.api.autoscaler import Autoscaler
from scaler.cluster.clock import SYSTEM_CLOCK, Clock
from scaler.cluster.events.autoscaler_events import COMPONENT, Events
from scaler.cluster.events.recorder import EventRecorder
from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.lease import LeaseTimes
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.server_version import ServerVersion
from scaler.cluster.shards.assignment import ALL_SHARDS, SHARDS
from scaler.cluster.shards.membership import Membership
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.dependencies import Dependencies
from scaler.control.reconcile import Reconciler
from scaler.control.workqueue import WorkQueue
from scaler.runtime.autoscaler_metrics import AutoscalerMetrics
from scaler.runtime.clients import Clients, own_namespace
from scaler.runtime.debug_endpoint import scaler_server
from scaler.runtime.direct_metrics import DirectMetrics
from scaler.runtime.extension_inputs import ExtensionInputs
from scaler.runtime.fencing import WritesWhileLeading
from scaler.runtime.flags import Options
from scaler.runtime.published_certificate import PublishedCertificate
from scaler.runtime.reconciling import Reconciling
from scaler.runtime.target_access import TargetAccess
from scaler.runtime.watches import Watches
from wire.kube.connection import connect
from wire.kube.mapper import RestMapper
from wire.process.background_tasks import BackgroundTasks, stopped
from wire.process.event_loop import stop_requested
from wire.process.first_of import first_of
from wire.process.readiness import Check
from wire.serving.metrics_and_version import Collect
from wire.serving.server import Delegates, Server

OK: Final = 0
FAILED: Final = 1
# How long shutdown waits for events that are still to be written.
FLUSH_SECONDS: Final = 2.0

# The share of the time between the renew deadline and the end of a lost Lease; the rest is for clocks
# that differ and for requests that the API server still carries out.
DRAIN_RATIO: Final = 0.6
# The clocks of two replicas may differ by that much. See clock-steps in docs/deviations.md.
CLOCK_DIFFERENCE_SECONDS_MAX: Final = 5.0

log = logging.getLogger(__name__)


async def run_scaler(options: Options, version: str, *, clock: Clock = SYSTEM_CLOCK) -> int:
    """Scale until SIGTERM or SIGINT; returns the exit code.

    Raises `ConnectionConfigError` and `ServingConfigError`.
    """
    stop = stop_requested()
    user_agent = f"loadline-scaler/{version}"
    connection = await connect(options.kubeconfig, context=options.context, user_agent=user_agent)
    clients = Clients.over(connection)
    try:
        return await Scaler(options, clients, version=version, clock=clock).run(stop)
    finally:
        await clients.close()


class Scaler:
    """The parts of the program and their connections."""

    def __init__(
        self, options: Options, clients: Clients, *, version: str, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._options = options
        self._clients = clients
        self._version = version
        self._clock = clock
        is_shared = options.leader_election.sharding
        self._telemetry = Telemetry(options.settings.kind, shards=SHARDS if is_shared else 0)
        self._background = BackgroundTasks()
        self._election: LeaderElection | None = None
        self._membership: Membership | None = None
        self._mapper = RestMapper(clients.requests, monotonic=clock.monotonic)
        self._recorder = EventRecorder(
            clients.requests,
            component=COMPONENT,
            on_dropped=lambda *labels: self._telemetry.events_dropped_total.labels(*labels).inc(),
            now=clock.now,
            monotonic=clock.monotonic,
        )
        self._server_version = self._new_server_version()
        self._watches = Watches(
            clients.watches,
            options.settings.kind,
            options.namespaces,
            is_shared=is_shared,
            on_change=self._autoscaler_changed,
            on_crash=self._telemetry.crashes_total.inc,
            on_watch=self._server_version.read_again,
            monotonic=clock.monotonic,
        )
        self._telemetry.show_build(version)
        self._telemetry.show_cache_ages(self._watches.ages_seconds)
        self._telemetry.show_clock_difference(self._clock_difference_seconds)
        self._store = self._memory_store()
        self._targets = TargetAccess(
            options, clients, self._mapper, self._background, clock.monotonic
        )
        self._direct = DirectMetrics(
            options, clients, self._telemetry, version=version, monotonic=clock.monotonic
        )
        self._inputs = self._new_inputs()
        self._measurements = Measurements(
            clients.metrics,
            self._mapper,
            self._telemetry,
            period_seconds=options.settings.sync_period_seconds,
            keeps_case=options.settings.kind.keeps_case,
            route=self._direct.route,
            stream=self._direct.stream,
            followers=self._direct.followers,
            monotonic=clock.monotonic,
        )
        self._reconciler = self._new_reconciler()
        self._telemetry.show_desired_replicas(self._reconciler.desired_replicas)
        self._controller = Controller(
            WorkQueue(options.settings.sync_period_seconds),
            self._reconciler.reconcile,
            self._telemetry,
            repeat=self._reconciler.repeat,
            has_failed=self._reconciler.has_failed,
            due_again=self._reconciler.due_again_seconds,
            is_overloaded=clients.is_overloaded,
            concurrent=options.concurrent_syncs,
            drain_seconds=drain_seconds(options.leader_election.times),
            monotonic=clock.monotonic,
        )
        self._reconciling = self._new_reconciling()

    async def run(self, stop: asyncio.Event) -> int:
        """Start everything, wait for `stop` or a failure, stop everything; returns the exit code."""
        try:
            server = await self._started_server()
            self._background.start(self._mapper.run(), name="discovery")
            version = self._server_version.run()
            self._background.start(version, name="server version", may_end=True)
            for cache in self._watches.caches:
                self._background.start(cache.run(), name=f"watch {cache.path}")
            self._direct.start(
                self._background, self._measurements, self._reconciler, self._controller
            )
            self._inputs.start(self._background)
            self._background.start(self._write_events(), name="events")
            self._background.start(self._scale(), name="scale")
            late = self._reconciling.completed()
            self._background.start(late, name="namespaces", may_end=True)
            await first_of(stop.wait(), self._background.failed.wait())
            log.info("shutting down: finishing reconciles in progress")
            await server.stop()
        finally:
            await self._background.stop()
        return FAILED if self._background.failed.is_set() else OK

    def _new_reconciler(self) -> Reconciler:
        options, clock = self._options, self._clock
        dependencies = Dependencies(
            kube=WritesWhileLeading(self._clients.requests, self._refusal),
            scales=self._targets.scales,
            autoscalers=self._watches.autoscalers,
            pods=self._watches.pods,
            selectors=self._watches.selectors,
            rivals=self._watches.rivals,
            measurements=self._measurements,
            followers=self._direct.followers,
            events=Events(self._recorder, options.settings.kind),
            telemetry=self._telemetry,
            outdated=self._watches.outdated,
            # The controller is made after the reconciler, which it runs.
            is_brought_forward=lambda key: self._controller.is_brought_forward(key),
            scales_first=lambda key: self._controller.scales_first(key),
            listed_memory=self._targets.initial_lists.memory,
            memory_store=self._store,
            inputs=self._inputs.of,
            owners=self._inputs.owners,
            observers=self._inputs.observers,
            settings=lambda: self._server_version.settings,
        )
        return Reconciler(dependencies, options.settings, clock=clock)

    def _new_reconciling(self) -> Reconciling:
        return Reconciling(
            self._options.settings.kind,
            self._watches,
            self._reconciler,
            self._controller,
            self._store,
            self._telemetry,
            lambda: self._server_version.settings,
            self._targets.initial_lists,
        )

    def _new_server_version(self) -> ServerVersion:
        return ServerVersion(
            self._clients.requests,
            self._options.settings,
            is_followed=self._options.follows_server_version,
            on_version=self._telemetry.show_kubernetes_version,
        )

    def _new_inputs(self) -> ExtensionInputs:
        return ExtensionInputs(
            self._watches.calendars_of,
            self._options.prometheus,
            self._direct.route,
            self._mapper,
            self._telemetry,
            self._clients.watches,
            self._options.namespaces,
            self._background,
            user_agent=f"loadline-scaler/{self._version}",
            monotonic=self._clock.monotonic,
        )

    def _memory_store(self) -> MemoryStore | None:
        """None for a kind that has its memory in its status."""
        if self._options.settings.kind.keeps_history:
            return None
        namespaces = self._options.namespaces
        return MemoryStore(
            self._clients.requests,
            namespace=self._lease_namespace,
            period_seconds=self._options.settings.sync_period_seconds,
            watches=lambda namespace: (
                (not namespaces or namespace in namespaces) and self._watches.is_complete(namespace)
            ),
            may_write=lambda namespace: not self._refusal(namespace),
        )

    def _autoscaler_metrics(self) -> Collect:
        if not self._options.autoscaler_metrics:
            return tuple
        return AutoscalerMetrics(
            self._options.settings,
            self._reconciling.autoscalers,
            self._reconciler.derivation,
            self._telemetry.crashes_total.inc,
        ).collect

    def _autoscaler_changed(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        self._reconciling.changed(old, new)
        self._telemetry.autoscalers.set(len(self._watches.autoscalers))

    async def _started_server(self) -> Server:
        serving = self._options.serving
        user_agent = f"loadline-scaler/{self._version}"
        delegates = await Delegates.connected(
            serving, self._clients.requests, user_agent=user_agent
        )
        server = scaler_server(
            serving,
            delegates,
            registry=self._telemetry.registry,
            metrics=self._autoscaler_metrics(),
            on_crash=self._telemetry.crashes_total.inc,
            on_refusal=self._telemetry.count_refusal,
            version=self._version,
            ready=(
                Check("discovery", self._discovery_problem),
                *self._server_version.checks(),
                *self._watches.checks(),
                *self._direct.checks(),
                Check("clock", self._clock_problem, informs=True),
            ),
            kind=self._options.settings.kind,
            derivation=self._reconciler.derivation,
            metrics_connection=self._direct.summary,
            background=self._background,
        )
        await server.start()
        self._publish_certificate_of(server)
        return server

    def _publish_certificate_of(self, server: Server) -> None:
        config_map = self._options.certificate_config_map
        if config_map is None or not server.serving_certificate:
            return
        published = PublishedCertificate(
            self._clients.requests, config_map, lambda: server.serving_certificate
        )
        self._background.start(published.run(), name="published certificate")

    async def _scale(self) -> None:
        """Scale until cancelled: always, while this process leads, or what belongs to its shards."""
        await self._server_version.known()
        # A replica that cannot list its objects must not keep the Lease from one that can.
        await self._reconciling.synced()
        election = self._options.leader_election
        if election.sharding:
            self._membership = Membership(
                self._clients.leases,
                self._reconciling,
                namespace=self._lease_namespace,
                name=election.resource_name,
                times=election.times,
                monotonic=self._clock.monotonic,
                now=self._clock.now,
            )
            await self._membership.run()
        elif election.enabled:
            self._election = LeaderElection(
                self._clients.leases,
                namespace=self._lease_namespace,
                name=election.resource_name,
                identity=f"{socket.gethostname()}_{uuid.uuid4()}",
                times=election.times,
                monotonic=self._clock.monotonic,
                now=self._clock.now,
            )
            await self._election.run(self._scale_all)
        else:
            await self._scale_all()

    @property
    def _lease_namespace(self) -> str:
        return self._options.leader_election.resource_namespace or own_namespace()

    def _clock_difference_seconds(self) -> float:
        """To the other replicas, as far as their Leases show it."""
        if self._membership is not None:
            return self._membership.clock_difference_seconds
        return self._election.clock_difference_seconds if self._election is not None else 0.0

    def _clock_problem(self) -> str | None:
        difference_seconds = self._clock_difference_seconds()
        if abs(difference_seconds) < CLOCK_DIFFERENCE_SECONDS_MAX:
            return None
        relation = "behind" if difference_seconds > 0 else "ahead of"
        return (
            f"the clock of this machine is {abs(difference_seconds):.0f} s {relation} that of another replica: when one takes"
            " over from the other, windows may end that much too early or too late; check the time synchronization of both nodes"
        )

    def _refusal(self, namespace: str) -> str | None:
        """Why this process must not write to the namespace; None while it may."""
        if self._membership is not None and not self._membership.may_write(namespace):
            return f"this replica no longer owns the shard of namespace {namespace}"
        if self._election is not None and not self._election.is_leader:
            return "this replica no longer leads"
        return None

    async def _scale_all(self) -> None:
        """Reconcile every autoscaler until cancelled."""
        continues = self._election is not None and self._election.continues
        await self._reconciling.begin(ALL_SHARDS, continues=continues)
        await self._reconciling.run()

    async def _write_events(self) -> None:
        """Write events until cancelled, and then those of the last reconciles."""
        writing = asyncio.create_task(self._recorder.run())
        try:
            await asyncio.shield(writing)
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._recorder.flushed(), FLUSH_SECONDS)
            await stopped(writing)

    def _discovery_problem(self) -> str | None:
        if self._mapper.table.versions:
            return None
        return self._mapper.last_error or "the API server's resources have not been read yet"


def drain_seconds(times: LeaseTimes) -> float:
    """How long reconciles may take to finish after the Lease is lost, before another replica can take over."""
    return DRAIN_RATIO * (times.lease_seconds - times.renew_deadline_seconds)
