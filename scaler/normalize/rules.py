"""The rules of both directions with nothing left open (upstream's defaults and `maybeInitScaleDownStabilizationWindow`).

The API server fills in a HorizontalPodAutoscaler's `behavior`; a custom resource may come without.
"""

import msgspec

from scaler.model.autoscaler import (
    Behavior,
    ScalingPolicy,
    ScalingPolicySelect,
    ScalingPolicyType,
    ScalingRules,
)
from scaler.model.settings import Settings

_DOUBLE = ScalingPolicy(type=ScalingPolicyType.PERCENT, value=100, period_seconds=15)
_FOUR = ScalingPolicy(type=ScalingPolicyType.PODS, value=4, period_seconds=15)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """One direction's window, and its policies with the way to choose among them."""

    window_seconds: int
    select_policy: str
    policies: tuple[ScalingPolicy, ...]

    @property
    def longest_period_seconds(self) -> int:
        """How long a scale event of this direction is of use."""
        return max((policy.period_seconds for policy in self.policies), default=0)


def scale_up_rules(behavior: Behavior) -> Rules:
    """At once, by four pods or to the double."""
    return _filled(behavior.scale_up or ScalingRules(), 0, (_FOUR, _DOUBLE))


def scale_down_rules(behavior: Behavior, settings: Settings) -> Rules:
    """After the flag's stabilization (whole seconds), as far as it goes."""
    window_seconds = int(settings.downscale_stabilization_seconds)
    return _filled(behavior.scale_down or ScalingRules(), window_seconds, (_DOUBLE,))


def _filled(rules: ScalingRules, window_seconds: int, policies: tuple[ScalingPolicy, ...]) -> Rules:
    given = rules.stabilization_window_seconds
    return Rules(
        window_seconds=window_seconds if given is None else given,
        select_policy=rules.select_policy or ScalingPolicySelect.MAX,
        policies=policies if rules.policies is None else rules.policies,
    )
