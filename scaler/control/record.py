"""What this process knows of each autoscaler between two reconciles: one record for each, in one mapping.

Whatever a reconcile needs of the last one is a field here. Beside that, the indexes that find autoscalers by something else
(`rivals`, `selectors`) follow the watch, the queue holds when each is due, and the controller the last crash. What goes on
beside the reconciles (`followers`, the observers) is forgotten with the record, by `Reconciler._pop`.
"""

import math

import msgspec

from scaler.algorithm.decision import Actuation, Outcome, RescaleFailed
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.memory import AnyMemory
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.scales import ScaleCopy
from scaler.cluster.target_scale import TargetScale
from scaler.control.last_decision import LastDecision
from scaler.control.reported import Reported
from wire.kube.list_and_watch import is_earlier


class KeptMemory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The memory, and what is stored of it, from which a restart would continue.

    `replicas`: what the target had after the last reconcile that read it; None before the first one.
    `stored_replicas`: the count that was stored with the memory of an HPA.
    `unread_namespace`: that of an HPA, if what is stored there was not known when this memory was begun.
    `clock_difference_seconds`: wall clock less monotonic clock, when the reconcile began that made this memory.
    """

    memory: AnyMemory
    stored: AnyMemory | None
    replicas: int | None = None
    stored_replicas: int | None = None
    unread_namespace: str = ""
    clock_difference_seconds: float


class Continued(msgspec.Struct, frozen=True, gc=False):
    """Until when the last recommendation was made again, and for how long the longest window needs recommendations."""

    until_unix_seconds: float
    window_seconds: float


class PeriodStart(msgspec.Struct, frozen=True, gc=False):
    """What the target had when a period began, and when that was, by the monotonic clock."""

    replicas: int
    began_seconds: float


class Record(msgspec.Struct, kw_only=True):
    """One autoscaler, identified by its uid: one that was deleted and created again has another record."""

    uid: str
    memory: KeptMemory | None = None
    """None before it is read, and after a cancelled reconcile: then only what is stored shows which changes were made."""
    continued: Continued | None = None
    """The last recommendation was made again; the memory itself is changed when it is needed."""
    continues_until_seconds: float = -math.inf
    """A reconcile until then, by the monotonic clock, continues the memory; a later one resumes it as after a restart."""
    target: TargetScale | None = None
    """As it was read last; it may have changed since."""
    scale: ScaleCopy | None = None
    decision: LastDecision | None = None
    """The last one, if it may be made again without computing it."""
    selectors_version: int | None = None
    """That of all selectors when the kept decision was last compared with them."""
    derivation: Derivation | None = None
    """How the last decision was computed, and when it was made again without computing it."""
    repeated_at_unix_seconds: float | None = None
    due_unix_seconds: float = math.inf
    """When the spec changes with the time, as of the last decision."""
    desired_replicas: int | None = None
    period: PeriodStart | None = None
    """None before the first reconcile that has read the Scale."""
    has_failed: bool = False
    """A metric failed in the last reconcile, or something else that may be over soon."""
    scaled_at_seconds: float = -math.inf
    """When this process last sent a write of the scale that was not refused, by the monotonic clock."""
    status_written_at_seconds: float = -math.inf
    written_version: str = ""
    """The resourceVersion of the last write of the status, until the watch has delivered it."""
    stale_skips: int = 0
    """How many reconciles in a row were left out because it has not."""
    reported: Reported = msgspec.field(default_factory=Reported)

    def scale_of(self, autoscaler: Autoscaler) -> TargetScale | None:
        """The copy of the Scale, the same object each time; None if the target may have changed since it was read."""
        return self.scale.current(autoscaler) if self.scale is not None else None

    def keep(self, made: LastDecision, outcome: Outcome, now_unix_seconds: float) -> None:
        """A decision that was made, and its outcome."""
        self.decision = made.to_keep(outcome, self.scale_of(made.autoscaler), now_unix_seconds)
        self.due_unix_seconds = made.decision.due_unix_seconds
        self.selectors_version = None
        self.repeated_at_unix_seconds = None
        self.derivation = derivation = outcome.derivation
        # As upstream, where a reconcile whose write was refused returns before `ObserveDesiredReplicas`.
        if derivation.desired_replicas is not None and not derivation.rescale_error:
            self.desired_replicas = derivation.desired_replicas

    def period_replicas(self, now_seconds: float, period_seconds: float) -> int | None:
        """What the target had when the period began; None if it is over."""
        start = self.period
        if start is None or now_seconds >= start.began_seconds + period_seconds:
            return None
        return start.replicas

    def forget_replicas(self, now_seconds: float) -> None:
        """Before a write of the scale, at this time of the monotonic clock: the copy is outdated, and metrics from before it, too."""
        self.scale, self.scaled_at_seconds = None, now_seconds

    def keep_metrics_if_refused(self, actuation: Actuation, scaled_at_seconds: float) -> None:
        """After a write, with the time of the one before it: if it was refused, metrics of the same replicas still count."""
        if isinstance(actuation, RescaleFailed) and not actuation.may_be_applied:
            self.scaled_at_seconds = scaled_at_seconds

    def waits_for_own_write(
        self, known_version: str, skips_max: int | None, listed_at_seconds: float = -math.inf
    ) -> bool:
        """Whether this reconcile is left out: the watch, which is at this resourceVersion, has not delivered the own status.

        Not if one of the versions is not a number, because then their order is not known, nor after `skips_max` in a row. Nor
        if a LIST has begun since, by the monotonic clock: what was written is in it, or was lost with a restore of etcd, and then
        the watch may never reach its version.
        """
        is_listed = listed_at_seconds > self.status_written_at_seconds
        written = "" if is_listed else self.written_version
        is_missed = is_earlier(known_version, written)
        if is_missed and (skips_max is None or self.stale_skips < skips_max):
            self.stale_skips += 1
            return True
        self.written_version, self.stale_skips = "", 0
        return False

    def with_memory_only(self) -> "Record":
        """After this process has stopped to reconcile it: the rest may change without its knowledge.

        If it reconciles it again, the memory is resumed as after a restart.
        """
        return Record(
            uid=self.uid,
            memory=self.memory,
            continued=self.continued,
            status_written_at_seconds=self.status_written_at_seconds,
            reported=self.reported,
        )
