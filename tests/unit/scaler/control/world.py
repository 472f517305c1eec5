"""One autoscaler, its target and an API server that keeps what is written, for whole reconciles without I/O."""

import json
from typing import Any

import msgspec

from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import ExternalValues, MetricFailed, Reading
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, AutoscalerSpec, AutoscalerStatus
from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from scaler.api.upstream import NEWEST, Upstream
from scaler.cluster.clock import Clock
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.pod_owners import PodOwners
from scaler.cluster.rivals import Rivals
from scaler.cluster.scales import Scales, Version, WatchedVersion
from scaler.cluster.selectors import Selectors
from scaler.cluster.telemetry import Telemetry
from scaler.control.dependencies import DecisionObserver, Dependencies
from scaler.control.reconcile import Reconciler
from scaler.extensions import extensions_of
from tests.fakes.scaler import (
    FakeAutoscalers,
    FakeEvents,
    FakeKube,
    FakeMapper,
    FakeMeasurements,
    FakePods,
    resource,
)
from wire.api.meta import ObjectMeta

KEY = "shop/web"
SCALE_PATH = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
NOW_SECONDS = 1_800_000_000.0
POD = Pod(metadata=ObjectMeta(name="web-1", namespace="shop", labels={"app": "web"}))


METRIC = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}}
SPEC: dict[str, Any] = {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "minReplicas": 1,
    "maxReplicas": 9,
    "metrics": [{"type": "External", "external": METRIC}],
}


def autoscaler(**changes: Any) -> Autoscaler:
    """On `queue` at 10 per replica, 1 to 9 replicas."""
    whole = {
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "uid": "u9",
            "resourceVersion": "5",
            "generation": 2,
            "labels": {"team": "shop"},
        },
        "spec": SPEC,
        **changes,
    }
    return msgspec.convert(whole, Autoscaler)


class _WithStatus(msgspec.Struct, frozen=True):
    status: AutoscalerStatus


class World:
    """What a reconcile reads from and writes to, and the clock."""

    def __init__(
        self,
        *readings: Reading,
        kind: WatchedKind = LOAD_AUTOSCALERS,
        object: Autoscaler | None = None,  # noqa: A002
        upstream: Upstream = NEWEST,
        zero: bool | None = None,
        copies: bool = False,
        metric_status_max_age_seconds: float = 0.0,
        memory_store: MemoryStore | None = None,
        observers: tuple[DecisionObserver, ...] = (),
        owners: PodOwners | None = None,
    ) -> None:
        """`zero`: whether scaling to zero is on, where not the default of the version.

        `copies`: the Scale is kept while its version stays the same; `watched_version` is what the watch shows.
        """
        found = object or autoscaler()
        self.kind = kind
        self.upstream = upstream
        self.scale_to_zero = zero
        self.now_seconds = NOW_SECONDS
        self.monotonic_seconds = 5_000.0
        self.kube = FakeKube()
        self.events = FakeEvents()
        self.telemetry = Telemetry(kind)
        self.autoscalers = FakeAutoscalers(
            msgspec.structs.replace(found, kind=kind.kind, api_version=kind.api_version)
        )
        self.measurements = FakeMeasurements(*(readings or (ExternalValues((30_000,)),)))
        self.selectors = Selectors()
        self.selectors.appear(KEY)
        self.rivals = Rivals()
        self.pods = FakePods(POD)
        self.metric_status_max_age_seconds = metric_status_max_age_seconds
        self.copies = copies
        self.memory_store = memory_store
        self.observers = observers
        self.owners = owners
        self.is_brought_forward = False
        self.version = 7
        self.generation = 0
        self.target_uid = "u1"
        self.watched_version = lambda: str(self.version)
        self.kube.versions[SCALE_PATH] = lambda: str(self.version)
        self.kube.serve(self.kind.object("shop", "web"), {})
        self.scaled(1)
        self.reconciler = self.started()
        self.telemetry.show_desired_replicas(lambda: self.reconciler.desired_replicas())

    def dependencies(self) -> Dependencies:
        return Dependencies(
            kube=self.kube,
            scales=Scales(
                self.kube,
                FakeMapper(resource("apps", "v1", "deployments", "Deployment")),
                self.follow if self.copies else None,
            ),
            autoscalers=self.autoscalers,
            pods=self.pods,
            owners=self.owners,
            selectors=self.selectors,
            rivals=self.rivals,
            measurements=self.measurements,
            events=self.events,
            telemetry=self.telemetry,
            memory_store=self.memory_store,
            observers=self.observers,
            settings=lambda: self.settings,
            is_brought_forward=lambda _: self.is_brought_forward,
        )

    def started(self) -> Reconciler:
        self.settings = Settings(
            kind=self.kind,
            upstream=self.upstream,
            extensions=extensions_of(self.kind),
            scale_to_zero=self.scale_to_zero,
            metric_status_max_age_seconds=self.metric_status_max_age_seconds,
        )
        clock = Clock(now=lambda: self.now_seconds, monotonic=lambda: self.monotonic_seconds)
        return Reconciler(self.dependencies(), self.settings, clock=clock)

    def follow(self, scale_path: str) -> Version:
        """The version that a watch shows, as `scaler.cluster.scales.Follow`."""
        assert scale_path == SCALE_PATH
        return lambda: WatchedVersion(
            resource_version=self.watched_version(), generation=self.generation
        )

    def scaled(self, replicas: int, selector: str = "app=web") -> None:
        """The target has that many replicas."""
        self.replicas = replicas
        self.generation += 1
        status = {"replicas": replicas, "selector": selector}
        self.version += 1
        metadata = {"resourceVersion": str(self.version), "uid": self.target_uid}
        scale = {"metadata": metadata, "spec": {"replicas": replicas}, "status": status}
        self.kube.serve(SCALE_PATH, scale)

    async def reconcile(self) -> bool:
        return await self.reconciler.reconcile(KEY)

    async def sync(self, queue: int | None = None, *, elapsed: float = 15) -> int:
        """After `elapsed` seconds, reconcile with this queue length, and keep what was written; the replicas then.

        None: the metrics API is down.
        """
        self.passes(elapsed)
        down = MetricFailed("unable to fetch metrics from external metrics API: down")
        await self.reconcile_and_keep([down if queue is None else ExternalValues((queue * 1000,))])
        return self.replicas

    async def reconcile_and_keep(self, readings: list[Reading]) -> None:
        """Reconcile with these readings, by the shortcut if it is possible, and keep what was written."""
        self.measurements.readings = readings
        before = len(self.kube.applied)
        if not self.reconciler.repeat(KEY):
            await self.reconcile()
        for path, body in self.kube.applied[before:]:
            self._store(path, body)

    def edit(self, **spec: Any) -> None:
        """A user changes fields of the spec."""
        found = self.autoscalers.by_key[KEY]
        document = {**msgspec.to_builtins(found.spec), **spec}
        self.autoscalers.by_key[KEY] = msgspec.structs.replace(
            found, spec=msgspec.convert(document, AutoscalerSpec)
        )

    def deleted(self) -> None:
        """A user deletes the autoscaler."""
        self.reconciler.deleted(self.autoscalers.by_key.pop(KEY))

    def created(self, found: Autoscaler) -> None:
        """A user creates this autoscaler, of the name of the one that was deleted."""
        self.kube.serve(self.kind.object("shop", "web"), {})
        self.autoscalers.by_key[KEY] = msgspec.structs.replace(
            found, kind=self.kind.kind, api_version=self.kind.api_version
        )

    def passes(self, seconds: float) -> None:
        """Both clocks go on."""
        self.now_seconds += seconds
        self.monotonic_seconds += seconds

    def restart(self) -> None:
        """A new process starts, with clocks of its own."""
        self.monotonic_seconds = 1.0
        self.reconciler = self.started()

    def _store(self, path: str, body: dict[str, Any]) -> None:
        if path == SCALE_PATH:
            self.scaled(body["spec"]["replicas"])
            return
        document = json.dumps(body).encode()
        self.kube.answers[self.kind.object("shop", "web")] = document
        status = msgspec.json.decode(document, type=_WithStatus).status
        self.autoscalers.by_key[KEY] = msgspec.structs.replace(
            self.autoscalers.by_key[KEY], status=status
        )

    def status(self) -> dict[str, Any]:
        """The status that was written last."""
        path, body = self.kube.put[-1]
        assert path == f"{self.kind.object('shop', 'web')}/status"
        return body["status"]

    def conditions(self) -> dict[str, tuple[str, str]]:
        return {
            each["type"]: (each["status"], each["reason"]) for each in self.status()["conditions"]
        }

    def reported(self) -> list[tuple[str, str, str]]:
        return [(each.type.value, each.reason, each.message) for each in self.events.emitted]
