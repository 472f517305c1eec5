"""One reconcile of one autoscaler: read, decide without I/O, write.

Upstream: `reconcileKey` and `reconcileAutoscaler` (horizontal.go). The order of reads, writes and
events is theirs; what is written is decided by `plan`, `decide` and `settle`, which are pure.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

import msgspec

from scaler.algorithm.decision import (
    Action,
    Actuation,
    Decision,
    ErrorClass,
    Event,
    EventType,
    NotNeeded,
    Outcome,
    RescaleFailed,
    warning,
)
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import ScaleUnavailable
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import memory_after_refusal, replicas_after, settle
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus
from scaler.cluster.clock import SYSTEM_CLOCK, Clock
from scaler.cluster.pod_deletion_costs import write_deletion_costs
from scaler.cluster.ports import TargetScale, TimedReading, same_scale, worded
from scaler.cluster.repetition import Repetition
from scaler.cluster.rescale import checked_age, may_write_copy, rescale, rescale_unchanged
from scaler.cluster.status import status_body, written_version
from scaler.control.decisions import NOT_GATHERED, Decisions, Gathered
from scaler.control.dependencies import Dependencies
from scaler.control.last_decision import LastDecision, Made
from scaler.control.memories import Memories
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import BeforeEach

# A decision that waits longer for the newest Scale is made again, with newly read metrics.
DECISION_SECONDS_MAX = 1.0

log = logging.getLogger(__name__)


def every(_: str) -> bool:
    """Includes the autoscaler of every key."""
    return True


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
            settings,
            clock,
            store=dependencies.histories,
            other_clock_ahead_seconds=dependencies.other_clock_ahead_seconds,
        )
        self._decisions = Decisions(dependencies, settings, self._memories, clock)
        self._derivations: dict[str, Derivation] = {}
        self._repeated_at_unix_seconds: dict[str, float] = {}
        self._repetition = Repetition()
        self._written_at_seconds: dict[str, float] = {}

    def derivation(self, key: str) -> Derivation | None:
        """How the last decision on the autoscaler of this key (`namespace/name`) was computed."""
        found = self._derivations.get(key)
        repeated_at = self._repeated_at_unix_seconds.get(key)
        if found is None or repeated_at is None:
            return found
        return msgspec.structs.replace(found, made_at_unix_seconds=repeated_at)

    def forget_memories(self, includes: Callable[[str], bool] = every) -> None:
        """Another process has scaled these. Otherwise the memories here are more recent than those that are stored."""
        self._memories.clear(includes)

    def forget_deleted(self) -> None:
        """Forget the autoscalers that were deleted while this process did not lead."""
        for key in tuple(self._memories):
            if self._with.autoscalers.get(key) is None:
                self._forget(key)

    def leave(self, includes: Callable[[str], bool] = every) -> None:
        """Other processes may scale these from now on; the memories stay, in case that none does."""
        self._decisions.clear(includes)
        if self._with.warm_starts is not None:
            self._with.warm_starts.clear(includes)
        self._with.scales.clear(includes)
        for key in [key for key in self._derivations if includes(key)]:
            del self._derivations[key]
            self._repeated_at_unix_seconds.pop(key, None)
            self._with.telemetry.forget(key)

    def repeat(self, key: str) -> bool:
        """Reconcile, if that neither needs a request nor changes anything; False if it may."""
        started_seconds = self._clock.monotonic()
        last = self._decisions.repeated(key)
        if last is None:
            return False
        readings = [TimedReading(each, 0.0) for each in last.readings]
        self._repeat(last, readings, started_seconds)
        return True

    def may_rescale(self, key: str) -> bool:
        """Whether a reconcile might change the replica count now; True if that is not known without a request."""
        return self._decisions.may_rescale(key)

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
        last, gathered = self._decisions.unchanged(key), NOT_GATHERED
        if last is not None:
            gathered = await self._decisions.gather(last)
            if self._decisions.holds(last, gathered):
                self._repeat(last, gathered.readings, started_seconds)
                return
        try:
            memory = await self._memories.of(autoscaler)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            self._log(key, f"not scaled, because its history cannot be read: {error}")
            self._count(Action.NONE, ErrorClass.INTERNAL, started_seconds)
            return
        now = self._clock.steady_now()
        try:
            made, outcome = await self._reconcile(
                autoscaler, memory, now, gathered, started_seconds
            )
        except asyncio.CancelledError:
            self._memories.discard(key)
            raise
        self._decisions.keep(autoscaler, made, outcome)
        if (warm_starts := self._with.warm_starts) is not None:
            warm_starts.follow(autoscaler, made.decision.policy, outcome.memory)
        self._repeated_at_unix_seconds.pop(key, None)
        self._derivations[key] = outcome.derivation
        self._count(outcome.action, outcome.error_class, started_seconds)
        if outcome.derivation.desired_replicas is not None:
            self._with.telemetry.set_desired_replicas(key, outcome.derivation.desired_replicas)

    def _repeat(
        self, last: LastDecision, readings: Sequence[TimedReading], started_seconds: float
    ) -> None:
        """Count a reconcile that would decide as the last one, which wrote and reported nothing."""
        key, now = last.autoscaler.key, self._clock.now()
        if log.isEnabledFor(logging.DEBUG):
            _log_replicas(last.autoscaler, last.target)
        if last.continues_recommendation:
            self._memories.continue_until(key, now)
        self._repeated_at_unix_seconds[key] = now
        self._with.telemetry.repeated_decisions_total.inc()
        self._count_metrics(last.made, readings)
        self._count(Action.NONE, ErrorClass.NONE, started_seconds)

    async def _reconcile(
        self,
        autoscaler: Autoscaler,
        memory: Memory,
        now: Callable[[], float],
        gathered: Gathered,
        started_seconds: float,
    ) -> tuple[Made, Outcome]:
        """`now` in Unix seconds; a step of the wall clock does not move it."""
        target = await self._with.scales.read(autoscaler)
        # Metrics that are not gathered are read from now on.
        check = self._checked_age(started_seconds if gathered.readings else self._clock.monotonic())
        made = await self._decide(autoscaler, target, memory, now, gathered)
        if made.decision.rescale and isinstance(target, TargetScale) and target.is_copy:
            is_sent = may_write_copy(made.decision)
            written = await self._rescale_copy(made.decision, target, check) if is_sent else None
            if written is not None:
                return made, await self._settle(autoscaler, settle(made.decision, written, now()))
            copy, decided_at_seconds = target, now()
            target = await self._with.scales.read(autoscaler, newest=True)
            is_old = now() - decided_at_seconds > DECISION_SECONDS_MAX
            if is_old or not same_scale(copy, target):
                if is_sent:
                    newest = target.view if isinstance(target, TargetScale) else None
                    memory = memory_after_refusal(memory, made.decision, newest, decided_at_seconds)
                check = self._checked_age(self._clock.monotonic())
                made = await self._decide(autoscaler, target, memory, now)
        autoscaler, problem = await self._store_intention(autoscaler, made.decision)
        if problem:
            actuation: Actuation = RescaleFailed(problem)
        else:
            actuation = await self._actuate(made.decision, target, check)
        return made, await self._settle(autoscaler, settle(made.decision, actuation, now()))

    async def _decide(
        self,
        autoscaler: Autoscaler,
        target: TargetScale | ScaleUnavailable,
        memory: Memory,
        now: Callable[[], float],
        gathered: Gathered = NOT_GATHERED,
    ) -> Made:
        if log.isEnabledFor(logging.DEBUG) and isinstance(target, TargetScale):
            _log_replicas(autoscaler, target)
        made = await self._decisions.make(autoscaler, target, memory, now, gathered)
        if made.measured is not None:
            self._count_metrics(made, made.measured.readings)
        return made

    def _count_metrics(self, made: Made, readings: Sequence[TimedReading]) -> None:
        status = made.decision.autoscaler.status
        self._with.telemetry.count_metrics(
            made.decision.derivation.metrics,
            [each.duration_seconds for each in readings],
            replicas_before=status.current_replicas if status else 0,
        )

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
            autoscaler.metadata, resource_version=written_version(body, autoscaler)
        )
        return msgspec.structs.replace(autoscaler, metadata=metadata), ""

    def _checked_age(self, read_since_seconds: float) -> BeforeEach:
        return checked_age(
            read_since_seconds, self._settings.sync_period_seconds, self._clock.monotonic
        )

    async def _actuate(
        self, decision: Decision, target: TargetScale | ScaleUnavailable, check: BeforeEach
    ) -> Actuation:
        desired = decision.desired_replicas
        if not decision.rescale or desired is None or isinstance(target, ScaleUnavailable):
            return NotNeeded()
        if decision.pod_costs:
            await self._mark_pods(decision)
        self._with.scales.forget(decision.autoscaler.key)
        return await rescale(self._with.kube, target, desired, before_each=check)

    async def _rescale_copy(
        self, decision: Decision, copy: TargetScale, check: BeforeEach
    ) -> Actuation | None:
        """Write on the basis of a copy, which succeeds only if it is not outdated; None if the Scale must be read first."""
        self._with.scales.forget(decision.autoscaler.key)
        desired = decision.desired_replicas or 0
        return await rescale_unchanged(self._with.kube, copy, desired, before_each=check)

    async def _mark_pods(self, decision: Decision) -> None:
        """So that the least busy pods are deleted. A failure is reported, and does not stop the scale-down."""
        autoscaler = decision.autoscaler
        problem = await write_deletion_costs(
            self._with.kube, autoscaler.metadata.namespace, decision.pod_costs
        )
        if problem:
            self._emit(autoscaler, (warning("FailedPodDeletionCost", problem),))

    async def _settle(self, autoscaler: Autoscaler, outcome: Outcome) -> Outcome:
        # Before the status is written: that may take as long as any request, and the process may end meanwhile.
        self._memories.keep(autoscaler, outcome, replicas_after(outcome))
        return await self._report(autoscaler, outcome)

    async def _report(self, autoscaler: Autoscaler, outcome: Outcome) -> Outcome:
        self._emit(autoscaler, outcome.events)
        if self._must_write(autoscaler, outcome):
            failure = await self._write_status(autoscaler, outcome)
            if failure:
                outcome = msgspec.structs.replace(
                    outcome, error=failure, error_class=ErrorClass.INTERNAL
                )
        self._emit(autoscaler, outcome.events_after_status)
        if outcome.error:
            self._log(autoscaler.key, outcome.error)
        return outcome

    def _must_write(self, autoscaler: Autoscaler, outcome: Outcome) -> bool:
        """Whether the status says something new, or has said the same about the metrics for too long."""
        if self._memories.must_store(autoscaler, outcome):
            return True
        if not outcome.status_may_wait:
            return outcome.status_changed
        written_at_seconds = self._written_at_seconds.get(autoscaler.key, -math.inf)
        age_seconds = self._clock.monotonic() - written_at_seconds
        return age_seconds >= self._settings.metric_status_max_age_seconds

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
        history = history_of(memory, self._settings.extensions)
        body = status_body(autoscaler, status, history, self._kind)
        written = await self._with.kube.replace(
            f"{self._kind.object(namespace, name)}/status", body
        )
        self._memories.was_stored(autoscaler, memory)
        self._written_at_seconds[autoscaler.key] = self._clock.monotonic()
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
        self._written_at_seconds.pop(key, None)
        self._decisions.forget(key)
        self._with.followers.forget(key)
        if self._with.warm_starts is not None:
            self._with.warm_starts.forget(key)
        self._derivations.pop(key, None)
        self._repeated_at_unix_seconds.pop(key, None)
        self._with.telemetry.forget(key)

    def _count(self, action: Action, error: ErrorClass, started_seconds: float) -> None:
        seconds = self._clock.monotonic() - started_seconds
        self._with.telemetry.count_reconcile(action, error, seconds)


def _log_replicas(autoscaler: Autoscaler, target: TargetScale) -> None:
    name = f"{autoscaler.metadata.namespace}/{autoscaler.spec.scale_target_ref.name}"
    replicas, pods = target.view.spec_replicas, target.view.status_replicas
    log.debug("%s: target %s, %d replicas, %d pods", autoscaler.key, name, replicas, pods)
