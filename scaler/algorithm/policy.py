"""The effective settings of one autoscaler at one moment.

`plan` makes a `Policy` from the spec and the flags. Later stages read it and nothing else, so a setting that a
spec can override, a schedule changes or a trial replaces is one field here and one line in `scaler.algorithm.effective_policy`.
"""

import msgspec

from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ScalingPolicy, ScalingPolicySelect
from scaler.api.extension_spec import RolloutPolicy
from scaler.api.kinds import WatchedKind


class Tolerances(msgspec.Struct, frozen=True, kw_only=True):
    """How far the usage ratio may be from 1 without a change, per direction."""

    scale_down: float
    scale_up: float

    def is_within(self, usage_ratio: float) -> bool:
        """Whether the ratio lies in the band, both edges included."""
        return (1.0 - self.scale_down) <= usage_ratio <= (1.0 + self.scale_up)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """One direction's stabilization window, and its policies with the way to choose among them."""

    window_seconds: float
    select_policy: str
    policies: tuple[ScalingPolicy, ...]

    @property
    def longest_period_seconds(self) -> int:
        """How long a scale event of this direction matters to the policies of this direction."""
        return max((policy.period_seconds for policy in self.policies), default=0)


class BehaviorRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.behavior` with every default filled in."""

    scale_up: Rules
    scale_down: Rules


class Suspension(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.suspend`. `until_unix_seconds` is None for no end, `replicas` None for those that the target has."""

    direction: str = ""
    until: str = ""
    until_unix_seconds: float | None = None
    replicas: int | None = None

    def is_active(self, now_unix_seconds: float) -> bool:
        """Whether it has not ended yet."""
        return self.until_unix_seconds is None or now_unix_seconds < self.until_unix_seconds


class ZeroRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.scaleToZero` and `activationValue`: the target goes to zero and leaves it by the activity of its metrics."""

    cooldown_seconds: float
    manual_zero_activates: bool


class ScheduledBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the schedules say now. `min_replicas` and `max_replicas` of the policy already contain it."""

    active: str = ""
    sets_min: bool = False
    sets_max: bool = False
    next_change_unix_seconds: float | None = None
    valid_until_unix_seconds: float
    """Until when all of this stays the same; on a ramp it changes all the time."""
    problem: str = ""
    """Why nothing may be scaled down: a schedule that cannot be read might set a floor."""
    remark: Remark


class PanicRules(msgspec.Struct, frozen=True, kw_only=True):
    """`behavior.scaleUp.panic`."""

    threshold_ratio: float
    window_seconds: float
    hold_seconds: float


class FutilityRules(msgspec.Struct, frozen=True, kw_only=True):
    """`behavior.scaleUp.futility`."""

    ready_timeout_seconds: float
    max_unready_replicas: int


class ForecastRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.forecast`. `metric` is its name in the spec, `problem` why it cannot be forecast, empty if it can."""

    metric: str
    acts: bool
    """Whether it adds replicas; otherwise it only says what it would add."""
    lead_minutes: int
    extra_ratio: float
    waste_percent_max: float
    problem: str = ""
    identity: str = ""
    """Of what is learnt: another metric or lead starts from the beginning."""


class AbortRule(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of `abortWhen`; exactly one of `above_milli` and `below_milli` is set."""

    name: str
    above_milli: int | None
    below_milli: int | None
    for_seconds: float


class CandidateRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.candidate`: its own policy, and its steps as (percent, seconds)."""

    hash: str
    policy: "Policy"
    is_shadow: bool
    steps: tuple[tuple[int, float], ...]
    abort_when: tuple[AbortRule, ...]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the stages of a reconcile go by. Replicas are counts, everything named `_seconds` is in seconds."""

    kind: WatchedKind
    sync_period_seconds: float
    min_replicas: int
    max_replicas: int
    tolerances: Tolerances
    behavior: BehaviorRules | None
    """None without `spec.behavior`: then `downscale_stabilization_seconds` and fixed rates apply."""
    downscale_stabilization_seconds: float
    cpu_initialization_period_seconds: float
    initial_readiness_delay_seconds: float
    pod_level_resources: bool
    """Whether requests of the whole pod count."""
    scale_to_zero: bool
    """Whether the controller may scale to zero and back (HPAScaleToZero)."""
    has_metric_at_zero: bool
    """Whether a metric still has a value when there are no pods (Object, External)."""
    is_dry_run: bool = False
    """Whether decisions are only reported."""
    suspension: Suspension | None = None
    schedule: ScheduledBounds | None = None
    """None without `spec.schedules`."""
    zero: ZeroRules | None = None
    """None: as an HPA, zero is reached and left by what the metrics propose."""
    panic: PanicRules | None = None
    futility: FutilityRules | None = None
    forecast: ForecastRules | None = None
    candidate: CandidateRules | None = None
    rollout: str = RolloutPolicy.COUNT.value
    deletion_cost_metric: str = ""
    """The name of the metric by which pods are deleted; empty to leave that to the ReplicaSet."""

    @property
    def scale_down_window_seconds(self) -> float:
        """How long a recommendation holds the replicas up."""
        if self.behavior is None:
            return self.downscale_stabilization_seconds
        return self.behavior.scale_down.window_seconds

    @property
    def may_scale_up(self) -> bool:
        """Whether `behavior` does not disable it."""
        return (
            self.behavior is None
            or self.behavior.scale_up.select_policy != ScalingPolicySelect.DISABLED
        )

    @property
    def can_scale_to_zero(self) -> bool:
        """Whether the controller may scale to zero, and knows when to leave it again."""
        return self.scale_to_zero and self.min_replicas == 0 and self.has_metric_at_zero
