"""Spec and flags to one `Policy` (upstream's defaults, `tolerancesForHpa` and `maybeInitScaleDownStabilizationWindow`).

The API server fills in a HorizontalPodAutoscaler's `behavior`; a custom resource may have been stored without.
"""

from datetime import datetime

from scaler.algorithm.amounts import approximate
from scaler.algorithm.policy import (
    BehaviorRules,
    FutilityRules,
    PanicRules,
    Policy,
    Rules,
    Suspension,
    Tolerances,
    ZeroRules,
)
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import (
    AutoscalerSpec,
    Behavior,
    MetricSourceType,
    ScaleDownRules,
    ScaleUpRules,
    ScalingPolicy,
    ScalingPolicySelect,
    ScalingPolicyType,
    ScalingRules,
)
from scaler.api.extension_spec import (
    Futility,
    ManualZero,
    Mode,
    Panic,
    PodDeletionCost,
    PodReadiness,
    RolloutPolicy,
    Suspend,
)
from scaler.extensions.forecast.rules import forecast_rules

_DOUBLE = ScalingPolicy(type=ScalingPolicyType.PERCENT, value=100, period_seconds=15)
_FOUR = ScalingPolicy(type=ScalingPolicyType.PODS, value=4, period_seconds=15)
# KEDA's default of `cooldownPeriod`, and the CRD's.
COOLDOWN_SECONDS = 300.0
_NO_READINESS = PodReadiness()
_MEASURED_WITHOUT_PODS = (MetricSourceType.OBJECT, MetricSourceType.EXTERNAL)


def policy_of(spec: AutoscalerSpec, settings: Settings) -> Policy:
    """The effective settings: the spec's own where it has them, else the flags."""
    readiness = spec.pod_readiness or _NO_READINESS
    return Policy(
        kind=settings.kind,
        sync_period_seconds=settings.sync_period_seconds
        if spec.sync_period_seconds is None
        else float(spec.sync_period_seconds),
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
        scale_to_zero=settings.scale_to_zero,
        has_metric_at_zero=any(
            metric.type in _MEASURED_WITHOUT_PODS and not metric.is_input
            for metric in spec.metrics or ()
        ),
        is_dry_run=spec.mode == Mode.DRY_RUN,
        suspension=None if spec.suspend is None else _suspension(spec.suspend),
        zero=_zero_rules(spec),
        panic=_panic_rules(spec.behavior),
        futility=_futility_rules(spec.behavior),
        forecast=None if spec.forecast is None else forecast_rules(spec, spec.forecast),
        rollout=readiness.rollout or RolloutPolicy.COUNT.value,
        deletion_cost_metric=_deletion_cost_metric(spec.behavior),
    )


def _deletion_cost_metric(behavior: Behavior | None) -> str:
    match behavior:
        case Behavior(scale_down=ScaleDownRules(pod_deletion_cost=PodDeletionCost(metric=name))):
            return name
    return ""


def _panic_rules(behavior: Behavior | None) -> PanicRules | None:
    """Knative's defaults: twice the ready pods, a window of 6 s, held for 60 s."""
    match behavior:
        case Behavior(scale_up=ScaleUpRules(panic=Panic() as given)):
            return PanicRules(
                threshold_ratio=_given(given.threshold_percent, 200.0) / 100.0,
                window_seconds=_given(given.window_seconds, 6.0),
                hold_seconds=_given(given.hold_seconds, 60.0),
            )
    return None


def _futility_rules(behavior: Behavior | None) -> FutilityRules | None:
    match behavior:
        case Behavior(scale_up=ScaleUpRules(futility=Futility() as given)):
            return FutilityRules(
                ready_timeout_seconds=_given(given.ready_timeout_seconds, 300.0),
                max_unready_replicas=int(_given(given.max_unready_replicas, 5.0)),
            )
    return None


def _zero_rules(spec: AutoscalerSpec) -> ZeroRules | None:
    """Only with `minReplicas: 0`: otherwise a metric that is not active has the minimum as its floor."""
    rules = spec.scale_to_zero
    if spec.min_replicas != 0:
        return None
    if rules is None:
        if all(metric.activation_value is None for metric in spec.metrics or ()):
            return None
        return ZeroRules(cooldown_seconds=0.0, manual_zero_activates=False)
    return ZeroRules(
        cooldown_seconds=_given(rules.cooldown_seconds, COOLDOWN_SECONDS),
        manual_zero_activates=rules.manual_zero == ManualZero.ACTIVATE,
    )


def _given(seconds: int | None, flag_seconds: float) -> float:
    return flag_seconds if seconds is None else float(seconds)


def _suspension(suspend: Suspend) -> Suspension:
    """A time that cannot be read has no end: what the user wanted to stop stays stopped."""
    try:
        until = None if suspend.until is None else datetime.fromisoformat(suspend.until).timestamp()
    except ValueError:
        until = None
    return Suspension(
        direction=suspend.direction,
        until=suspend.until or "",
        until_unix_seconds=until,
        replicas=suspend.replicas,
    )


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
    return approximate(rules.tolerance)


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
