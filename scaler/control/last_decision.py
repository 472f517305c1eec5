"""A decision that is kept, because the same inputs lead to it again.

Most reconciles change nothing: neither does anything change that they are made from. Then the decision need not be
made again. It is kept only if it wrote and reported nothing, so that making it again does nothing either.
"""

import msgspec

from scaler.algorithm.decision import Branch, Decision, Outcome
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable, TargetPods
from scaler.algorithm.readings import Reading
from scaler.algorithm.recommendations import only_continues
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.ports import Reads, TargetScale, TimedReading
from wire.api.labels import Selector


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The pods and readings that a decision was made from."""

    selector: Selector
    pods: TargetPods
    reads: Reads
    readings: tuple[TimedReading, ...]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and what it was made from. `measured` is None if no metrics were needed."""

    decision: Decision
    memory: Memory
    target: TargetScale | ScaleUnavailable
    observed: Observed
    measured: Measured | None = None


class LastDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The last decision on an autoscaler. `target` is the kept copy of the Scale, the same object until it changes."""

    autoscaler: Autoscaler
    target: TargetScale
    made: Made
    readings: tuple[Reading, ...]
    valid_until_unix_seconds: float

    @property
    def continues_recommendation(self) -> bool:
        """Whether making it again remembers the same recommendation."""
        return self.made.decision.branch is Branch.METRICS


def last_decision(
    autoscaler: Autoscaler, made: Made, outcome: Outcome, copy: TargetScale | None, now: float
) -> LastDecision | None:
    """What to keep of a reconcile; None if the next one must decide again. `copy` is the kept Scale, `now` in Unix seconds."""
    if copy is None or isinstance(made.target, ScaleUnavailable) or made.observed.outdated:
        return None
    if (copy.uid, copy.view) != (made.target.uid, made.target.view):
        return None
    if made.decision.rescale or not _does_nothing(outcome):
        return None
    measured, until = made.measured, made.decision.holds_until_unix_seconds
    if made.decision.branch not in (Branch.METRICS, Branch.DISABLED) or until <= now:
        return None
    if not only_continues(made.memory, made.decision.memory):
        return None
    return LastDecision(
        autoscaler=autoscaler,
        target=copy,
        made=made,
        readings=() if measured is None else tuple(each.reading for each in measured.readings),
        valid_until_unix_seconds=until,
    )


def _does_nothing(outcome: Outcome) -> bool:
    """Whether everything else in it is as in an outcome without anything to write, report or store, also later."""
    return outcome == Outcome(
        status=outcome.status,
        status_changed=False,
        memory=outcome.memory,
        derivation=outcome.derivation,
    )
