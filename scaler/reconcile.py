"""One reconcile of one autoscaler: read, decide without I/O, write.

Upstream: `reconcileKey` and `reconcileAutoscaler` (horizontal.go). The order of reads, writes and
events is theirs; what is written is decided by `plan`, `decide` and `settle`, which are pure.
"""

import logging
from collections.abc import Sequence

import msgspec

from scaler.actuate.scale import rescale
from scaler.decide import decide
from scaler.model.autoscaler import Autoscaler
from scaler.model.decision import (
    Action,
    Actuation,
    Ask,
    Decision,
    ErrorClass,
    Event,
    NotNeeded,
    Outcome,
    warning,
)
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleUnavailable, TargetPods
from scaler.model.settings import Settings
from scaler.observe.rivals import Selectors, Targets
from scaler.observe.scale import read_scale
from scaler.plan.plan import plan
from scaler.ports import (
    Autoscalers,
    EventSink,
    Mapper,
    Measurements,
    Pods,
    TargetScale,
    TimedReading,
    worded,
)
from scaler.report.status import status_body, stored_memory
from scaler.settle import settle
from scaler.telemetry import Telemetry
from wire.clock import SYSTEM_CLOCK, Clock
from wire.kube.requests import Writer
from wire.labels import Selector
from wire.status import StatusError, Unavailable

log = logging.getLogger(__name__)


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reconcile reads from or writes to."""

    kube: Writer
    mapper: Mapper
    autoscalers: Autoscalers
    pods: Pods
    selectors: Selectors
    rivals: Targets
    measurements: Measurements
    events: EventSink
    telemetry: Telemetry


class Reconciler:
    """Reconciles autoscalers of one kind, and keeps the memory that the algorithm needs between reconciles."""

    def __init__(
        self, dependencies: Dependencies, settings: Settings, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._with = dependencies
        self._settings = settings
        self._kind = settings.kind
        self._clock = clock
        self._memories: dict[str, Memory] = {}
        self._derivations: dict[str, Derivation] = {}

    def derivation(self, key: str) -> Derivation | None:
        """How the last decision on the autoscaler of this key (`namespace/name`) was computed."""
        return self._derivations.get(key)

    def forget_all(self) -> None:
        """Another process may scale from now on, so the memory here becomes out of date."""
        self._memories.clear()
        self._derivations.clear()

    async def reconcile(self, key: str) -> bool:
        """Reconcile once. False when the autoscaler no longer exists; then nothing is remembered of it."""
        autoscaler = self._with.autoscalers.get(key)
        if autoscaler is None:
            self._forget(key)
            return False
        started_seconds = self._clock.monotonic()
        try:
            memory = await self._memory(autoscaler)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            log.warning("%s: not scaled, because its history cannot be read: %s", key, error)
            self._count(Action.NONE, ErrorClass.INTERNAL, started_seconds)
            return True
        outcome = await self._reconcile(autoscaler, memory)
        self._memories[key] = outcome.memory
        self._derivations[key] = outcome.derivation
        self._count(outcome.action, outcome.error_class, started_seconds)
        if outcome.derivation.desired_replicas is not None:
            self._with.telemetry.set_desired_replicas(key, outcome.derivation.desired_replicas)
        return True

    async def _reconcile(self, autoscaler: Autoscaler, memory: Memory) -> Outcome:
        target = await read_scale(self._with.kube, self._with.mapper, autoscaler)
        planned = plan(self._observed(autoscaler, target), memory, self._settings, self._now())
        decision = await self._measure(planned) if isinstance(planned, Ask) else planned
        actuation = await self._actuate(decision, target)
        return await self._report(autoscaler, settle(decision, actuation, self._now()))

    def _observed(self, autoscaler: Autoscaler, target: TargetScale | ScaleUnavailable) -> Observed:
        return Observed(
            autoscaler=autoscaler,
            scale=target if isinstance(target, ScaleUnavailable) else target.view,
            rivals=self._with.rivals.of(autoscaler) if self._kind.yields_to_hpas else (),
        )

    async def _measure(self, ask: Ask) -> Decision:
        """Read what the plan asks for, and decide by it."""
        autoscaler = ask.situation.autoscaler
        pods = self._target_pods(autoscaler, ask.selector)
        gathered: Sequence[TimedReading] = ()
        if not pods.are_ambiguous:
            gathered = await self._with.measurements.read_all(
                autoscaler.metadata.namespace, ask.metrics, ask.selector
            )
        decision = decide(ask, pods, [each.reading for each in gathered], self._now())
        self._with.telemetry.count_metrics(
            decision.derivation.metrics,
            [each.duration_seconds for each in gathered],
            replicas_before=autoscaler.status.current_replicas if autoscaler.status else 0,
        )
        return decision

    def _target_pods(self, autoscaler: Autoscaler, selector: Selector) -> TargetPods:
        namespace, selectors = autoscaler.metadata.namespace, self._with.selectors
        selectors.store(autoscaler.key, selector)
        pods = self._with.pods.matching(namespace, selector)
        return TargetPods(pods=pods, controlled_by=selectors.controllers_of(namespace, pods))

    async def _actuate(
        self, decision: Decision, target: TargetScale | ScaleUnavailable
    ) -> Actuation:
        desired = decision.desired_replicas
        if not decision.rescale or desired is None or isinstance(target, ScaleUnavailable):
            return NotNeeded()
        return await rescale(self._with.kube, target, desired)

    async def _report(self, autoscaler: Autoscaler, outcome: Outcome) -> Outcome:
        self._emit(autoscaler, outcome.events)
        if outcome.status_changed:
            failure = await self._write_status(autoscaler, outcome)
            if failure:
                outcome = msgspec.structs.replace(
                    outcome, error=failure, error_class=ErrorClass.INTERNAL
                )
        self._emit(autoscaler, outcome.events_after_status)
        if outcome.error:
            log.info("%s: %s", autoscaler.key, outcome.error)
        return outcome

    async def _write_status(self, autoscaler: Autoscaler, outcome: Outcome) -> str:
        """Not retried before the next reconcile, as upstream; returns what went wrong."""
        namespace, name = autoscaler.metadata.namespace, autoscaler.metadata.name
        body = status_body(autoscaler, outcome.status, outcome.memory, self._kind)
        try:
            await self._with.kube.replace(f"{self._kind.object(namespace, name)}/status", body)
        except (StatusError, Unavailable) as error:
            message = worded(error, verb="put", resource=self._kind.plural, name=name)
            self._emit(autoscaler, (warning("FailedUpdateStatus", message),))
            return f"failed to update status for {name}: {message}"
        return ""

    def _emit(self, autoscaler: Autoscaler, events: Sequence[Event]) -> None:
        for event in events:
            self._with.events.emit(autoscaler, event)

    async def _memory(self, autoscaler: Autoscaler) -> Memory:
        """The memory of this process; at the first reconcile, the one stored in the status, if there is one."""
        known = self._memories.get(autoscaler.key)
        if known is not None:
            return known
        if not self._kind.keeps_history:
            return Memory()
        path = self._kind.object(autoscaler.metadata.namespace, autoscaler.metadata.name)
        return stored_memory(await self._with.kube.get(path))

    def _forget(self, key: str) -> None:
        self._memories.pop(key, None)
        self._derivations.pop(key, None)
        self._with.telemetry.forget(key)

    def _now(self) -> float:
        return self._clock.now()

    def _count(self, action: Action, error: ErrorClass, started_seconds: float) -> None:
        labels = (action.value, error.value)
        elapsed_seconds = self._clock.monotonic() - started_seconds
        self._with.telemetry.reconciliations_total.labels(*labels).inc()
        self._with.telemetry.reconciliation_duration_seconds.labels(*labels).observe(
            elapsed_seconds
        )
