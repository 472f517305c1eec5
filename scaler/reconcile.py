"""One reconcile of one autoscaler: read, decide without I/O, write.

Upstream: `reconcileKey` and `reconcileAutoscaler` (horizontal.go). The order of reads, writes and
events is theirs; what is written is decided by `plan`, `decide` and `settle`, which are pure.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from scaler.actuate.deletion_cost import write_deletion_costs
from scaler.actuate.scale import rescale
from scaler.decide import decide
from scaler.memory.memories import Histories, Memories
from scaler.model.autoscaler import Autoscaler, AutoscalerStatus
from scaler.model.decision import (
    Action,
    Actuation,
    Ask,
    Decision,
    ErrorClass,
    Event,
    EventType,
    NotNeeded,
    Outcome,
    RescaleFailed,
    warning,
)
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleUnavailable, TargetPods
from scaler.model.schedules import FoundCalendar
from scaler.model.settings import Settings
from scaler.observe.rivals import Selectors, Targets
from scaler.plan.plan import plan
from scaler.ports import (
    Autoscalers,
    EventSink,
    Measurements,
    Pods,
    Scales,
    TargetScale,
    TimedReading,
    worded,
)
from scaler.report.repetition import Repetition
from scaler.report.status import status_body
from scaler.settle import settle
from scaler.telemetry import Telemetry
from wire import kube_json
from wire.clock import SYSTEM_CLOCK, Clock
from wire.kube.requests import Writer
from wire.labels import NOTHING, Selector
from wire.meta import ObjectMeta
from wire.status import StatusError, Unavailable

# A decision that waits longer for the newest Scale is made again, with newly read metrics.
DECISION_SECONDS_MAX = 1.0

log = logging.getLogger(__name__)


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reconcile reads from or writes to."""

    kube: Writer
    scales: Scales
    autoscalers: Autoscalers
    pods: Pods
    selectors: Selectors
    rivals: Targets
    measurements: Measurements
    events: EventSink
    telemetry: Telemetry
    outdated: Callable[[str], str] = lambda _: ""
    """Why the cached objects of a namespace may be out of date; empty while they are not."""
    histories: Histories | None = None
    """Where the memories of HPAs are stored."""
    calendars: Callable[[Autoscaler], tuple[FoundCalendar, ...]] = lambda _: ()
    """The calendars that the schedules of an autoscaler refer to."""
    other_clock_ahead_seconds: Callable[[], float] = lambda: 0.0
    """How far the wall clock of the previous leader was ahead of this one."""


class Reconciler:
    """Reconciles autoscalers of one kind, and keeps the memory that the algorithm needs between reconciles."""

    def __init__(
        self, dependencies: Dependencies, settings: Settings, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._with = dependencies
        self._settings = settings
        self._kind = settings.kind
        self._clock = clock
        self._memories = Memories(
            dependencies.kube,
            settings.kind,
            clock,
            store=dependencies.histories,
            other_clock_ahead_seconds=dependencies.other_clock_ahead_seconds,
        )
        self._derivations: dict[str, Derivation] = {}
        self._repetition = Repetition()

    def derivation(self, key: str) -> Derivation | None:
        """How the last decision on the autoscaler of this key (`namespace/name`) was computed."""
        return self._derivations.get(key)

    def forget_memories(self) -> None:
        """Another process has scaled. Otherwise the memories here are more recent than those that are stored."""
        self._memories.clear()

    def forget_deleted(self) -> None:
        """Forget the autoscalers that were deleted while this process did not lead."""
        for key in tuple(self._memories):
            if self._with.autoscalers.get(key) is None:
                self._forget(key)

    def stop_leading(self) -> None:
        """Others may change from now on what was read; the memories stay, in case that no other process leads."""
        self._derivations.clear()
        self._with.scales.clear()

    async def reconcile(self, key: str) -> bool:
        """Reconcile once. False when the autoscaler no longer exists; then nothing is remembered of it."""
        autoscaler = self._with.autoscalers.get(key)
        if autoscaler is None:
            self._forget(key)
            return False
        try:
            await self._reconcile_existing(autoscaler)
        except Exception as error:
            # A bug. The controller logs and counts it; the owner of the autoscaler sees it there.
            self._emit(autoscaler, (warning("InternalError", f"the reconcile failed: {error!r}"),))
            raise
        finally:
            if self._repetition.finish(key):
                log.info("%s: reconciled without errors again", key)
        return True

    async def _reconcile_existing(self, autoscaler: Autoscaler) -> None:
        key = autoscaler.key
        started_seconds = self._clock.monotonic()
        try:
            memory = await self._memories.of(autoscaler)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            self._log(key, f"not scaled, because its history cannot be read: {error}")
            self._count(Action.NONE, ErrorClass.INTERNAL, started_seconds)
            return
        try:
            outcome = await self._reconcile(autoscaler, memory, self._clock.steady_now())
        except asyncio.CancelledError:
            self._memories.discard(key)
            raise
        self._memories.keep(autoscaler, outcome, _replicas_after(outcome))
        self._derivations[key] = outcome.derivation
        self._count(outcome.action, outcome.error_class, started_seconds)
        if outcome.derivation.desired_replicas is not None:
            self._with.telemetry.set_desired_replicas(key, outcome.derivation.desired_replicas)

    async def _reconcile(
        self, autoscaler: Autoscaler, memory: Memory, now: Callable[[], float]
    ) -> Outcome:
        """`now` in Unix seconds; a step of the wall clock does not move it."""
        target = await self._with.scales.read(autoscaler)
        decision = await self._decide(autoscaler, target, memory, now)
        if decision.rescale and _is_copy(target):
            # Nothing is written on the basis of a copy: it may be some milliseconds old.
            copy, decided_at_seconds = target, now()
            target = await self._with.scales.read(autoscaler, newest=True)
            is_old = now() - decided_at_seconds > DECISION_SECONDS_MAX
            if is_old or not _same_scale(copy, target):
                decision = await self._decide(autoscaler, target, memory, now)
        autoscaler, problem = await self._store_intention(autoscaler, decision)
        if problem:
            actuation: Actuation = RescaleFailed(problem)
        else:
            actuation = await self._actuate(decision, target)
        return await self._report(autoscaler, settle(decision, actuation, now()))

    async def _decide(
        self,
        autoscaler: Autoscaler,
        target: TargetScale | ScaleUnavailable,
        memory: Memory,
        now: Callable[[], float],
    ) -> Decision:
        if log.isEnabledFor(logging.DEBUG) and isinstance(target, TargetScale):
            _log_replicas(autoscaler, target)
        planned = plan(self._observed(autoscaler, target), memory, self._settings, now())
        return await self._measure(planned, now) if isinstance(planned, Ask) else planned

    def _observed(self, autoscaler: Autoscaler, target: TargetScale | ScaleUnavailable) -> Observed:
        return Observed(
            autoscaler=autoscaler,
            scale=target if isinstance(target, ScaleUnavailable) else target.view,
            outdated=self._with.outdated(autoscaler.metadata.namespace),
            rivals=self._rivals(autoscaler),
            calendars=self._with.calendars(autoscaler) if autoscaler.spec.schedules else (),
        )

    def _rivals(self, autoscaler: Autoscaler) -> tuple[str, ...]:
        if not self._kind.shares_no_target or autoscaler.is_dry_run:
            return ()
        return self._with.rivals.rivals_of(autoscaler, self._kind.kind)

    async def _measure(self, ask: Ask, now: Callable[[], float]) -> Decision:
        """Read what the plan asks for, and decide by it."""
        autoscaler = ask.situation.autoscaler
        pods = self._target_pods(autoscaler, ask.selector)
        gathered: Sequence[TimedReading] = ()
        if not pods.are_ambiguous:
            gathered = await self._with.measurements.read_all(
                autoscaler.metadata.namespace,
                ask.metrics,
                ask.selector,
                period_seconds=autoscaler.spec.sync_period_seconds,
            )
        decision = decide(ask, pods, [each.reading for each in gathered], now())
        self._with.telemetry.count_metrics(
            decision.derivation.metrics,
            [each.duration_seconds for each in gathered],
            replicas_before=autoscaler.status.current_replicas if autoscaler.status else 0,
        )
        return decision

    def _target_pods(self, autoscaler: Autoscaler, selector: Selector) -> TargetPods:
        namespace, selectors = autoscaler.metadata.namespace, self._with.selectors
        pods = self._with.pods.matching(namespace, selector)
        if autoscaler.is_dry_run:
            # It scales nothing, so it conflicts with no other autoscaler.
            selectors.store(autoscaler.key, NOTHING)
            return TargetPods(pods=pods)
        selectors.store(autoscaler.key, selector)
        return TargetPods(pods=pods, controlled_by=selectors.controllers_of(namespace, pods))

    async def _store_intention(
        self, autoscaler: Autoscaler, decision: Decision
    ) -> tuple[Autoscaler, str]:
        """Before the scale is set to zero, store that the scaler does it: nothing else distinguishes it from a user's zero.

        The autoscaler in its new version, and what went wrong.
        """
        goes_to_zero = decision.rescale and decision.desired_replicas == 0
        if not (self._kind.keeps_history and goes_to_zero and decision.memory.scaled_to_zero):
            return autoscaler, ""
        # Also if it is stored already: the write fails if the autoscaler was deleted and created again meanwhile.
        unchanged = autoscaler.status or AutoscalerStatus()
        try:
            body = await self._put_status(autoscaler, unchanged, decision.memory)
        except (StatusError, Unavailable) as error:
            name = autoscaler.metadata.name
            return autoscaler, worded(error, verb="put", resource=self._kind.plural, name=name)
        metadata = msgspec.structs.replace(
            autoscaler.metadata, resource_version=_resource_version(body, autoscaler)
        )
        return msgspec.structs.replace(autoscaler, metadata=metadata), ""

    async def _actuate(
        self, decision: Decision, target: TargetScale | ScaleUnavailable
    ) -> Actuation:
        desired = decision.desired_replicas
        if not decision.rescale or desired is None or isinstance(target, ScaleUnavailable):
            return NotNeeded()
        if decision.deletion_costs:
            await self._mark_pods(decision)
        self._with.scales.forget(decision.autoscaler.key)
        return await rescale(self._with.kube, target, desired)

    async def _mark_pods(self, decision: Decision) -> None:
        """So that the least busy pods are deleted. A failure is reported, and does not stop the scale-down."""
        autoscaler = decision.autoscaler
        problem = await write_deletion_costs(
            self._with.kube, autoscaler.metadata.namespace, decision.deletion_costs
        )
        if problem:
            self._emit(autoscaler, (warning("FailedPodDeletionCost", problem),))

    async def _report(self, autoscaler: Autoscaler, outcome: Outcome) -> Outcome:
        self._emit(autoscaler, outcome.events)
        if outcome.status_changed or self._memories.must_store(autoscaler, outcome):
            failure = await self._write_status(autoscaler, outcome)
            if failure:
                outcome = msgspec.structs.replace(
                    outcome, error=failure, error_class=ErrorClass.INTERNAL
                )
        self._emit(autoscaler, outcome.events_after_status)
        if outcome.error:
            self._log(autoscaler.key, outcome.error)
        return outcome

    async def _write_status(self, autoscaler: Autoscaler, outcome: Outcome) -> str:
        """Not retried before the next reconcile, as upstream; returns what went wrong."""
        name = autoscaler.metadata.name
        try:
            await self._put_status(autoscaler, outcome.status, outcome.memory)
        except (StatusError, Unavailable) as error:
            message = worded(error, verb="put", resource=self._kind.plural, name=name)
            self._emit(autoscaler, (warning("FailedUpdateStatus", message),))
            return f"failed to update status for {name}: {message}"
        return ""

    async def _put_status(
        self, autoscaler: Autoscaler, status: AutoscalerStatus, memory: Memory
    ) -> bytes:
        namespace, name = autoscaler.metadata.namespace, autoscaler.metadata.name
        body = status_body(autoscaler, status, memory, self._kind)
        written = await self._with.kube.replace(
            f"{self._kind.object(namespace, name)}/status", body
        )
        self._memories.was_stored(autoscaler, memory)
        return written

    def _emit(self, autoscaler: Autoscaler, events: Sequence[Event]) -> None:
        for event in events:
            if self._is_news(autoscaler.key, event):
                self._with.events.emit(autoscaler, event)

    def _is_news(self, key: str, event: Event) -> bool:
        """A failure that lasts is an event once, unless kube-controller-manager's events are to be matched."""
        if event.type is EventType.NORMAL or not self._kind.reports_changes_only:
            return True
        return self._repetition.is_news(key, event, self._clock.monotonic())

    def _log(self, key: str, error: str) -> None:
        """Once for an error that stays the same."""
        if self._repetition.is_news(key, error, self._clock.monotonic()):
            log.warning("%s: %s", key, error)

    def _forget(self, key: str) -> None:
        self._memories.forget(key)
        self._with.scales.forget(key)
        self._repetition.forget(key)
        self._derivations.pop(key, None)
        self._with.telemetry.forget(key)

    def _count(self, action: Action, error: ErrorClass, started_seconds: float) -> None:
        labels = (action.value, error.value)
        elapsed_seconds = self._clock.monotonic() - started_seconds
        self._with.telemetry.reconciliations_total.labels(*labels).inc()
        self._with.telemetry.reconciliation_duration_seconds.labels(*labels).observe(
            elapsed_seconds
        )


def _replicas_after(outcome: Outcome) -> int | None:
    """What the target has after the reconcile; None if it could not be read, or a write got no response."""
    if outcome.memory.unconfirmed is not None:
        return None
    if outcome.action is Action.NONE:
        return outcome.derivation.current_replicas
    return outcome.derivation.desired_replicas


def _log_replicas(autoscaler: Autoscaler, target: TargetScale) -> None:
    name = f"{autoscaler.metadata.namespace}/{autoscaler.spec.scale_target_ref.name}"
    replicas, pods = target.view.spec_replicas, target.view.status_replicas
    log.debug("%s: target %s, %d replicas, %d pods", autoscaler.key, name, replicas, pods)


def _is_copy(target: TargetScale | ScaleUnavailable) -> bool:
    return isinstance(target, TargetScale) and target.is_copy


def _same_scale(
    copy: TargetScale | ScaleUnavailable, newest: TargetScale | ScaleUnavailable
) -> bool:
    return (
        isinstance(copy, TargetScale)
        and isinstance(newest, TargetScale)
        and (copy.uid, copy.view) == (newest.uid, newest.view)
    )


class _Versioned(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def _resource_version(body: bytes, autoscaler: Autoscaler) -> str:
    """Of the object in the API server's answer, so that a second write does not conflict."""
    try:
        written = kube_json.decode(body, _Versioned).metadata.resource_version
    except msgspec.DecodeError:
        written = ""
    return written or autoscaler.metadata.resource_version
