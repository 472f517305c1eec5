"""One replica of the real scaler, which goes on only where a trace says so."""

import asyncio
import math

import msgspec

from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.api.upstream import NEWEST
from scaler.cluster.clock import Clock
from scaler.cluster.lease import LeaseTimes
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.rivals import Rivals
from scaler.cluster.scales import Scales
from scaler.cluster.selectors import Selectors
from scaler.cluster.shards.assignment import shard_of
from scaler.cluster.shards.membership import Membership
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.dependencies import Dependencies
from scaler.control.reconcile import Reconciler
from scaler.control.workqueue import WorkQueue
from scaler.extensions import extensions_of
from scaler.runtime.fencing import WritesWhileLeading
from scaler.runtime.reconciling import Reconciling
from tests.conformance.scaler_protocol.replayed_server import NAMESPACE, SHARDS, Connection
from tests.fakes.scaler import (
    FakeAutoscalers,
    FakeEvents,
    FakeMapper,
    FakeMeasurements,
    FakePods,
    resource,
)
from tests.unit.scaler.control.world import METRIC, POD, autoscaler

TIMES = LeaseTimes()
PERIOD_SECONDS = 0.5
# A memory is old after half a window, two periods and 30 s; here that is the window.
WINDOW_SECONDS = 64
# Each is longer than all that follow, so that no other window ends when one does.
TICK_SECONDS = (16.0, 8.0, 4.0, 2.0)
PAUSE_SECONDS = 2 * 1.1


def _namespace_of(shard):
    return next(f"team-{n}" for n in range(10_000) if shard_of(f"team-{n}") == shard)


NAMESPACES = {shard: _namespace_of(shard) for shard in SHARDS}
SCALED = NAMESPACES[5]
KEY = f"{SCALED}/web"
AUTOSCALER = autoscaler(
    metadata={"namespace": SCALED, "name": "web", "uid": "u5", "generation": 1},
    spec={
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 2,
        "metrics": [{"type": "External", "external": METRIC}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": WINDOW_SECONDS}},
    },
)


class Watched(FakeAutoscalers):
    """The autoscalers, also one after the other."""

    def __iter__(self):
        return iter(self.by_key.values())

    def listed_in(self, namespace):
        return len(self.by_key)


class Watches:
    """What the replica watches: everything is listed."""

    def __init__(self, autoscalers):
        self.autoscalers = autoscalers

    async def synced(self):
        pass

    def hold(self, shards):
        pass

    async def list_held(self, on_listed):
        await asyncio.Event().wait()

    def listed_shards(self, shards):
        return shards

    def is_complete(self, namespace):
        return True


async def _no_pause(_):
    await asyncio.sleep(0)


class NoLists:
    """Each first reconcile reads what it needs."""

    def begin(self, autoscalers, listed_in):
        pass

    def forget(self, includes):
        pass


class Replica:
    """One process. `wall` returns Unix seconds for what it remembers."""

    def __init__(self, server, name, wall):
        self.name = name
        self.connection = Connection(server)
        self.monotonic_seconds = 0.0
        self.is_alive = True
        self._renewals = 0
        self._sleeping = {}
        self._shared_renewal = None
        self.measurements = FakeMeasurements(ExternalValues((0,)))
        self.store = MemoryStore(
            self.connection,
            namespace=NAMESPACE,
            period_seconds=PERIOD_SECONDS,
            watches=lambda _: True,
            may_write=lambda namespace: self.membership.may_write(namespace),
            sleep=_no_pause,
        )
        # Its own clock for the memories: the one of the Leases is moved on its own.
        self._wire(Clock(now=wall, monotonic=lambda: wall() - 1_700_000_000.0))
        self.task = asyncio.create_task(self.membership.run())

    def _wire(self, clock):
        kind = HORIZONTAL_POD_AUTOSCALERS
        autoscalers = Watched(
            msgspec.structs.replace(AUTOSCALER, kind=kind.kind, api_version=kind.api_version)
        )
        telemetry = Telemetry(kind)
        settings = Settings(
            kind=kind,
            upstream=NEWEST,
            extensions=extensions_of(kind),
            sync_period_seconds=PERIOD_SECONDS,
        )
        selectors = Selectors()
        selectors.appear(KEY)
        kube = WritesWhileLeading(
            self.connection,
            lambda namespace: None if self.membership.may_write(namespace) else "not the owner",
        )
        self.reconciler = reconciler = Reconciler(
            Dependencies(
                kube=kube,
                scales=Scales(
                    self.connection,
                    FakeMapper(resource("apps", "v1", "deployments", "Deployment")),
                    None,
                ),
                autoscalers=autoscalers,
                pods=FakePods(POD),
                selectors=selectors,
                rivals=Rivals(),
                measurements=self.measurements,
                events=FakeEvents(),
                telemetry=telemetry,
                memory_store=self.store,
                settings=lambda: settings,
            ),
            settings,
            clock=clock,
        )
        # Nothing is due by itself.
        self.controller = Controller(
            WorkQueue(1e9), reconciler.reconcile, telemetry, concurrent=5, monotonic=lambda: 0.0
        )
        reconciling = Reconciling(
            kind,
            Watches(autoscalers),
            reconciler,
            self.controller,
            self.store,
            telemetry,
            lambda: settings,
            NoLists(),
        )
        self.membership = Membership(
            self.connection,
            reconciling,
            namespace=NAMESPACE,
            name="scaler",
            times=TIMES,
            sleep=self._sleep,
            monotonic=lambda: self.monotonic_seconds,
            now=self._renewed_at,
            chance=lambda: 0.5,
            hostname=lambda: self.name,
        )

    def _renewed_at(self):
        """Each renewal has another time."""
        self._renewals += 1
        return 1_700_000_000.0 + self._renewals

    async def _sleep(self, seconds):
        """Until the trace goes on: after a pass over the Leases, or before a renewal."""
        kind = "pass"
        if seconds != PAUSE_SECONDS:
            task = asyncio.current_task()
            # The Lease of the leader, which all replicas hold together, is the first one.
            self._shared_renewal = self._shared_renewal or task
            kind = "shared renewal" if task is self._shared_renewal else "renewal"
        over = self._sleeping[kind] = asyncio.get_running_loop().create_future()
        await over

    def wake(self, kind):
        over = self._sleeping.pop(kind, None)
        if over is not None and not over.done():
            over.set_result(None)

    def may_write(self):
        return [
            shard for shard, namespace in NAMESPACES.items() if self.membership.may_write(namespace)
        ]

    def reconcile(self, recommended):
        record = self.reconciler._records.get(KEY)
        if record is not None and record.continues_until_seconds > -math.inf:
            # Those of the model are far apart. None is one after a time without reconciles, except after a lost Lease.
            record.continues_until_seconds = math.inf
        self.measurements.readings = [ExternalValues((recommended * 10_000,))]
        self.controller.reconcile_at_once(KEY)
