"""Makes decisions from what is observed and measured, and says whether the same inputs would lead to the last one again."""

import math
from collections.abc import Callable, Sequence

import msgspec

from scaler.algorithm.bounds import is_limited_for_now
from scaler.algorithm.decide import decide, refused
from scaler.algorithm.decision import Decision
from scaler.algorithm.derivation import PolicyLimit
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import AnyMemory, Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable, TargetPods
from scaler.algorithm.owners import selects_owned
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import Reading
from scaler.algorithm.scaling_policies import next_addition_unix_seconds
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, ScalingPolicy
from scaler.api.kinds import WatchedKind
from scaler.api.sync_period import own_period_seconds
from scaler.cluster.clock import Clock
from scaler.cluster.metrics.measurements import TimedReading
from scaler.cluster.target_scale import TargetScale
from scaler.control.dependencies import Dependencies
from scaler.control.large_decisions import decided, is_large
from scaler.control.last_decision import LastDecision, Measured
from scaler.control.left_zeros import LeftZeros
from scaler.control.memories import Memories
from scaler.control.record import PeriodStart, Record
from scaler.control.target_pods import OWNED_AT_ONCE_MAX, CurrentPods
from wire.api.labels import NOTHING, Selector


class Decisions:
    """The decisions on autoscalers of one kind."""

    def __init__(
        self,
        dependencies: Dependencies,
        kind: WatchedKind,
        memories: Memories,
        left_zeros: LeftZeros,
        clock: Clock,
    ) -> None:
        self._with = dependencies
        self._pods = CurrentPods(dependencies)
        self._kind = kind
        self._memories = memories
        self._left_zeros = left_zeros
        self._clock = clock

    @property
    def settings(self) -> Settings:
        """As of now: the version of the API server may have changed."""
        return self._with.settings()

    async def make(
        self,
        record: Record,
        autoscaler: Autoscaler,
        target: TargetScale | ScaleUnavailable,
        memory: AnyMemory,
        now: Callable[[], float],
        measured: Measured | None = None,
    ) -> LastDecision:
        """Decide. The metrics are read, unless those of the same pods have just been `measured`. `now` in Unix seconds.

        No response is used that was requested or confirmed before the last write of the scale.
        """
        observed = Observed(
            autoscaler=autoscaler,
            scale=target if isinstance(target, ScaleUnavailable) else target.view,
            outdated=self._with.outdated(autoscaler.metadata.namespace),
            rivals=self._rivals(autoscaler),
            has_left_zero=self._left_zeros.has(target),
            inputs=self._with.inputs(autoscaler),
            period_replicas=self._period_of_reconcile(record, autoscaler, target),
        )
        planned = plan(observed, memory, self.settings, now())
        if isinstance(planned, Ask) and self._is_refused(autoscaler):
            planned = refused(planned)
        if isinstance(planned, Decision):
            if not planned.rescale:
                # No metric changes anything until one is read again.
                self._with.followers.forget(autoscaler.key)
            return LastDecision(decision=planned, memory=memory, target=target, observed=observed)
        measured = await self._measured(planned, target, measured, record.scaled_at_seconds)
        return LastDecision(
            decision=await decided(planned, measured.pods, measured.readings, now()),
            memory=memory,
            target=target,
            observed=observed,
            measured=measured,
        )

    def repeat(self, record: Record) -> LastDecision | None:
        """Make the last decision again, if it is the same without sending a request; None if it may not be."""
        last = record.decision
        if last is None or not last.repeats:
            return None
        # Whether a request is needed is found out faster than whether anything else has changed.
        reads = last.measured.reads if last.measured is not None else None
        shared = reads.shared_as(last.readings) if reads is not None else None
        if (reads is not None and shared is None) or not self._would_repeat(last, record):
            return None
        if reads is not None and shared is not None:
            reads.count(shared)
        self._period_of_reconcile(record, last.autoscaler, last.target)
        return last

    def unchanged(self, record: Record) -> LastDecision | None:
        """The last decision, if it would be made again with the same readings."""
        last = record.decision
        return last if last is not None and self._would_repeat(last, record) else None

    def holds(self, record: Record, measured: Measured | None) -> bool:
        """Whether the last decision would be made again now, with what was measured again."""
        last = self.unchanged(record)
        readings = measured.readings if measured is not None else ()
        if last is None or readings != last.readings:
            return False
        self._period_of_reconcile(record, last.autoscaler, last.target)
        return True

    def rescale_due_seconds(self, record: Record) -> float:
        """From when on a reconcile would change the replica count by the metrics that are known now, by the monotonic clock.

        A metric that would have to be requested counts as it was read last. Infinite if no reconcile would, or only the regular one.
        At once (negative and infinite) if that is not known, if anything else has changed, or if the decision would delay others.
        """
        last = record.decision
        if last is None or last.measured is None:
            return -math.inf
        if last.measured.pods.are_ambiguous:
            return math.inf
        if not self._is_unchanged(last, record):
            return -math.inf
        readings = last.measured.reads.known(last.readings)
        if readings == last.readings:
            return math.inf
        if is_large(last.measured.pods, readings):
            return -math.inf
        present = self._present_period(record)
        if self._would_rescale(last, last.measured, readings, record, present):
            return -math.inf
        if not self._has_longer_period(last.autoscaler):
            return math.inf
        behavior = last.decision.policy.behavior
        due_seconds = self._limit_ends_seconds(
            record, behavior.scale_up.policies if behavior else ()
        )
        if due_seconds == math.inf:
            return math.inf
        later_seconds = due_seconds - self._clock.monotonic()
        is_limited = self._would_rescale(
            last, last.measured, readings, record, None, later_seconds=later_seconds
        )
        return due_seconds if is_limited else math.inf

    def due_again_seconds(self, key: str, record: Record) -> float:
        """When an autoscaler with a longer period is due before its regular reconcile, by the monotonic clock; infinite if it is not.

        Then its rules change with the time, or the limit that alone has held back the last decision may be higher.
        """
        autoscaler = self._with.autoscalers.get(key)
        if autoscaler is None or not self._has_longer_period(autoscaler):
            return math.inf
        later_seconds = record.due_unix_seconds - self._clock.now()
        if later_seconds <= 0:
            # They change all the time.
            later_seconds = self.settings.sync_period_seconds
        due_seconds = self._clock.monotonic() + later_seconds
        derivation = record.derivation
        if derivation is None or not is_limited_for_now(derivation):
            return due_seconds
        rate = derivation.bound.rate if derivation.bound else None
        return min(due_seconds, self._limit_ends_seconds(record, rate.policies if rate else ()))

    def _limit_ends_seconds(
        self, record: Record, policies: Sequence[ScalingPolicy | PolicyLimit]
    ) -> float:
        """When the limit of the present period ends, or with `behavior` when one of these policies may let replicas be added again.

        No more than one reconcile per period, as without `behavior`. Infinite if nothing that was added counts any more.
        """
        ends_seconds = self._period_ends_seconds(record)
        if not policies:
            return ends_seconds
        kept = self._memories.current(record)
        if kept is None or not isinstance(kept.memory, Memory):
            return math.inf
        now = self._clock.now()
        periods_seconds = {each.period_seconds for each in policies}
        until = next_addition_unix_seconds(kept.memory, periods_seconds, now)
        due_seconds = self._clock.monotonic() + until - now
        return due_seconds if ends_seconds == math.inf else max(due_seconds, ends_seconds)

    def _would_rescale(
        self,
        last: LastDecision,
        measured: Measured,
        readings: tuple[Reading, ...],
        record: Record,
        period_replicas: int | None,
        *,
        later_seconds: float = 0.0,
    ) -> bool:
        """Whether these readings would lead to another replica count, now or so much later; True if that is not known."""
        kept, now = self._memories.current(record), self._clock.now() + later_seconds
        observed = msgspec.structs.replace(last.observed, period_replicas=period_replicas)
        planned = plan(observed, kept.memory, self.settings, now) if kept else None
        if not isinstance(planned, Ask):
            return True
        return decide(planned, measured.pods, readings, now).rescale

    def _would_repeat(self, last: LastDecision, record: Record) -> bool:
        """Whether the same readings would lead to the same decision now, and that does nothing."""
        is_over = self._clock.now() >= last.decision.holds_until_unix_seconds
        return last.repeats and not is_over and self._is_unchanged(last, record)

    def _period_of_reconcile(
        self, record: Record, autoscaler: Autoscaler, target: TargetScale | ScaleUnavailable
    ) -> int | None:
        """What the target had when the period of this reconcile began; None if one begins with it, with this target."""
        if self._with.is_brought_forward(autoscaler.key):
            found = self._present_period(record)
            if found is not None:
                return found
        if isinstance(target, TargetScale):
            record.period = PeriodStart(target.view.spec_replicas, self._clock.monotonic())
        return None

    def _present_period(self, record: Record) -> int | None:
        """What the target had when the present period began; None if it is over."""
        # Also with a longer period of its own, an autoscaler may add replicas as often as any other.
        return record.period_replicas(self._clock.monotonic(), self.settings.sync_period_seconds)

    def _period_ends_seconds(self, record: Record) -> float:
        """When the present period ends; infinite if it is over, or none has begun."""
        if record.period is None or self._present_period(record) is None:
            return math.inf
        return record.period.began_seconds + self.settings.sync_period_seconds

    def _has_longer_period(self, autoscaler: Autoscaler) -> bool:
        """Whether its regular reconcile may come after the end of the present period."""
        own_seconds = own_period_seconds(autoscaler.spec)
        return own_seconds is not None and own_seconds > self.settings.sync_period_seconds

    def _is_unchanged(self, last: LastDecision, record: Record) -> bool:
        """Whether it would be made from the same, except for readings and the time."""
        autoscaler, observed, measured = last.autoscaler, last.observed, last.measured
        return (
            self._with.autoscalers.get(autoscaler.key) is autoscaler
            and last.decision.policy.upstream is self.settings.upstream
            and self._memories.is_current(record)
            and record.scale_of(autoscaler) is last.target
            and not self._with.outdated(autoscaler.metadata.namespace)
            and self._rivals(autoscaler) == observed.rivals
            and self._left_zeros.has(last.target) == observed.has_left_zero
            and self._with.inputs(autoscaler) == observed.inputs
            and (measured is None or self._are_unchanged(last, measured, record))
        )

    def _are_unchanged(self, last: LastDecision, measured: Measured, record: Record) -> bool:
        """Whether the target has the same pods and owns the same of them, and the same autoscalers control them."""
        autoscaler, selector, pods = last.autoscaler, measured.selector, measured.pods
        if self._are_current(pods, autoscaler, selector, record.selectors_version):
            return True
        if selects_owned(autoscaler.spec) and len(pods.pods) > OWNED_AT_ONCE_MAX:
            return False
        return self._pods.now(autoscaler, last.target, selector) == pods

    def _are_current(
        self,
        pods: TargetPods,
        autoscaler: Autoscaler,
        selector: Selector,
        selectors_version: int | None,
    ) -> bool:
        """Whether these pods, and what controls them by the selectors of this version, are known to be the same now, without a search."""
        matching = self._with.pods.matching(autoscaler.metadata.namespace, selector)
        return (
            matching is pods.pods
            and selectors_version == self._with.selectors.version
            and not selects_owned(autoscaler.spec)
        )

    def _is_refused(self, autoscaler: Autoscaler) -> bool:
        return self.settings.upstream.refuses_unknown and not self._with.selectors.knows(
            autoscaler.key
        )

    async def _measured(
        self,
        ask: Ask,
        target: TargetScale | ScaleUnavailable,
        before: Measured | None,
        since_seconds: float,
    ) -> Measured:
        """The pods, and the readings of what the plan asks for."""
        autoscaler = ask.turn.autoscaler
        # Without scaling anything it conflicts with no other autoscaler.
        stored = NOTHING if autoscaler.is_dry_run else ask.selector
        by_owner = selects_owned(autoscaler.spec)
        self._with.selectors.store(autoscaler.key, stored, by_owner=by_owner)
        version = self._with.selectors.version
        pods = await self._pods.current(autoscaler, target, ask.selector)
        reads = self._with.measurements.reads(
            autoscaler.metadata.namespace,
            ask.metrics,
            ask.selector,
            period_seconds=own_period_seconds(autoscaler.spec),
            since_seconds=since_seconds,
        )
        self._with.followers.follow(autoscaler.key, reads.requests)
        readings: tuple[TimedReading, ...] = ()
        if not pods.are_ambiguous:
            needed = ask.selector, ask.metrics
            if before is not None and (before.selector, before.metrics) == needed:
                readings = before.timed_readings
            else:
                readings = await reads.read()
                # Upstream lists the pods after it has read a metric, so that samples and pods are of the same time.
                if not self._are_current(pods, autoscaler, ask.selector, version):
                    pods = await self._pods.current(autoscaler, target, ask.selector)
        return Measured(
            selector=ask.selector,
            metrics=ask.metrics,
            pods=pods,
            reads=reads,
            timed_readings=readings,
        )

    def _rivals(self, autoscaler: Autoscaler) -> tuple[str, ...]:
        if not self._kind.shares_no_target or autoscaler.is_dry_run:
            return ()
        return self._with.rivals.of(autoscaler, self._kind.kind)


async def measured_again(last: LastDecision) -> Measured | None:
    """The metrics of the last decision, read now; None if it needed none."""
    if last.measured is None:
        return None
    readings = await last.measured.reads.read()
    return msgspec.structs.replace(last.measured, timed_readings=readings)
