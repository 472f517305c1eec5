"""The effective settings of one autoscaler at one moment.

`plan` makes a `Policy` from the spec and the flags, and extensions change it. Later stages read it and nothing else.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from scaler.api.autoscaler import ScalingPolicy, ScalingPolicySelect
from scaler.api.kinds import WatchedKind
from scaler.api.upstream import NEWEST, Upstream

BELOW_MIN = "Current number of replicas below Spec.MinReplicas"
ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"


class Tolerances(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far the usage ratio may be from 1 without a change, per direction."""

    scale_down: float
    scale_up: float

    def is_within(self, usage_ratio: float) -> bool:
        """Whether the ratio lies in the band, both edges included."""
        return (1.0 - self.scale_down) <= usage_ratio <= (1.0 + self.scale_up)


class Rules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One direction's stabilization window, and its policies with the way to choose among them."""

    window_seconds: float
    select_policy: str
    policies: tuple[ScalingPolicy, ...]

    @property
    def longest_period_seconds(self) -> int:
        """How long a scale event of this direction matters to the policies of this direction."""
        return max((policy.period_seconds for policy in self.policies), default=0)


class BehaviorRules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`spec.behavior` with every default filled in."""

    scale_up: Rules
    scale_down: Rules


class Policy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the stages of a reconcile go by. Replicas are counts, everything named `_seconds` is in seconds."""

    kind: WatchedKind
    upstream: Upstream = NEWEST
    """Whose HPA controller is equalled."""
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
    """Whether a metric still has a value when there are no pods (Object, External, or computed from one of these)."""
    is_dry_run: bool = False
    """Whether decisions are only reported."""
    manual_zero_activates: bool = False
    """Whether a zero that the controller did not set counts as its own."""
    starts_over_at_zero: bool = False
    """Whether a target that leaves zero is stabilized and limited as if another program had added its first replica."""
    min_ends_zero: bool = False
    """Whether a zero of the controller ends at the minimum, whether metrics can be read or not."""
    below_min_reason: str = BELOW_MIN
    above_max_reason: str = ABOVE_MAX
    rules: Mapping[str, Any] = {}
    """The rules of the extensions that the spec sets, by their names."""

    @property
    def longest_window_seconds(self) -> float:
        """For how long recommendations are needed."""
        up_seconds = self.behavior.scale_up.window_seconds if self.behavior is not None else 0.0
        return max(up_seconds, self.scale_down_window_seconds)

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
