"""A decision and what it was made from, which is kept while the same inputs lead to it again.

Most reconciles change nothing: neither does anything change that they are made from. Then the decision need not be
made again. That is so only if it wrote and reported nothing, so that making it again does nothing either. Any other one still
shows what a changed metric would lead to.
"""

import msgspec

from scaler.algorithm.bounds import SCALE_UP_LIMIT
from scaler.algorithm.decision import Branch, Decision, Outcome
from scaler.algorithm.memory import AnyMemory, StoredMemory
from scaler.algorithm.observed import Observed, ScaleUnavailable, TargetPods
from scaler.algorithm.readings import MetricFailed, Reading
from scaler.algorithm.recommendations import only_continues
from scaler.api.autoscaler import Autoscaler, MetricSpec
from scaler.cluster.metrics.measurements import MetricReads, TimedReading
from scaler.cluster.target_scale import TargetScale
from wire.api.labels import Selector


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The pods and readings that a decision is made from."""

    selector: Selector
    metrics: tuple[MetricSpec, ...]
    pods: TargetPods
    reads: MetricReads
    timed_readings: tuple[TimedReading, ...]

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Without the time that each took."""
        return tuple(each.reading for each in self.timed_readings)


class LastDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and what it was made from. `measured` is None if no metrics were needed.

    In one that is kept, `target` is the kept copy of the Scale, the same object until it changes.
    """

    decision: Decision
    memory: AnyMemory
    target: TargetScale | ScaleUnavailable
    observed: Observed
    measured: Measured | None = None
    repeats: bool = False
    """Whether the same readings lead to it again, for as long as it holds, and it does nothing then."""

    @property
    def autoscaler(self) -> Autoscaler:
        """As it was when the decision was made."""
        return self.observed.autoscaler

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What was read; empty if no metrics were needed."""
        return self.measured.readings if self.measured is not None else ()

    @property
    def has_failed_metric(self) -> bool:
        """Whether a metric could not be read, unless it is a metric of pods, and there are none."""
        found = self.decision.derivation.metrics
        return any(
            isinstance(each, MetricFailed) and (index >= len(found) or bool(found[index].failure))
            for index, each in enumerate(self.readings)
        )

    @property
    def continues_recommendation(self) -> bool:
        """Whether making it again remembers the same recommendation."""
        return self.decision.branch is Branch.METRICS

    def to_keep(
        self, outcome: Outcome, copy: TargetScale | None, now_unix_seconds: float
    ) -> "LastDecision | None":
        """What to keep after this outcome; None if it says nothing about the next reconcile. `copy` is the kept Scale."""
        if copy is None or isinstance(self.target, ScaleUnavailable) or self.observed.outdated:
            return None
        if (copy.uid, copy.view) != (self.target.uid, self.target.view):
            return None
        if self.decision.branch not in (Branch.METRICS, Branch.DISABLED):
            return None
        repeats = self._does_nothing_again(outcome, now_unix_seconds)
        return msgspec.structs.replace(self, target=copy, repeats=repeats)

    def _does_nothing_again(self, outcome: Outcome, now_unix_seconds: float) -> bool:
        before = self.memory
        return (
            not self.decision.rescale
            and _does_nothing(outcome)
            and self.decision.holds_until_unix_seconds > now_unix_seconds
            and not isinstance(before, StoredMemory)
            and only_continues(before, self.decision.memory)
            # The next period may add as many replicas again.
            and (self.observed.period_replicas is None or not _is_rate_limited(outcome))
        )


def _is_rate_limited(outcome: Outcome) -> bool:
    bound = outcome.derivation.bound
    return bound is not None and bound.reason == SCALE_UP_LIMIT


def _does_nothing(outcome: Outcome) -> bool:
    """Whether everything else in it is as in an outcome without anything to write, report or store, also later."""
    return outcome == Outcome(
        status=outcome.status,
        status_changed=False,
        memory=outcome.memory,
        derivation=outcome.derivation,
    )
