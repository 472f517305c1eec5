"""Pure: until when a decision holds, if nothing changes that it was made from.

Everything that depends on the time does so at certain moments only: a recommendation leaves its window, a change of
the replicas the period of a policy, a pod its initialization period; a suspension, a cooldown or a schedule ends. Until
the first of them, the same inputs lead to the same decision.

`KNOWN_FIELDS` are the fields for which that was considered. A decision with any other field set is made again in every
reconcile. So a new field costs time at first, and never keeps a decision for too long.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from scaler.algorithm.decision import Branch, Decision
from scaler.algorithm.go_numbers import unix_seconds
from scaler.algorithm.memory import (
    ExtensionMemory,
    Memory,
    MetricRecord,
    Recommendation,
    ScaleEvent,
)
from scaler.algorithm.observed import Pod
from scaler.algorithm.pod_groups import CPU
from scaler.algorithm.policy import (
    BehaviorRules,
    Policy,
    Rules,
    ScheduledBounds,
    Suspension,
    Tolerances,
    ZeroRules,
)
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import (
    AutoscalerSpec,
    Behavior,
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    FormulaMetricSource,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
    ScaleDownRules,
    ScaleUpRules,
    ScalingPolicy,
    ScalingRules,
)
from scaler.api.extension_spec import (
    MetricFallback,
    PodDeletionCost,
    PodReadiness,
    ScaleToZero,
    Suspend,
)
from scaler.api.kinds import WatchedKind
from scaler.api.schedules import CalendarReference, ScheduleSpec
from wire.api.meta import LabelSelector, LabelSelectorRequirement

# A time that was added to another one may be off by rounding.
ROUNDING_SECONDS = 0.001

_RULES = {"stabilization_window_seconds", "select_policy", "policies", "tolerance"}

KNOWN_FIELDS: Mapping[type[msgspec.Struct], set[str]] = {
    AutoscalerSpec: {
        "scale_target_ref", "min_replicas", "max_replicas", "metrics", "behavior", "sync_period_seconds",
        "mode", "suspend", "pod_readiness", "scale_to_zero", "schedules",
    },
    CrossVersionObjectReference: {"kind", "name", "api_version"},
    MetricSpec: {
        "type", "object", "pods", "resource", "container_resource", "external", "formula",
        "name", "use", "activation_value", "fallback",
    },
    ObjectMetricSource: {"described_object", "target", "metric"},
    PodsMetricSource: {"metric", "target"},
    ResourceMetricSource: {"name", "target"},
    ContainerResourceMetricSource: {"name", "target", "container"},
    ExternalMetricSource: {"metric", "target"},
    FormulaMetricSource: {"expression", "target"},
    MetricIdentifier: {"name", "selector"},
    MetricTarget: {"type", "value", "average_value", "average_utilization"},
    LabelSelector: {"match_labels", "match_expressions"},
    LabelSelectorRequirement: {"key", "operator", "values"},
    # While the metric fails, that is reported in every reconcile. See also MetricRecord.
    MetricFallback: {"type", "failure_duration_seconds", "replicas", "last_value_max_age_seconds"},
    Behavior: {"scale_up", "scale_down"},
    ScalingRules: _RULES,
    # Not `panic`, whose window is about as long as the period, and not `futility`.
    ScaleUpRules: _RULES,
    ScaleDownRules: {*_RULES, "pod_deletion_cost"},
    ScalingPolicy: {"type", "value", "period_seconds"},
    PodDeletionCost: {"metric"},
    Suspend: {"direction", "until", "replicas"},
    PodReadiness: {"cpu_initialization_period_seconds", "initial_readiness_delay_seconds", "rollout"},
    ScaleToZero: {"cooldown_seconds", "manual_zero"},
    ScheduleSpec: {
        "name", "schedule", "dates", "calendar_ref", "time_zone", "duration_seconds", "ramp_seconds",
        "min_replicas", "max_replicas",
    },
    CalendarReference: {"kind", "name"},
    Policy: {
        "kind", "sync_period_seconds", "min_replicas", "max_replicas", "tolerances", "behavior",
        "downscale_stabilization_seconds", "cpu_initialization_period_seconds",
        "initial_readiness_delay_seconds", "pod_level_resources", "scale_to_zero", "has_metric_at_zero",
        "is_dry_run", "suspension", "schedule", "zero", "rollout", "deletion_cost_metric",
    },
    # Its fields choose between rules, and hold no time.
    WatchedKind: set(WatchedKind.__struct_fields__),
    Tolerances: {"scale_down", "scale_up"},
    BehaviorRules: {"scale_up", "scale_down"},
    Rules: {"window_seconds", "select_policy", "policies"},
    Suspension: {"direction", "until", "until_unix_seconds", "replicas"},
    ZeroRules: {"cooldown_seconds", "manual_zero_activates"},
    ScheduledBounds: {
        "active", "sets_min", "sets_max", "next_change_unix_seconds", "valid_until_unix_seconds",
        "problem", "remark",
    },
    Remark: set(Remark.__struct_fields__),
    # Not `unconfirmed`, nor the samples of a panic.
    Memory: {
        "recommendations", "scale_up_events", "scale_down_events", "scaled_to_zero", "extensions",
    },
    Recommendation: {"replicas", "since_unix_seconds", "until_unix_seconds"},
    ScaleEvent: {"replica_change", "happened_at_unix_seconds", "outdated", "may_be_older"},
    ExtensionMemory: {"inactive_since_unix_seconds", "metrics"},
    # Not the times of a metric that fails, or whose last value is remembered in every reconcile.
    MetricRecord: {"name"},
}  # fmt: skip


def valid_until(decision: Decision, before: Memory, pods: Sequence[Pod], now: float) -> float:
    """Unix seconds; 0 if it is not known. It was made `now`, from the memory `before`.

    The inputs are the autoscaler, its scale, pods, calendars and readings, and the flags.
    """
    if decision.branch not in (Branch.METRICS, Branch.DISABLED):
        return 0.0
    if not _only_continues(before, decision.memory):
        return 0.0
    if not all(map(_is_known, (decision.autoscaler.spec, decision.policy, decision.memory))):
        return 0.0
    # At some of them the decision changes at once, at others just after.
    following = (each for each in _edges(decision, pods, now) if each > now - ROUNDING_SECONDS)
    return min(following, default=math.inf) - ROUNDING_SECONDS


def continued(memory: Memory, until_unix_seconds: float) -> Memory:
    """The memory after the same recommendation was made until then."""
    steps = memory.recommendations
    if not steps:
        return memory
    last = msgspec.structs.replace(steps[-1], until_unix_seconds=until_unix_seconds)
    return msgspec.structs.replace(memory, recommendations=(*steps[:-1], last))


def _only_continues(before: Memory, after: Memory) -> bool:
    """Whether the reconcile changed nothing in the memory, except that the last recommendation lasts."""
    if type(before) is not Memory or not before.recommendations or not after.recommendations:
        return False
    return continued(before, after.recommendations[-1].until_unix_seconds) == after


def _edges(decision: Decision, pods: Sequence[Pod], now: float) -> Iterator[float]:
    """Every moment at which the decision may change, past ones too."""
    policy, memory, spec = decision.policy, decision.memory, decision.autoscaler.spec
    yield from _edges_of_history(policy, memory)
    if policy.suspension is not None and policy.suspension.until_unix_seconds is not None:
        yield policy.suspension.until_unix_seconds
    if policy.schedule is not None:
        # On a ramp this is now.
        yield max(policy.schedule.valid_until_unix_seconds, now + ROUNDING_SECONDS)
    extensions = memory.extensions
    if extensions is not None and extensions.inactive_since_unix_seconds is not None:
        cooldown_seconds = math.inf if policy.zero is None else policy.zero.cooldown_seconds
        yield extensions.inactive_since_unix_seconds + cooldown_seconds
    if any(_uses_cpu(metric) for metric in spec.metrics or ()) or not spec.metrics:
        for pod in pods:
            if pod.status.start_time is not None:
                started = unix_seconds(pod.status.start_time)
                yield started + policy.cpu_initialization_period_seconds


def _edges_of_history(policy: Policy, memory: Memory) -> Iterator[float]:
    """When recommendations and changes of the replicas leave windows and periods. The last recommendation is repeated."""
    behavior = policy.behavior
    if behavior is None:
        windows = {policy.downscale_stabilization_seconds}
        periods: set[int] = set()
    else:
        rules = (behavior.scale_up, behavior.scale_down)
        windows = {each.window_seconds for each in rules}
        periods = {each.period_seconds for one in rules for each in one.policies}
    for step in (memory.recommendations or ())[:-1]:
        for window_seconds in windows:
            yield step.until_unix_seconds + window_seconds
    for event in (*memory.scale_up_events, *memory.scale_down_events):
        for period_seconds in periods:
            yield event.happened_at_unix_seconds + period_seconds


def _uses_cpu(metric: MetricSpec) -> bool:
    source = metric.resource or metric.container_resource
    return source is not None and source.name == CPU


def _is_known(value: object) -> bool:
    """Whether all fields that are set, and those in them, are among the known ones."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_known, value))
    if not isinstance(value, msgspec.Struct):
        return True
    known = KNOWN_FIELDS.get(type(value), ())
    for name, default in _defaults(type(value)):
        field = getattr(value, name)
        if field != default and (name not in known or not _is_known(field)):
            return False
    return True


@lru_cache
def _defaults(of: type[msgspec.Struct]) -> tuple[tuple[str, object], ...]:
    """Its fields with their defaults; a field that is required is never at its default."""
    return tuple((field.name, field.default) for field in msgspec.structs.fields(of))
