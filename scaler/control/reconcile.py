"""One reconcile of one autoscaler: read, decide without I/O, write.

Upstream: `reconcileKey` and `reconcileAutoscaler` (horizontal.go). The order of reads, writes and
events is theirs; what is written is decided by `plan`, `decide` and `settle`, which are pure.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from scaler.algorithm.decision import (
    Action,
    Actuation,
    Decision,
    ErrorClass,
    NotNeeded,
    Outcome,
    RescaleFailed,
    warning,
)
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.memory import AnyMemory, Memory
from scaler.algorithm.observed import ScaleUnavailable
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import memory_after_refusal, replicas_after, settle
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.clock import SYSTEM_CLOCK, Clock
from scaler.cluster.metrics.measurements import TimedReading
from scaler.cluster.pod_annotations import write_pod_annotations
from scaler.cluster.rescale import checked_age, may_write_copy, rescale, rescale_unchanged
from scaler.cluster.target_scale import TargetScale, same_scale
from scaler.control.decisions import Decisions, measured_again
from scaler.control.dependencies import Dependencies
from scaler.control.last_decision import LastDecision, Measured
from scaler.control.left_zeros import LeftZeros
from scaler.control.memories import Memories
from scaler.control.record import Continued, Record
from scaler.control.reports import Reports
from wire.api.labels import NOTHING
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
        self._kind = kind = settings.kind
        self._clock = clock
        listed, store = dependencies.listed_memory, dependencies.memory_store
        self._memories = Memories(dependencies.kube, settings, clock, listed=listed, store=store)
        self._left_zeros = LeftZeros(dependencies.scales)
        self._decisions = Decisions(dependencies, kind, self._memories, self._left_zeros, clock)
        self._reports = Reports(dependencies, settings, self._memories, clock)
        self._records: dict[str, Record] = {}

    def derivation(self, key: str) -> Derivation | None:
        """How the last decision on the autoscaler of this key (`namespace/name`) was computed."""
        record = self._records.get(key)
        if record is None or record.derivation is None or record.repeated_at_unix_seconds is None:
            return record.derivation if record is not None else None
        repeated_at = record.repeated_at_unix_seconds
        return msgspec.structs.replace(record.derivation, made_at_unix_seconds=repeated_at)

    def desired_replicas(self) -> Iterator[tuple[str, int]]:
        """What each autoscaler wants, by key."""
        for key, record in tuple(self._records.items()):
            if record.desired_replicas is not None:
                yield key, record.desired_replicas

    def forget(self, includes: Callable[[str], bool] = every) -> None:
        """Another process has scaled these. Otherwise the memories here are more recent than those that are stored."""
        for key in tuple(self._records):
            if includes(key):
                self._pop(key)

    def deleted(self, autoscaler: Autoscaler) -> None:
        """Forget it, also while another process leads: another autoscaler of its name begins without its memory."""
        record = self._records.get(autoscaler.key)
        if record is not None and record.uid == autoscaler.metadata.uid:
            self._forget_deleted(autoscaler.key)
        self._memories.remove(autoscaler.metadata.uid)

    def leave(self) -> None:
        """Other processes may scale them from now on; the memories stay, in case that none does, and are resumed then."""
        for key, record in tuple(self._records.items()):
            self._pop(key)
            self._records[key] = record.with_memory_only()

    def repeat(self, key: str) -> bool:
        """Reconcile, if that neither needs a request nor changes anything; False if it may."""
        started_seconds = self._clock.monotonic()
        record = self._records.get(key)
        last = self._decisions.repeat(record) if record is not None else None
        if record is None or last is None:
            return False
        readings = [TimedReading(each, 0.0) for each in last.readings]
        self._repeat(record, last, readings, started_seconds)
        return True

    def has_failed(self, key: str) -> bool:
        """Whether the last reconcile failed in a way that may be over soon, also if it could decide by other metrics."""
        record = self._records.get(key)
        return record is not None and record.has_failed

    def rescale_due_seconds(self, key: str) -> float:
        """As `Decisions.rescale_due_seconds`."""
        record = self._records.get(key)
        return -math.inf if record is None else self._decisions.rescale_due_seconds(record)

    def due_again_seconds(self, key: str) -> float:
        """As `Decisions.due_again_seconds`."""
        record = self._records.get(key)
        return math.inf if record is None else self._decisions.due_again_seconds(key, record)

    async def reconcile(self, key: str) -> bool:
        """Reconcile once. False when the autoscaler no longer exists; then nothing is remembered of it."""
        autoscaler = self._with.autoscalers.get(key)
        if autoscaler is None:
            self._forget_deleted(key)
            return False
        record = self._record_of(autoscaler)
        if self._is_outdated(record, autoscaler.metadata.namespace):
            self._with.telemetry.count_stale_skip()
            log.info("%s: not reconciled, the watch has not delivered its own status yet", key)
            record.has_failed = True
            self._memories.goes_on(record, autoscaler)
            return True
        try:
            await self._reconcile_existing(record, autoscaler)
        except asyncio.CancelledError:
            record.reported.cancel()
            raise
        except Exception as error:
            # A bug. The controller logs and counts it; the owner of the autoscaler sees it there.
            event = warning("InternalError", f"the reconcile failed: {error!r}")
            self._reports.emit(record, autoscaler, (event,))
            record.reported.finish()
            raise
        finally:
            if self._records.get(key) is not record:
                # It was deleted, or given up, meanwhile.
                self._stop_following(key)
        if record.reported.finish():
            log.info("%s: reconciled without errors again", key)
        return True

    def _is_outdated(self, record: Record, namespace: str) -> bool:
        """Whether there is no reconcile in this period, because the watch has not delivered what the last one wrote.

        Upstream: `consistencyStore.EnsureReady`, which leaves no more than a line in the log and a counter.
        """
        is_guarded = self._decisions.settings.upstream.skips_outdated_reads
        autoscalers = self._with.autoscalers
        known, listed = autoscalers.version(namespace), autoscalers.listed_at_seconds(namespace)
        return is_guarded and record.waits_for_own_write(known, self._kind.stale_skips_max, listed)

    def _record_of(self, autoscaler: Autoscaler) -> Record:
        uid = autoscaler.metadata.uid
        record = self._records.get(autoscaler.key)
        if record is not None and record.uid != uid:
            self._forget_deleted(autoscaler.key)
            record = None
        if record is None:
            record = self._records[autoscaler.key] = Record(uid=uid)
        return record

    async def _reconcile_existing(self, record: Record, autoscaler: Autoscaler) -> None:
        key = autoscaler.key
        started_seconds = self._clock.monotonic()
        record.has_failed = True
        last, measured = self._decisions.unchanged(record), None
        if last is not None:
            measured = await measured_again(last)
            if self._decisions.holds(record, measured):
                readings = measured.timed_readings if measured is not None else ()
                self._repeat(record, last, readings, started_seconds)
                return
        try:
            memory = await self._memories.of(record, autoscaler)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            self._reports.log(
                record, key, f"not scaled, because its history cannot be read: {error}"
            )
            self._count(Action.NONE, ErrorClass.INTERNAL, started_seconds)
            return
        now = self._clock.steady_now()
        try:
            made, outcome = await self._reconcile(
                record, autoscaler, memory, now, measured, started_seconds
            )
        except asyncio.CancelledError:
            record.memory = None
            raise
        record.keep(made, outcome, self._clock.now())
        record.has_failed = made.has_failed_metric or outcome.error_class is ErrorClass.INTERNAL
        if isinstance(outcome.memory, Memory) and self._records.get(key) is record:
            for observer in self._with.observers:
                observer.decided(autoscaler, made.decision.policy, outcome.memory)
        self._count(outcome.action, outcome.error_class, started_seconds)

    def _repeat(
        self,
        record: Record,
        last: LastDecision,
        readings: Sequence[TimedReading],
        started_seconds: float,
    ) -> None:
        """Count a reconcile that would decide as the last one, which wrote and reported nothing."""
        now = self._clock.now()
        if log.isEnabledFor(logging.DEBUG) and isinstance(last.target, TargetScale):
            _log_replicas(last.autoscaler, last.target)
        if last.continues_recommendation:
            record.continued = Continued(now, last.decision.policy.longest_window_seconds)
        self._memories.goes_on(record, last.autoscaler)
        record.repeated_at_unix_seconds = now
        record.has_failed = last.has_failed_metric
        record.selectors_version = self._with.selectors.version
        self._with.telemetry.repeated_decisions_total.inc()
        self._count_metrics(last, readings)
        self._count(Action.NONE, ErrorClass.NONE, started_seconds)

    async def _reconcile(
        self,
        record: Record,
        autoscaler: Autoscaler,
        memory: AnyMemory,
        now: Callable[[], float],
        measured: Measured | None,
        started_seconds: float,
    ) -> tuple[LastDecision, Outcome]:
        """`now` in Unix seconds; a step of the wall clock does not move it."""
        target = record.scale_of(autoscaler) or await self._read_scale(record, autoscaler)
        scaled_at_seconds = record.scaled_at_seconds
        # Metrics that are not measured yet are read from now on.
        is_measured = measured is not None and bool(measured.timed_readings)
        check = self._checked_age(started_seconds if is_measured else self._clock.monotonic())
        made = await self._decide(record, autoscaler, target, memory, now, measured)
        if made.decision.rescale and isinstance(target, TargetScale) and target.is_copy:
            is_sent = may_write_copy(made.decision)
            written = await self._rescale_copy(record, made, target, check) if is_sent else None
            if written is not None:
                record.keep_metrics_if_refused(written, scaled_at_seconds)
                outcome = settle(made.decision, written, now())
                return made, await self._report(record, made, autoscaler, outcome)
            copy, decided_at_seconds = target, now()
            target = await self._read_scale(record, autoscaler)
            is_old = now() - decided_at_seconds > DECISION_SECONDS_MAX
            if is_old or not same_scale(copy, target):
                if is_sent:
                    newest = target.view if isinstance(target, TargetScale) else None
                    memory = memory_after_refusal(memory, made.decision, newest, decided_at_seconds)
                check = self._checked_age(self._clock.monotonic())
                made = await self._decide(record, autoscaler, target, memory, now)
        autoscaler, problem = await self._reports.store_intention(record, autoscaler, made.decision)
        if problem:
            actuation: Actuation = RescaleFailed(problem)
        else:
            actuation = await self._actuate(record, made.decision, target, check)
        record.keep_metrics_if_refused(actuation, scaled_at_seconds)
        outcome = settle(made.decision, actuation, now())
        return made, await self._report(record, made, autoscaler, outcome)

    async def _report(
        self, record: Record, made: LastDecision, autoscaler: Autoscaler, outcome: Outcome
    ) -> Outcome:
        # Before the status is written: that may take as long as any request, and the process may end meanwhile.
        if self._records.get(autoscaler.key) is record:
            self._memories.keep(record, autoscaler, outcome, replicas_after(outcome))
        if outcome.action is not Action.NONE:
            await self._with.scales_first(autoscaler.key)
            autoscaler = self._newest(made, autoscaler)
        return await self._reports.report(record, autoscaler, outcome)

    def _newest(self, made: LastDecision, autoscaler: Autoscaler) -> Autoscaler:
        """As a user may have changed it meanwhile: a status on the basis of an earlier version would be refused.

        So must it be if another process has written its own.
        """
        read, newest = made.autoscaler, self._with.autoscalers.get(autoscaler.key)
        if newest is None or newest is read or newest.status != read.status:
            return autoscaler
        return newest if newest.metadata.uid == read.metadata.uid else autoscaler

    async def _read_scale(
        self, record: Record, autoscaler: Autoscaler
    ) -> TargetScale | ScaleUnavailable:
        target, record.scale = await self._with.scales.read(autoscaler)
        if isinstance(target, TargetScale):
            record.target = target
        return target

    async def _decide(
        self,
        record: Record,
        autoscaler: Autoscaler,
        target: TargetScale | ScaleUnavailable,
        memory: AnyMemory,
        now: Callable[[], float],
        measured: Measured | None = None,
    ) -> LastDecision:
        if log.isEnabledFor(logging.DEBUG) and isinstance(target, TargetScale):
            _log_replicas(autoscaler, target)
        made = await self._decisions.make(record, autoscaler, target, memory, now, measured)
        if made.measured is not None:
            self._count_metrics(made, made.measured.timed_readings)
        return made

    def _count_metrics(self, made: LastDecision, readings: Sequence[TimedReading]) -> None:
        status = made.decision.autoscaler.status
        self._with.telemetry.count_metrics(
            made.decision.derivation.metrics,
            [each.duration_seconds for each in readings],
            replicas_before=status.current_replicas if status else 0,
        )

    def _checked_age(self, read_since_seconds: float) -> BeforeEach:
        return checked_age(
            read_since_seconds, self._settings.sync_period_seconds, self._clock.monotonic
        )

    async def _actuate(
        self,
        record: Record,
        decision: Decision,
        target: TargetScale | ScaleUnavailable,
        check: BeforeEach,
    ) -> Actuation:
        desired = decision.desired_replicas
        if not decision.rescale or desired is None or isinstance(target, ScaleUnavailable):
            return NotNeeded()
        if decision.pod_annotations:
            namespace = decision.autoscaler.metadata.namespace
            failed = await write_pod_annotations(
                self._with.kube, namespace, decision.pod_annotations
            )
            if failed is not None:
                self._reports.emit(record, decision.autoscaler, (failed,))
        record.forget_replicas(self._clock.monotonic())
        return await rescale(self._with.kube, target, desired, before_each=check)

    async def _rescale_copy(
        self, record: Record, made: LastDecision, copy: TargetScale, check: BeforeEach
    ) -> Actuation | None:
        """Write on the basis of a copy, which succeeds only if it is not outdated; None if the Scale must be read first."""
        record.forget_replicas(self._clock.monotonic())
        desired = made.decision.desired_replicas or 0
        return await rescale_unchanged(self._with.kube, copy, desired, before_each=check)

    def _forget_deleted(self, key: str) -> None:
        record = self._pop(key)
        if record is not None:
            self._memories.remove(record.uid)
            if self._kind.knows_who_set_zero:
                self._left_zeros.leave(record)

    def _pop(self, key: str) -> Record | None:
        self._stop_following(key)
        return self._records.pop(key, None)

    def _stop_following(self, key: str) -> None:
        """Forget the autoscaler in what goes on beside its reconciles, and what they noted for those of others."""
        self._with.followers.forget(key)
        # Another process may see that its target changes.
        self._with.selectors.store(key, NOTHING)
        for observer in self._with.observers:
            observer.forget(key)

    def _count(self, action: Action, error: ErrorClass, started_seconds: float) -> None:
        seconds = self._clock.monotonic() - started_seconds
        self._with.telemetry.count_reconcile(action, error, seconds)


def _log_replicas(autoscaler: Autoscaler, target: TargetScale) -> None:
    name = f"{autoscaler.metadata.namespace}/{autoscaler.spec.scale_target_ref.name}"
    replicas, pods = target.view.spec_replicas, target.view.status_replicas
    log.debug("%s: target %s, %d replicas, %d pods", autoscaler.key, name, replicas, pods)
