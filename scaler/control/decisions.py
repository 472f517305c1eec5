"""Makes decisions from what is observed and measured, and keeps those that the same inputs would lead to again."""

from collections.abc import Callable

import msgspec

from scaler.algorithm.decide import decide
from scaler.algorithm.decision import Decision, Outcome
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.clock import Clock
from scaler.cluster.ports import TargetScale, TimedReading
from scaler.control.dependencies import Dependencies
from scaler.control.last_decision import LastDecision, Made, Measured, last_decision
from scaler.control.memories import Memories
from wire.api.labels import NOTHING, Selector


class Gathered(msgspec.Struct, frozen=True):
    """Readings for the metrics of a spec, and the selector of the pods for which they were read."""

    selector: Selector
    readings: tuple[TimedReading, ...]


NOT_GATHERED = Gathered(NOTHING, ())


class Decisions:
    """The decisions on all autoscalers."""

    def __init__(
        self, dependencies: Dependencies, settings: Settings, memories: Memories, clock: Clock
    ) -> None:
        self._with = dependencies
        self._settings = settings
        self._kind = settings.kind
        self._memories = memories
        self._clock = clock
        self._last: dict[str, LastDecision] = {}
        # The version of all selectors with which the last decision was compared.
        self._selectors_version: dict[str, int] = {}

    async def make(
        self,
        autoscaler: Autoscaler,
        target: TargetScale | ScaleUnavailable,
        memory: Memory,
        now: Callable[[], float],
        gathered: Gathered = NOT_GATHERED,
    ) -> Made:
        """Decide. The metrics are read, unless they have just been `gathered`. `now` in Unix seconds."""
        observed = Observed(
            autoscaler=autoscaler,
            scale=target if isinstance(target, ScaleUnavailable) else target.view,
            outdated=self._with.outdated(autoscaler.metadata.namespace),
            rivals=self._rivals(autoscaler),
            inputs=self._with.inputs(autoscaler),
        )
        planned = plan(observed, memory, self._settings, now())
        if isinstance(planned, Decision):
            return Made(decision=planned, memory=memory, target=target, observed=observed)
        measured = await self._measured(planned, gathered)
        readings = [each.reading for each in measured.readings]
        return Made(
            decision=decide(planned, measured.pods, readings, now()),
            memory=memory,
            target=target,
            observed=observed,
            measured=measured,
        )

    def keep(self, autoscaler: Autoscaler, made: Made, outcome: Outcome) -> None:
        """Keep the decision of a reconcile, if the next one may come to the same."""
        copy, now = self._with.scales.copy_of(autoscaler), self._clock.now()
        last = last_decision(autoscaler, made, outcome, copy, now)
        if last is None:
            self.forget(autoscaler.key)
        else:
            self._last[autoscaler.key] = last
            self._selectors_version.pop(autoscaler.key, None)

    def repeated(self, key: str) -> LastDecision | None:
        """The last decision, if it would be made again, as far as that is known without sending a request."""
        last = self.unchanged(key)
        if last is None or last.made.measured is None:
            return last
        readings = last.made.measured.reads.shared()
        return last if readings == last.readings else None

    def unchanged(self, key: str) -> LastDecision | None:
        """The last decision, if it would be made again with the same readings."""
        last = self._last.get(key)
        return last if last is not None and self._is_unchanged(last) else None

    def may_rescale(self, key: str) -> bool:
        """Whether the metrics that are known now would lead to another replica count, as far as that is known without a request."""
        last = self.unchanged(key)
        if last is None or last.made.measured is None:
            return True
        measured = last.made.measured
        readings = measured.reads.shared(counted=False)
        if readings is None:
            return True
        if readings == last.readings:
            return False
        now = self._clock.now()
        planned = plan(last.made.observed, last.made.memory, self._settings, now)
        if isinstance(planned, Decision):
            return True
        return decide(planned, measured.pods, readings, now).rescale

    async def gather(self, last: LastDecision) -> Gathered:
        """Read the metrics of the last decision again."""
        measured = last.made.measured
        if measured is None:
            return NOT_GATHERED
        return Gathered(measured.selector, await measured.reads.read())

    def holds(self, last: LastDecision, gathered: Gathered) -> bool:
        """Whether the same decision would be made now, with these readings."""
        readings = tuple(each.reading for each in gathered.readings)
        return readings == last.readings and self._is_unchanged(last)

    def forget(self, key: str) -> None:
        """Decide again in the next reconcile."""
        self._last.pop(key, None)
        self._selectors_version.pop(key, None)

    def clear(self, includes: Callable[[str], bool]) -> None:
        """Forget those of these keys: another process may decide."""
        for key in [key for key in self._last if includes(key)]:
            self.forget(key)

    def _is_unchanged(self, last: LastDecision) -> bool:
        autoscaler, made = last.autoscaler, last.made
        observed, measured = made.observed, made.measured
        return (
            self._with.autoscalers.get(autoscaler.key) is autoscaler
            and self._clock.now() < last.valid_until_unix_seconds
            and self._memories.are_current(autoscaler)
            and self._with.scales.copy_of(autoscaler) is last.target
            and not self._with.outdated(autoscaler.metadata.namespace)
            and self._rivals(autoscaler) == observed.rivals
            and self._with.inputs(autoscaler) == observed.inputs
            and (measured is None or self._are_unchanged(autoscaler, measured))
        )

    def _are_unchanged(self, autoscaler: Autoscaler, measured: Measured) -> bool:
        """Whether the target has the same pods, and the same autoscalers control them."""
        key, version = autoscaler.key, self._with.selectors.version
        pods = self._with.pods.matching(autoscaler.metadata.namespace, measured.selector)
        if pods is measured.pods.pods and version == self._selectors_version.get(key):
            return True
        if self._target_pods(autoscaler, measured.selector) != measured.pods:
            return False
        self._selectors_version[key] = version
        return True

    async def _measured(self, ask: Ask, gathered: Gathered) -> Measured:
        """The pods, and the readings of what the plan asks for."""
        autoscaler = ask.turn.autoscaler
        pods = self._target_pods(autoscaler, ask.selector)
        reads = self._with.measurements.reads(
            autoscaler.metadata.namespace,
            ask.metrics,
            ask.selector,
            period_seconds=autoscaler.spec.sync_period_seconds,
        )
        self._with.followers.follow(autoscaler.key, reads.requests)
        readings = gathered.readings
        if pods.are_ambiguous:
            readings = ()
        elif gathered.selector != ask.selector:
            readings = await reads.read()
        return Measured(selector=ask.selector, pods=pods, reads=reads, readings=readings)

    def _target_pods(self, autoscaler: Autoscaler, selector: Selector) -> TargetPods:
        namespace, selectors = autoscaler.metadata.namespace, self._with.selectors
        pods = self._with.pods.matching(namespace, selector)
        if autoscaler.is_dry_run:
            # It scales nothing, so it conflicts with no other autoscaler.
            selectors.store(autoscaler.key, NOTHING)
            return TargetPods(pods=pods)
        selectors.store(autoscaler.key, selector)
        return TargetPods(pods=pods, controlled_by=selectors.controllers_of(namespace, pods))

    def _rivals(self, autoscaler: Autoscaler) -> tuple[str, ...]:
        if not self._kind.shares_no_target or autoscaler.is_dry_run:
            return ()
        return self._with.rivals.rivals_of(autoscaler, self._kind.kind)
