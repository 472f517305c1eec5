"""A decision and what it was made from, which is kept while the same inputs lead to it again.

Most reconciles change nothing: neither does anything change that they are made from. Then the decision need not be
made again. It is kept only if it wrote and reported nothing, so that making it again does nothing either.
"""

import msgspec

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
        """Whether a metric could not be read."""
        return any(isinstance(each, MetricFailed) for each in self.readings)

    @property
    def continues_recommendation(self) -> bool:
        """Whether making it again remembers the same recommendation."""
        return self.decision.branch is Branch.METRICS

    def to_keep(
        self, outcome: Outcome, copy: TargetScale | None, now_unix_seconds: float
    ) -> "LastDecision | None":
        """What to keep after this outcome; None if the next reconcile must decide again. `copy` is the kept Scale."""
        if copy is None or isinstance(self.target, ScaleUnavailable) or self.observed.outdated:
            return None
        if (copy.uid, copy.view) != (self.target.uid, self.target.view):
            return None
        if self.decision.rescale or not _does_nothing(outcome):
            return None
        if self.decision.branch not in (Branch.METRICS, Branch.DISABLED):
            return None
        if self.decision.holds_until_unix_seconds <= now_unix_seconds:
            return None
        before = self.memory
        if isinstance(before, StoredMemory) or not only_continues(before, self.decision.memory):
            return None
        return msgspec.structs.replace(self, target=copy)


def _does_nothing(outcome: Outcome) -> bool:
    """Whether everything else in it is as in an outcome without anything to write, report or store, also later."""
    return outcome == Outcome(
        status=outcome.status,
        status_changed=False,
        memory=outcome.memory,
        derivation=outcome.derivation,
    )
