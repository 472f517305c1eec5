"""One look at one autoscaler: read, then think without I/O, then write.

Upstream: `reconcileKey` and `reconcileAutoscaler` (horizontal.go). The order of reads, writes and
events is theirs; what they decide between is `scaler.recommend` and `scaler.normalize`.
"""

import logging
import time
from collections.abc import Callable, Sequence

import msgspec

from scaler.actuate.scale import rescale
from scaler.decide import decide
from scaler.model.autoscaler import Autoscaler
from scaler.model.decision import (
    Action,
    Actuation,
    Branch,
    Decision,
    ErrorClass,
    Event,
    EventType,
    NotAsked,
    Outcome,
)
from scaler.model.derivation import Derivation
from scaler.model.kinds import WatchedKind
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleUnavailable
from scaler.model.settings import Settings
from scaler.observe.rivals import Selectors, Targets
from scaler.observe.scale import read_scale
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
from scaler.recommend.branch import wants_metrics
from scaler.recommend.combine import metrics_of
from scaler.recommend.selector import SelectorProblem, target_selector
from scaler.report.conditions import Conditions
from scaler.report.status import status_body, stored_memory
from scaler.settle import settle
from scaler.telemetry import Telemetry
from wire.kube.requests import Writer
from wire.labels import Selector
from wire.status import StatusError, Unavailable

log = logging.getLogger(__name__)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a look reads from or writes to."""

    kube: Writer
    mapper: Mapper
    autoscalers: Autoscalers
    pods: Pods
    selectors: Selectors
    rivals: Targets
    measurements: Measurements
    events: EventSink
    telemetry: Telemetry


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed, where to write, and whose metrics to ask for; None where there is nothing to."""

    observed: Observed
    target: TargetScale | None = None
    selector: Selector | None = None


class Reconciler:
    """Looks at autoscalers of one kind, and remembers between looks what the algorithm must know."""

    def __init__(
        self,
        around: Surroundings,
        kind: WatchedKind,
        settings: Settings,
        *,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`now` in Unix seconds."""
        self._around = around
        self._kind = kind
        self._settings = settings
        self._now = now
        self._monotonic = monotonic
        self._memories: dict[str, Memory] = {}
        self._derivations: dict[str, Derivation] = {}

    def derivation(self, key: str) -> Derivation | None:
        """How the last decision on it came about."""
        return self._derivations.get(key)

    def forget_all(self) -> None:
        """Somebody else may scale from now on: what we remember will not be true when we come back."""
        self._memories.clear()
        self._derivations.clear()

    async def look(self, key: str) -> bool:
        """One look; False when the autoscaler is gone, and then nothing is remembered of it."""
        autoscaler = self._around.autoscalers.get(key)
        if autoscaler is None:
            self._forget(key)
            return False
        started_seconds = self._monotonic()
        try:
            memory = await self._memory(autoscaler)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            log.warning("%s: its history cannot be read, so it is not scaled: %s", key, error)
            self._count(Action.NONE, ErrorClass.INTERNAL, started_seconds)
            return True
        outcome = await self._reconcile(autoscaler, memory)
        self._memories[key] = outcome.memory
        self._derivations[key] = outcome.derivation
        self._count(outcome.action, outcome.error_class, started_seconds)
        if outcome.derivation.desired_replicas is not None:
            self._around.telemetry.set_desired_replicas(key, outcome.derivation.desired_replicas)
        return True

    async def _reconcile(self, autoscaler: Autoscaler, memory: Memory) -> Outcome:
        seen = await self._observe(autoscaler)
        gathered = await self._gather(seen)

        decision = self._decide(seen.observed, gathered, memory)

        actuation = await self._actuate(decision, seen.target)
        outcome = settle(decision, actuation, self._now())
        return await self._report(autoscaler, outcome)

    async def _observe(self, autoscaler: Autoscaler) -> Seen:
        around = self._around
        target = await read_scale(around.kube, around.mapper, autoscaler)
        if isinstance(target, ScaleUnavailable):
            return Seen(observed=Observed(autoscaler=autoscaler, scale=target))
        observed = Observed(autoscaler=autoscaler, scale=target.view)
        if not wants_metrics(observed, self._settings):
            return Seen(observed=observed, target=target)
        selector = target_selector(target.view)
        if isinstance(selector, SelectorProblem):
            return Seen(observed=observed, target=target)
        around.selectors.store(autoscaler.key, selector)
        namespace = autoscaler.metadata.namespace
        pods = around.pods.matching(namespace, selector)
        controllers = around.selectors.controllers_of(namespace, pods)
        rivals = around.rivals.of(autoscaler)
        if rivals:
            controllers = (autoscaler.key, *rivals)
        observed = msgspec.structs.replace(observed, pods=pods, controlled_by=controllers)
        is_ours_alone = len(controllers) <= 1
        return Seen(observed=observed, target=target, selector=selector if is_ours_alone else None)

    async def _gather(self, seen: Seen) -> tuple[TimedReading, ...]:
        """Every metric, in the order of the spec."""
        if seen.selector is None:
            return ()
        autoscaler = seen.observed.autoscaler
        return await self._around.measurements.read_all(
            autoscaler.metadata.namespace, metrics_of(autoscaler.spec), seen.selector
        )

    def _decide(
        self, observed: Observed, gathered: Sequence[TimedReading], memory: Memory
    ) -> Decision:
        autoscaler = observed.autoscaler
        rivals = self._around.rivals.of(autoscaler)
        if rivals:
            return stand_back(observed, rivals, memory, self._settings, self._now())
        readings = [each.reading for each in gathered]
        decision = decide(observed, readings, memory, self._settings, self._now())
        before = autoscaler.status.current_replicas if autoscaler.status else 0
        durations_seconds = [each.duration_seconds for each in gathered]
        self._around.telemetry.count_metrics(
            decision.derivation.metrics, durations_seconds, replicas_before=before
        )
        return decision

    async def _actuate(self, decision: Decision, target: TargetScale | None) -> Actuation:
        if not decision.rescale or target is None or decision.desired_replicas is None:
            return NotAsked()
        return await rescale(self._around.kube, target, decision.desired_replicas)

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
        """Not tried again before the next look, as upstream; returns what went wrong."""
        namespace, name = autoscaler.metadata.namespace, autoscaler.metadata.name
        body = status_body(autoscaler, outcome.status, outcome.memory, self._kind)
        try:
            await self._around.kube.replace(f"{self._kind.object(namespace, name)}/status", body)
        except (StatusError, Unavailable) as error:
            message = worded(error, verb="put", resource=self._kind.plural, name=name)
            event = Event(type=EventType.WARNING, reason="FailedUpdateStatus", message=message)
            self._emit(autoscaler, (event,))
            return f"failed to update status for {name}: {message}"
        return ""

    def _emit(self, autoscaler: Autoscaler, events: Sequence[Event]) -> None:
        for event in events:
            self._around.events.emit(autoscaler, event)

    async def _memory(self, autoscaler: Autoscaler) -> Memory:
        """What we remember; at the first look, what a LoadAutoscaler's status remembers for us."""
        known = self._memories.get(autoscaler.key)
        if known is not None:
            return known
        if not self._kind.keeps_history:
            return Memory()
        path = self._kind.object(autoscaler.metadata.namespace, autoscaler.metadata.name)
        return stored_memory(await self._around.kube.get(path))

    def _forget(self, key: str) -> None:
        self._memories.pop(key, None)
        self._derivations.pop(key, None)
        self._around.telemetry.forget(key)

    def _count(self, action: Action, error: ErrorClass, started_seconds: float) -> None:
        labels = (action.value, error.value)
        elapsed_seconds = self._monotonic() - started_seconds
        self._around.telemetry.reconciliations_total.labels(*labels).inc()
        self._around.telemetry.reconciliation_duration_seconds.labels(*labels).observe(
            elapsed_seconds
        )


def stand_back(
    observed: Observed,
    rivals: Sequence[str],
    memory: Memory,
    settings: Settings,
    now_unix_seconds: float,
) -> Decision:
    """Refuse a target that an autoscaler of another kind scales, on every branch: else the two would fight.

    Ours, not upstream's, whose controller sees only one kind.
    """
    blinded = msgspec.structs.replace(observed, controlled_by=(observed.autoscaler.key, *rivals))
    decision = decide(blinded, (), memory, settings, now_unix_seconds)
    if decision.branch is Branch.NO_SCALE:
        return decision
    target = observed.autoscaler.spec.scale_target_ref
    message = (
        f"{target.kind}/{target.name} is scaled by {' and '.join(rivals)} as well: "
        "delete one of them"
    )
    conditions = Conditions(decision.conditions, now_unix_seconds)
    conditions.scaling_inactive("AmbiguousSelector", message)
    return msgspec.structs.replace(
        decision,
        desired_replicas=None,
        rescale=False,
        rescale_reason="",
        conditions=conditions.as_tuple(),
        events=(Event(type=EventType.WARNING, reason="AmbiguousSelector", message=message),),
        events_after_status=(),
        memory=memory,
        error=message,
        error_class=ErrorClass.SPEC,
        derivation=Derivation(
            autoscaler=observed.autoscaler.key,
            made_at_unix_seconds=now_unix_seconds,
            branch=decision.branch.value,
            problem=message,
            current_replicas=decision.current_replicas,
        ),
    )
