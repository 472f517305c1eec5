"""Spec and flags to one `Policy` (upstream's defaults, `tolerancesForHpa` and `maybeInitScaleDownStabilizationWindow`).

The API server fills in a HorizontalPodAutoscaler's `behavior`; a custom resource may have been stored without.
"""

import math
import sys
from collections.abc import Sequence

import msgspec

from scaler.algorithm.amounts import approximate
from scaler.algorithm.extension import Given
from scaler.algorithm.policy import BehaviorRules, Policy, Rules, Tolerances
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import (
    AutoscalerSpec,
    Behavior,
    MetricSourceType,
    MetricSpec,
    ScalingPolicy,
    ScalingPolicySelect,
    ScalingPolicyType,
    ScalingRules,
)
from scaler.api.extension_spec import Mode, PodReadiness
from scaler.api.sync_period import own_period_seconds

_DOUBLE = ScalingPolicy(type=ScalingPolicyType.PERCENT, value=100, period_seconds=15)
_FOUR = ScalingPolicy(type=ScalingPolicyType.PODS, value=4, period_seconds=15)
_NO_READINESS = PodReadiness()
_MEASURED_WITHOUT_PODS = (MetricSourceType.OBJECT, MetricSourceType.EXTERNAL)


def effective_policy(given: Given) -> Policy:
    """The effective settings, and the rules of the extensions that the spec sets."""
    policy = policy_of(given.spec, given.settings)
    for extension in given.settings.extensions:
        rules = extension.rules(given, policy)
        if rules is not None:
            known = {**policy.rules, extension.name: rules}
            policy = extension.policy(rules, msgspec.structs.replace(policy, rules=known))
    return policy


def policy_of(spec: AutoscalerSpec, settings: Settings) -> Policy:
    """The settings of the algorithm: the spec's own where it has them, else the flags."""
    readiness = spec.pod_readiness or _NO_READINESS
    return Policy(
        kind=settings.kind,
        upstream=settings.upstream,
        sync_period_seconds=_given(own_period_seconds(spec), settings.sync_period_seconds),
        min_replicas=1 if spec.min_replicas is None else spec.min_replicas,
        max_replicas=spec.max_replicas,
        tolerances=_tolerances(spec.behavior, settings),
        behavior=None if spec.behavior is None else _behavior_rules(spec.behavior, settings),
        downscale_stabilization_seconds=settings.downscale_stabilization_seconds,
        cpu_initialization_period_seconds=_given(
            readiness.cpu_initialization_period_seconds, settings.cpu_initialization_period_seconds
        ),
        initial_readiness_delay_seconds=_given(
            readiness.initial_readiness_delay_seconds, settings.initial_readiness_delay_seconds
        ),
        pod_level_resources=settings.pod_level_resources,
        scale_to_zero=settings.scales_to_zero,
        has_metric_at_zero=_has_metric_at_zero(spec.metrics or ()),
        is_dry_run=spec.mode == Mode.DRY_RUN,
    )


def _has_metric_at_zero(metrics: Sequence[MetricSpec]) -> bool:
    """Whether one that scales is measured, or computed from one that is, without pods."""
    measured = [each for each in metrics if each.type in _MEASURED_WITHOUT_PODS]
    computed = [each for each in metrics if each.is_computed]
    return any(not each.is_input for each in (*measured, *computed)) and bool(measured)


def _given(seconds: int | None, flag_seconds: float) -> float:
    return flag_seconds if seconds is None else float(seconds)


def _tolerances(behavior: Behavior | None, settings: Settings) -> Tolerances:
    """The flag's tolerance, or the one that `behavior` gives to a direction."""
    if behavior is None or not settings.configurable_tolerance:
        return Tolerances(scale_down=settings.tolerance, scale_up=settings.tolerance)
    return Tolerances(
        scale_down=_tolerance(behavior.scale_down, settings),
        scale_up=_tolerance(behavior.scale_up, settings),
    )


def _tolerance(rules: ScalingRules | None, settings: Settings) -> float:
    if rules is None or rules.tolerance is None:
        return settings.tolerance
    tolerance = approximate(rules.tolerance)
    # JSON, in which `why` gets it, has neither infinity nor NaN, which Go makes of 1e400 and 0e400.
    return 0.0 if math.isnan(tolerance) else min(tolerance, sys.float_info.max)


def _behavior_rules(behavior: Behavior, settings: Settings) -> BehaviorRules:
    """Up at once, by four pods or to the double; down after the flag's stabilization (whole seconds), without a rate."""
    down_window_seconds = int(settings.downscale_stabilization_seconds)
    return BehaviorRules(
        scale_up=_filled(behavior.scale_up or ScalingRules(), 0, (_FOUR, _DOUBLE)),
        scale_down=_filled(behavior.scale_down or ScalingRules(), down_window_seconds, (_DOUBLE,)),
    )


def _filled(rules: ScalingRules, window_seconds: int, policies: tuple[ScalingPolicy, ...]) -> Rules:
    given = rules.stabilization_window_seconds
    return Rules(
        window_seconds=window_seconds if given is None else given,
        select_policy=rules.select_policy or ScalingPolicySelect.MAX,
        policies=policies if rules.policies is None else rules.policies,
    )
